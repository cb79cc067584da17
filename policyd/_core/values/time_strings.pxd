"""Times as strings, and the calendar: RFC 3339 as Go's time.Parse reads it, and Go durations."""

from libc.stdint cimport int32_t, int64_t

# 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in Unix seconds: the range of a CEL timestamp.
cdef enum:
    NANOS_PER_SECOND = 1000000000

cdef int64_t MIN_SECONDS
cdef int64_t MAX_SECONDS


cdef struct Moment:
    int64_t seconds  # Unix seconds, UTC
    int32_t nanos    # 0 to 999,999,999
    int32_t offset   # seconds east of UTC of the time zone in the string


cdef struct Civil:
    int64_t year
    int month        # 1 to 12
    int day          # 1 to 31
    int hour
    int minute
    int second
    int weekday      # Sunday is 0
    int yearday      # 0 to 365


cdef int parse_rfc3339(str text, Moment* out) except -1
cdef int parse_duration(str text, int64_t* out) except -1
cdef str print_rfc3339(int64_t seconds, int32_t nanos, int32_t offset)
cdef str print_duration(int64_t nanos)
cdef void civil(int64_t seconds, Civil* out) noexcept
