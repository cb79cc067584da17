"""Time zones as the CEL functions name them: IANA names (from zoneinfo) and offsets, with Go's
error messages."""

from datetime import UTC, datetime, timedelta

from libc.stdint cimport int32_t, int64_t

from policyd._core.go.strings cimport parse_int

cdef object EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
cdef object SECOND = timedelta(seconds=1)
# Python's calendar has the same range as CEL's: look up times near its ends two days inside it.
cdef int64_t FIRST = -62135596800 + 2 * 86400
cdef int64_t LAST = 253402300799 - 2 * 86400


cdef str offset_at(str zone, int64_t seconds, int32_t* offset):
    """Sets `offset` to the seconds east of UTC of the zone ("Europe/Berlin", "+02:00", "") at this
    time. Returns None, or Go's error message if the zone does not exist.
    """
    offset[0] = 0
    if ":" in zone:
        return numeric_offset(zone, offset)
    if zone in ("", "UTC", "Local"):  # the API server runs in UTC
        return None
    if ".." in zone or zone[0] in "/\\":
        return "time: invalid location name"
    if "\0" in zone:
        return "invalid argument"
    # Imported here because it reads the configuration of Python's build, and few policies name a
    # zone.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        info = ZoneInfo(zone)
    except IsADirectoryError:
        return "is a directory"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {zone}"
    at = EPOCH + min(max(seconds, FIRST), LAST) * SECOND
    cdef object difference = at.astimezone(info).utcoffset()
    offset[0] = difference.days * 86400 + difference.seconds
    return None


cdef str numeric_offset(str zone, int32_t* offset):
    """``+02:30``; any numbers are accepted, as in cel-go."""
    cdef long long hours = 0, minutes = 0
    cdef str before, after, problem
    before, _, after = zone.partition(":")
    problem = parse_int(before, &hours)
    if problem is None:
        problem = parse_int(after, &minutes)
    if problem is not None:
        return problem
    if zone[0] == "-":
        minutes = -minutes
    # Go multiplies without an overflow check; no real offset overflows.
    offset[0] = <int32_t> ((hours * 60 + minutes) * 60)
    return None
