"""The grammar of Kubernetes quantities, parsed in one pass."""


cdef struct Written:
    bint negative
    bint empty             # no digit before the suffix
    Py_ssize_t whole       # start of the digits before the point, without leading zeros
    Py_ssize_t whole_end
    Py_ssize_t fraction    # start of the digits after the point
    Py_ssize_t fraction_end
    Py_ssize_t suffix      # start of the suffix, which ends with the string


# Whether the string fits the grammar; sets `out` to the positions of its parts.
cdef bint read(str text, Written* out) except -1
# The exponent of a suffix (`e3`), None for anything else.
cdef object exponent_of(str suffix)
