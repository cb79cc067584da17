"""The grammar of Kubernetes quantities, parsed in one pass."""


cdef struct Written:
    bint negative
    bint empty             # no digit before the suffix
    Py_ssize_t whole       # start of the digits before the point, without leading zeros
    Py_ssize_t whole_end
    Py_ssize_t fraction    # start of the digits after the point
    Py_ssize_t fraction_end
    Py_ssize_t suffix      # start of the suffix, which ends with the string


cdef object MAX_INT64

cdef bint read(str text, Written* out) except -1
cdef object exponent_of(str suffix)
