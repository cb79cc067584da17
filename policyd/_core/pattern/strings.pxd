"""Operands of pattern leaves: wildcards and amounts (quantities and durations)."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.lib.quantity cimport Quantity


cdef enum WildcardKind:
    EQUALS      # text
    PREFIX      # text*
    SUFFIX      # *text
    CONTAINS    # *text*
    GENERAL     # everything else


cdef class Wildcard:
    cdef readonly str text
    cdef WildcardKind kind
    cdef str literal        # for the first four kinds
    cdef tuple parts        # the parts between the stars
    cdef Py_ssize_t least   # number of characters other than stars
    cdef bint starred

    cdef bint fits(self, str text, Activation act) except -1
    cdef bint fits_parts(self, str text, Activation act) except -1


cdef class Amount:
    cdef readonly str text
    cdef Quantity quantity      # None: not a quantity
    cdef readonly bint timed    # it is also a duration
    cdef int64_t nanos          # of the duration
    cdef bint short             # milli is exact
    cdef int64_t milli          # thousandths of the quantity

    cdef bint compare(self, object value, int* out) except -1
    cdef bint compare_string(self, str text, int* out) except -1


cpdef Amount amount_of(str text)
cdef str scalar_string(object value)
