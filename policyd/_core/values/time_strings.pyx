"""Times as strings, and the calendar. Independent of CEL; time_strings.pxd documents the functions.

The grammar is from Go's ``time.Parse(time.RFC3339, …)`` and ``time.ParseDuration``. It is wider
than RFC 3339: it accepts a one-digit hour, a comma before the fraction and offsets up to 24:60.
"""

from decimal import Decimal

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef int64_t MIN_SECONDS = -62135596800
cdef int64_t MAX_SECONDS = 253402300799

cdef uint64_t INT64_EDGE = <uint64_t> 1 << 63  # one more than the largest int64
cdef dict UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,  # U+00B5, micro sign
    "μs": 1000,  # U+03BC, Greek mu
    "ms": 1000000,
    "s": 1000000000,
    "m": 60 * 1000000000,
    "h": 3600 * 1000000000,
}
cdef tuple DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


cdef inline bint is_digit(Py_UCS4 char) noexcept:
    return c"0" <= char <= c"9"


cdef inline int two_digits(str text, Py_ssize_t at) except -2:
    """The number at ``text[at:at+2]``, or -1 if these are not two digits."""
    if at + 2 > len(text) or not is_digit(text[at]) or not is_digit(text[at + 1]):
        return -1
    return (<int> text[at] - c"0") * 10 + (<int> text[at + 1] - c"0")


cdef inline bint is_leap(int64_t year) noexcept:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


cdef int64_t days_from_civil(int64_t year, int month, int day) noexcept:
    """Days from 1970-01-01 in the proleptic Gregorian calendar.

    Years start in March here, so that the leap day is the last day.
    """
    if month <= 2:
        year -= 1
    cdef int64_t era = year // 400
    cdef int64_t year_of_era = year - era * 400
    cdef int64_t day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    cdef int64_t leap_days = year_of_era // 4 - year_of_era // 100
    return era * 146097 + year_of_era * 365 + leap_days + day_of_year - 719468


