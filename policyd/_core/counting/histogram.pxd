"""Histogram of durations; read when metrics are scraped."""


cdef class Histogram:
    cdef int size
    cdef tuple bounds_seconds
    cdef long long[32] bounds        # nanoseconds, ascending
    cdef long long[33] counts        # one more than bounds: durations above the last bound
    cdef long long total             # nanoseconds
