"""Histogram of durations; read at scrape time by ``observability/metrics.py``."""


cdef class Histogram:
    cdef int size
    cdef tuple bounds_seconds
    cdef long long[32] bounds        # nanoseconds, ascending
    cdef long long[33] counts        # one more than bounds: what is beyond the last
    cdef long long total             # nanoseconds