cdef void civil(int64_t seconds, Civil* out) noexcept:
    cdef int64_t days = seconds // 86400
    cdef int64_t rest = seconds - days * 86400
    out.hour = <int> (rest // 3600)
    out.minute = <int> (rest // 60 % 60)
    out.second = <int> (rest % 60)
    out.weekday = <int> ((days + 4) % 7)  # 1970-01-01 was a Thursday
    cdef int64_t shifted = days + 719468
    cdef int64_t era = shifted // 146097
    cdef int64_t day_of_era = shifted - era * 146097
    cdef int64_t year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    cdef int64_t leap_days = year_of_era // 4 - year_of_era // 100
    cdef int64_t day_of_year = day_of_era - (365 * year_of_era + leap_days)
    cdef int64_t month = (5 * day_of_year + 2) // 153
    out.day = <int> (day_of_year - (153 * month + 2) // 5 + 1)
    out.month = <int> (month + 3 if month < 10 else month - 9)
    out.year = year_of_era + era * 400 + (1 if out.month <= 2 else 0)
    out.yearday = <int> (days - days_from_civil(out.year, 1, 1))


cdef int parse_fraction(str text, Py_ssize_t* at, int32_t* nanos) except -1:
    """Read ``.5`` or ``,5`` at ``at``. Digits after the ninth are dropped; without a digit nothing
    is read.
    """
    cdef Py_ssize_t i = at[0]
    cdef int32_t value = 0
    cdef int count = 0
    nanos[0] = 0
    if i + 1 >= len(text) or text[i] not in ".," or not is_digit(text[i + 1]):
        return 0
    i += 1
    while i < len(text) and is_digit(text[i]):
        if count < 9:
            value = value * 10 + (<int> text[i] - c"0")
            count += 1
        i += 1
    for _ in range(9 - count):
        value *= 10
    at[0] = i
    nanos[0] = value
    return 0


cdef int parse_offset(str text, Py_ssize_t at, int32_t* offset) except -1:
    """Read ``Z`` or ``+hh:mm`` at the end of the string."""
    cdef int hours, minutes
    if len(text) == at + 1 and text[at] == "Z":
        offset[0] = 0
        return 1
    if len(text) != at + 6 or text[at] not in "+-" or text[at + 3] != ":":
        return 0
    hours = two_digits(text, at + 1)
    minutes = two_digits(text, at + 4)
    if not 0 <= hours <= 24 or not 0 <= minutes <= 60:
        return 0
    offset[0] = (hours * 60 + minutes) * 60
    if text[at] == "-":
        offset[0] = -offset[0]
    return 1


cdef int parse_rfc3339(str text, Moment* out) except -1:
    """The parse functions return 1 and fill `out`, or return 0 where Go reports an error."""
    cdef int century = two_digits(text, 0), rest = two_digits(text, 2)
    cdef int month = two_digits(text, 5), day = two_digits(text, 8)
    cdef int year, hour, minute, second, days
    cdef Py_ssize_t at = 11
    if century < 0 or rest < 0 or not 1 <= month <= 12 or len(text) < 19:
        return 0
    if text[4] != "-" or text[7] != "-" or text[10] != "T":
        return 0
    year = century * 100 + rest
    days = 29 if month == 2 and is_leap(year) else DAYS_IN_MONTH[month - 1]
    if not 1 <= day <= days:
        return 0
    hour = two_digits(text, at)
    if hour < 0 and is_digit(text[at]):  # Go accepts a one-digit hour
        hour = <int> text[at] - c"0"
        at -= 1
    minute = two_digits(text, at + 3)
    second = two_digits(text, at + 6)
    if not 0 <= hour < 24 or not 0 <= minute < 60 or not 0 <= second < 60:
        return 0
    if text[at + 2] != ":" or text[at + 5] != ":":
        return 0
    at += 8
    parse_fraction(text, &at, &out.nanos)
    if not parse_offset(text, at, &out.offset):
        return 0
    out.seconds = days_from_civil(year, month, day) * 86400 - out.offset
    out.seconds += hour * 3600 + minute * 60 + second
    return 1


cdef str print_rfc3339(int64_t seconds, int32_t nanos, int32_t offset):
    cdef Civil at
    cdef int minutes = abs(offset) // 60
    civil(seconds + offset, &at)
    cdef str text = (
        f"{at.year:04d}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    )
    if nanos:
        text += f".{nanos:09d}".rstrip("0")
    if offset == 0:
        return text + "Z"
    return f"{text}{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


cdef int parse_amount(
    str text, Py_ssize_t* at, uint64_t* whole, uint64_t* fraction, double* scale
) except -1:
    """Read ``12.5`` at ``at`` as 12, 5 and 10. A whole part above 2**63 is invalid; a long fraction
    is cut.
    """
    cdef Py_ssize_t i = at[0], start = at[0]
    cdef bint cut = False
    cdef int digits = 0
    whole[0] = fraction[0] = 0
    scale[0] = 1
    while i < len(text) and is_digit(text[i]):
        if whole[0] > INT64_EDGE // 10:
            return 0
        whole[0] = whole[0] * 10 + (<uint64_t> text[i] - c"0")
        if whole[0] > INT64_EDGE:
            return 0
        i += 1
        digits += 1
    if i < len(text) and text[i] == ".":
        i += 1
        while i < len(text) and is_digit(text[i]):
            digits += 1
            # The bound of Go's leadingFraction: digits that do not fit are ignored.
            if not cut and fraction[0] > (INT64_EDGE - 1) // 10:
                cut = True
            if not cut:
                if fraction[0] * 10 + (<uint64_t> text[i] - c"0") > INT64_EDGE:
                    cut = True
                else:
                    fraction[0] = fraction[0] * 10 + (<uint64_t> text[i] - c"0")
                    scale[0] *= 10
            i += 1
    at[0] = i
    return digits > 0 and i > start


cdef int parse_duration(str text, int64_t* out) except -1:
    cdef Py_ssize_t at = 0, start
    cdef bint negative = False
    cdef uint64_t total = 0, whole, fraction, value
    cdef double scale
    cdef uint64_t unit
    if text and text[0] in "+-":
        negative = text[0] == "-"
        at = 1
    if text[at:] == "0":
        out[0] = 0
        return 1
    if at == len(text):
        return 0
    while at < len(text):
        if not parse_amount(text, &at, &whole, &fraction, &scale):
            return 0
        start = at
        while at < len(text) and text[at] != "." and not is_digit(text[at]):
            at += 1
        unit = UNITS.get(text[start:at], 0)
        if unit == 0 or whole > INT64_EDGE // unit:
            return 0
        value = whole * unit
        if fraction > 0:
            value += <uint64_t> (<double> fraction * (<double> unit / scale))
            if value > INT64_EDGE:
                return 0
        total += value
        if total > INT64_EDGE:
            return 0
    if negative:
        out[0] = <int64_t> (0 - total)
        return 1
    if total == INT64_EDGE:
        return 0
    out[0] = <int64_t> total
    return 1


cdef str print_duration(int64_t nanos):
    # Go truncates towards zero, Python rounds down, so divide the absolute value.
    cdef uint64_t size = <uint64_t> nanos if nanos >= 0 else 0 - <uint64_t> nanos
    cdef double seconds = <double> (size // NANOS_PER_SECOND)
    seconds += <double> (size % NANOS_PER_SECOND) / 1e9
    cdef str text = repr(seconds)
    if "e" in text:
        text = format(Decimal(text), "f")
    if text.endswith(".0"):
        text = text[:-2]
    return f"-{text}s" if nanos < 0 else f"{text}s"
