"""Timestamps and durations: creation, conversion and parts. Arithmetic is in ``time_arithmetic``.

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
from policyd._core.values.errors cimport TIMESTAMP_OVERFLOW, error, no_conversion
from policyd._core.eval.functions cimport binary, ternary, unary
from policyd._core.values.time_strings cimport (
    MAX_SECONDS,
    MIN_SECONDS,
    NANOS_PER_SECOND,
    Civil,
    Moment,
    civil,
    parse_duration,
    parse_rfc3339,
)
from policyd._core.go.time_zones cimport offset_at
from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport Duration, Timestamp, duration, timestamp

from policyd._core.eval.functions import Library

#: LIBRARY: Library


# Conversions


cdef object same(Activation act, object value):
    return value


cdef object to_string(Activation act, object value):
    return string_of(value)


cdef object int_to_timestamp(Activation act, object value):
    cdef int64_t seconds = value
    if seconds < MIN_SECONDS or seconds > MAX_SECONDS:
        return TIMESTAMP_OVERFLOW
    return timestamp(seconds, 0, 0)


cdef object string_to_timestamp(Activation act, object value):
    cdef Moment at
    if not parse_rfc3339(<str> value, &at):
        return no_conversion(value, "google.protobuf.Timestamp")
    if at.seconds < MIN_SECONDS or at.seconds > MAX_SECONDS:
        return TIMESTAMP_OVERFLOW
    return timestamp(at.seconds, at.nanos, at.offset)


cdef object timestamp_to_int(Activation act, object value):
    return (<Timestamp> value).seconds


cdef object int_to_duration(Activation act, object value):
    """cel-go declares it, but it is an error for every value."""
    return no_conversion(value, "google.protobuf.Duration")


cdef object string_to_duration(Activation act, object value):
    cdef int64_t nanos
    if not parse_duration(<str> value, &nanos):
        return no_conversion(value, "google.protobuf.Duration")
    return duration(nanos)


cdef object duration_to_int(Activation act, object value):
    return (<Duration> value).nanos


# Parts of a timestamp: in UTC without a zone, not in the offset of its string.

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


cdef object utc_part(Activation act, object value, object part):
    return part_of(<Timestamp> value, 0, <TimestampPart> <int> part)


cdef object zone_part(Activation act, object value, object zone, object part):
    cdef int32_t offset = 0
    cdef str problem = offset_at(<str> zone, (<Timestamp> value).seconds, &offset)
    if problem is not None:
        return error(problem)
    return part_of(<Timestamp> value, offset, <TimestampPart> <int> part)


# Whole units of a duration, truncated towards zero.


cdef object units_of(Activation act, object value, object unit):
    cdef int64_t nanos = (<Duration> value).nanos, size = unit
    cdef int64_t units = nanos // size
    return units + 1 if units < 0 and units * size != nanos else units


cdef tuple part(str name, TimestampPart part, str id, str zone_id, str doc):
    """The two rows of a part: in UTC and in a time zone."""
    return (
        binary(name, f"timestamp.{name}() -> int", id, utc_part, doc).given(part),
        ternary(name, f"timestamp.{name}(string) -> int", zone_id, zone_part).given(part),
    )


LIBRARY = Library("timestamps", (
    unary(
        "timestamp", "timestamp(timestamp) -> timestamp", "timestamp_to_timestamp", same,
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
        "string", "string(timestamp) -> string", "timestamp_to_string", to_string,
        "string(timestamp(0)) // '1970-01-01T00:00:00Z'",
    ),
    unary(
        "duration", "duration(duration) -> duration", "duration_to_duration", same,
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
        "string", "string(duration) -> string", "duration_to_string", to_string,
        "string(duration('1.5h')) // '5400s'",
    ),
    *part(
        "getFullYear", FULL_YEAR, "timestamp_to_year", "timestamp_to_year_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getFullYear() // 2024",
    ),
    *part(
        "getMonth", MONTH, "timestamp_to_month", "timestamp_to_month_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getMonth() // 11",
    ),
    *part(
        "getDayOfYear", DAY_OF_YEAR, "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDayOfYear() // 365",
    ),
    *part(
        "getDayOfMonth", DAY_OF_MONTH, "timestamp_to_day_of_month",
        "timestamp_to_day_of_month_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDayOfMonth() // 30",
    ),
    *part(
        "getDate", DATE, "timestamp_to_day_of_month_1_based",
        "timestamp_to_day_of_month_1_based_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDate('Europe/Berlin') // 1",
    ),
    *part(
        "getDayOfWeek", DAY_OF_WEEK, "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getDayOfWeek() // 2",
    ),
    *part(
        "getHours", HOURS, "timestamp_to_hours", "timestamp_to_hours_with_tz",
        "timestamp('2024-12-31T23:00:00Z').getHours('-05:30') // 17",
    ),
    *part(
        "getMinutes", MINUTES, "timestamp_to_minutes", "timestamp_to_minutes_with_tz",
        "timestamp('2024-12-31T23:45:00Z').getMinutes() // 45",
    ),
    *part(
        "getSeconds", SECONDS, "timestamp_to_seconds", "timestamp_to_seconds_tz",
        "timestamp('2024-12-31T23:00:07Z').getSeconds() // 7",
    ),
    *part(
        "getMilliseconds", MILLISECONDS, "timestamp_to_milliseconds",
        "timestamp_to_milliseconds_with_tz",
        "timestamp('2024-12-31T23:00:00.12Z').getMilliseconds() // 120",
    ),
    binary(
        "getHours", "duration.getHours() -> int", "duration_to_hours", units_of,
        "duration('-90m').getHours() // -1",
    ).given(3600 * <int64_t> NANOS_PER_SECOND),
    binary(
        "getMinutes", "duration.getMinutes() -> int", "duration_to_minutes", units_of,
        "duration('1h30m').getMinutes() // 90",
    ).given(60 * <int64_t> NANOS_PER_SECOND),
    binary(
        "getSeconds", "duration.getSeconds() -> int", "duration_to_seconds", units_of,
        "duration('1m').getSeconds() // 60",
    ).given(NANOS_PER_SECOND),
    binary(
        "getMilliseconds", "duration.getMilliseconds() -> int", "duration_to_milliseconds",
        units_of, "duration('1.5s').getMilliseconds() // 1500",
    ).given(1000000),
))
