"""Timestamps and durations: creation, conversion and parts. ``time_arithmetic`` has arithmetic.

``timestamp("2024-01-01T00:00:00+02:00")``, ``timestamp(0)``, ``duration("1h30m")``,
``int(timestamp)`` (seconds), ``int(duration)`` (nanoseconds), ``string(timestamp)``,
``string(duration)``,
``t.getFullYear() getMonth() getDayOfYear() getDayOfMonth() getDate() getDayOfWeek()`` and
``t.getHours() getMinutes() getSeconds() getMilliseconds()``, each also with a time zone:
``t.getHours("Europe/Berlin")``, ``t.getHours("+02:00")``;
``d.getHours() getMinutes() getSeconds() getMilliseconds()`` of a duration (whole units).

Everything costs 1 unit.
"""

from libc.stdint cimport int32_t, int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_OVERLOAD, TIMESTAMP_OVERFLOW, error, no_conversion
from policyd._core.eval.functions cimport Function1, Function2, binary, unary
from policyd._core.values.time_strings cimport (
    MAX_SECONDS,
    MIN_SECONDS,
    NANOS_PER_SECOND,
    Civil,
    Moment,
    civil,
    parse_duration,
    parse_rfc3339,
    print_duration,
    print_rfc3339,
)
from policyd._core.go.time_zones cimport offset_at
from policyd._core.values.types cimport Duration, Timestamp, duration, timestamp

from policyd._core.eval.functions import Library

#: LIBRARY: Library


# Conversions


cdef object to_timestamp(Activation act, object value):
    return value if type(value) is Timestamp else NO_OVERLOAD


cdef object int_to_timestamp(Activation act, object value):
    if type(value) is not int:
        return NO_OVERLOAD
    cdef int64_t seconds = value
    if seconds < MIN_SECONDS or seconds > MAX_SECONDS:
        return TIMESTAMP_OVERFLOW
    return timestamp(seconds, 0, 0)


cdef object string_to_timestamp(Activation act, object value):
    cdef Moment at
    if type(value) is not str:
        return NO_OVERLOAD
    if not parse_rfc3339(<str> value, &at):
        return no_conversion(value, "google.protobuf.Timestamp")
    if at.seconds < MIN_SECONDS or at.seconds > MAX_SECONDS:
        return TIMESTAMP_OVERFLOW
    return timestamp(at.seconds, at.nanos, at.offset)


cdef object timestamp_to_int(Activation act, object value):
    return (<Timestamp> value).seconds if type(value) is Timestamp else NO_OVERLOAD


cdef object timestamp_to_string(Activation act, object value):
    if type(value) is not Timestamp:
        return NO_OVERLOAD
    cdef Timestamp at = <Timestamp> value
    return print_rfc3339(at.seconds, at.nanos, at.offset)


cdef object to_duration(Activation act, object value):
    return value if type(value) is Duration else NO_OVERLOAD


cdef object int_to_duration(Activation act, object value):
    """cel-go declares it, but it is an error for every value."""
    return no_conversion(value, "google.protobuf.Duration") if type(value) is int else NO_OVERLOAD


cdef object string_to_duration(Activation act, object value):
    cdef int64_t nanos
    if type(value) is not str:
        return NO_OVERLOAD
    if not parse_duration(<str> value, &nanos):
        return no_conversion(value, "google.protobuf.Duration")
    return duration(nanos)


cdef object duration_to_int(Activation act, object value):
    return (<Duration> value).nanos if type(value) is Duration else NO_OVERLOAD


cdef object duration_to_string(Activation act, object value):
    return print_duration((<Duration> value).nanos) if type(value) is Duration else NO_OVERLOAD


# Parts of a timestamp. Without a zone they are in UTC, not in the offset of its string.

cdef enum TimestampPart:
    FULL_YEAR
    MONTH          # 0 to 11
    DAY_OF_YEAR    # 0 to 365
    DAY_OF_MONTH   # 0 to 30
    DATE           # 1 to 31
    DAY_OF_WEEK    # Sunday is 0
    HOURS
    MINUTES
    SECONDS
    MILLISECONDS


cdef object part_of(Timestamp at, int32_t offset, TimestampPart part):
    cdef Civil local
    if part == MILLISECONDS:
        return at.nanos // 1000000
    civil(at.seconds + offset, &local)
    if part == FULL_YEAR:
        return local.year
    if part == MONTH:
        return local.month - 1
    if part == DAY_OF_YEAR:
        return local.yearday
    if part == DAY_OF_MONTH:
        return local.day - 1
    if part == DATE:
        return local.day
    if part == DAY_OF_WEEK:
        return local.weekday
    if part == HOURS:
        return local.hour
    return local.minute if part == MINUTES else local.second


cdef object utc_part(object value, TimestampPart part):
    return part_of(<Timestamp> value, 0, part) if type(value) is Timestamp else NO_OVERLOAD


cdef object zone_part(object value, object zone, TimestampPart part):
    if type(value) is not Timestamp or type(zone) is not str:
        return NO_OVERLOAD
    cdef int32_t offset = 0
    cdef str problem = offset_at(<str> zone, (<Timestamp> value).seconds, &offset)
    return part_of(<Timestamp> value, offset, part) if problem is None else error(problem)


cdef object get_full_year(Activation act, object value):
    return utc_part(value, FULL_YEAR)


cdef object get_month(Activation act, object value):
    return utc_part(value, MONTH)


cdef object get_day_of_year(Activation act, object value):
    return utc_part(value, DAY_OF_YEAR)


cdef object get_day_of_month(Activation act, object value):
    return utc_part(value, DAY_OF_MONTH)


cdef object get_date(Activation act, object value):
    return utc_part(value, DATE)


cdef object get_day_of_week(Activation act, object value):
    return utc_part(value, DAY_OF_WEEK)


cdef object get_hours(Activation act, object value):
    return utc_part(value, HOURS)


cdef object get_minutes(Activation act, object value):
    return utc_part(value, MINUTES)


cdef object get_seconds(Activation act, object value):
    return utc_part(value, SECONDS)


cdef object get_milliseconds(Activation act, object value):
    return utc_part(value, MILLISECONDS)


cdef object get_full_year_in(Activation act, object value, object zone):
    return zone_part(value, zone, FULL_YEAR)


cdef object get_month_in(Activation act, object value, object zone):
    return zone_part(value, zone, MONTH)


cdef object get_day_of_year_in(Activation act, object value, object zone):
    return zone_part(value, zone, DAY_OF_YEAR)


cdef object get_day_of_month_in(Activation act, object value, object zone):
    return zone_part(value, zone, DAY_OF_MONTH)


cdef object get_date_in(Activation act, object value, object zone):
    return zone_part(value, zone, DATE)


cdef object get_day_of_week_in(Activation act, object value, object zone):
    return zone_part(value, zone, DAY_OF_WEEK)


cdef object get_hours_in(Activation act, object value, object zone):
    return zone_part(value, zone, HOURS)


cdef object get_minutes_in(Activation act, object value, object zone):
    return zone_part(value, zone, MINUTES)


cdef object get_seconds_in(Activation act, object value, object zone):
    return zone_part(value, zone, SECONDS)


cdef object get_milliseconds_in(Activation act, object value, object zone):
    return zone_part(value, zone, MILLISECONDS)


# Whole units of a duration, truncated towards zero.


cdef object units_of(object value, int64_t unit):
    if type(value) is not Duration:
        return NO_OVERLOAD
    cdef int64_t nanos = (<Duration> value).nanos
    cdef int64_t units = nanos // unit
    return units + 1 if units < 0 and units * unit != nanos else units


cdef object duration_hours(Activation act, object value):
    return units_of(value, <int64_t> 3600 * NANOS_PER_SECOND)


cdef object duration_minutes(Activation act, object value):
    return units_of(value, <int64_t> 60 * NANOS_PER_SECOND)


cdef object duration_seconds(Activation act, object value):
    return units_of(value, NANOS_PER_SECOND)


cdef object duration_milliseconds(Activation act, object value):
    return units_of(value, 1000000)


cdef tuple part(str name, str id, Function1 in_utc, Function2 in_zone, str zone_id, str doc):
    """The two rows of a part: in UTC and in a time zone."""
    return (
        unary(name, f"timestamp.{name}() -> int", id, in_utc, doc),
        binary(name, f"timestamp.{name}(string) -> int", zone_id, in_zone),
    )


LIBRARY = Library("timestamps", (
    unary(
        "timestamp", "timestamp(timestamp) -> timestamp", "timestamp_to_timestamp", to_timestamp,
        "timestamp(timestamp(0)) == timestamp(0) // true",
    ),
    unary(
        "timestamp", "timestamp(int) -> timestamp", "int64_to_timestamp", int_to_timestamp,
        "string(timestamp(1)) // '1970-01-01T00:00:01Z'",
    ),
    unary(
        "timestamp", "timestamp(string) -> timestamp", "string_to_timestamp", string_to_timestamp,
        "string(timestamp('2024-01-01T00:00:00.50+02:00')) // '2024-01-01T00:00:00.5+02:00'",
    ),
    unary(
        "int", "int(timestamp) -> int", "timestamp_to_int64", timestamp_to_int,
        "int(timestamp('1970-01-01T00:01:00Z')) // 60",
    ),
    unary(
        "string", "string(timestamp) -> string", "timestamp_to_string", timestamp_to_string,
        "string(timestamp(0)) // '1970-01-01T00:00:00Z'",
    ),
    unary(
        "duration", "duration(duration) -> duration", "duration_to_duration", to_duration,
        "duration(duration('1s')) == duration('1s') // true",
    ),
    unary("duration", "duration(int) -> duration", "int64_to_duration", int_to_duration).until(37),
    unary(
        "duration", "duration(string) -> duration", "string_to_duration", string_to_duration,
        "duration('1h30m') == duration('90m') // true",
    ),
    unary(
        "int", "int(duration) -> int", "duration_to_int64", duration_to_int,
        "int(duration('1us')) // 1000",
    ),
    unary(
        "string", "string(duration) -> string", "duration_to_string", duration_to_string,
        "string(duration('1.5h')) // '5400s'",
    ),
    *part(
        "getFullYear", "timestamp_to_year", get_full_year, get_full_year_in,
        "timestamp_to_year_with_tz", "timestamp('2024-12-31T23:00:00Z').getFullYear() // 2024",
    ),
    *part(
        "getMonth", "timestamp_to_month", get_month, get_month_in,
        "timestamp_to_month_with_tz", "timestamp('2024-12-31T23:00:00Z').getMonth() // 11",
    ),
    *part(
        "getDayOfYear", "timestamp_to_day_of_year", get_day_of_year, get_day_of_year_in,
        "timestamp_to_day_of_year_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDayOfYear() // 365",
    ),
    *part(
        "getDayOfMonth", "timestamp_to_day_of_month", get_day_of_month, get_day_of_month_in,
        "timestamp_to_day_of_month_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDayOfMonth() // 30",
    ),
    *part(
        "getDate", "timestamp_to_day_of_month_1_based", get_date, get_date_in,
        "timestamp_to_day_of_month_1_based_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDate('Europe/Berlin') // 1",
    ),
    *part(
        "getDayOfWeek", "timestamp_to_day_of_week", get_day_of_week, get_day_of_week_in,
        "timestamp_to_day_of_week_with_tz", "timestamp('2024-12-31T23:00:00Z').getDayOfWeek() // 2",
    ),
    *part(
        "getHours", "timestamp_to_hours", get_hours, get_hours_in,
        "timestamp_to_hours_with_tz", "timestamp('2024-12-31T23:00:00Z').getHours('-05:30') // 17",
    ),
    *part(
        "getMinutes", "timestamp_to_minutes", get_minutes, get_minutes_in,
        "timestamp_to_minutes_with_tz", "timestamp('2024-12-31T23:45:00Z').getMinutes() // 45",
    ),
    *part(
        "getSeconds", "timestamp_to_seconds", get_seconds, get_seconds_in,
        "timestamp_to_seconds_tz", "timestamp('2024-12-31T23:00:07Z').getSeconds() // 7",
    ),
    *part(
        "getMilliseconds", "timestamp_to_milliseconds", get_milliseconds, get_milliseconds_in,
        "timestamp_to_milliseconds_with_tz",
        "timestamp('2024-12-31T23:00:00.12Z').getMilliseconds() // 120",
    ),
    unary(
        "getHours", "duration.getHours() -> int", "duration_to_hours", duration_hours,
        "duration('-90m').getHours() // -1",
    ),
    unary(
        "getMinutes", "duration.getMinutes() -> int", "duration_to_minutes", duration_minutes,
        "duration('1h30m').getMinutes() // 90",
    ),
    unary(
        "getSeconds", "duration.getSeconds() -> int", "duration_to_seconds", duration_seconds,
        "duration('1m').getSeconds() // 60",
    ),
    unary(
        "getMilliseconds", "duration.getMilliseconds() -> int", "duration_to_milliseconds",
        duration_milliseconds, "duration('1.5s').getMilliseconds() // 1500",
    ),
))
