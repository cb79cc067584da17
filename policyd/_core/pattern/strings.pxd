"""What the leaves of patterns compare with: wildcards, and amounts (quantities and durations)."""

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
    """A text in which ``*`` stands for any characters and ``?`` for one."""

    cdef readonly str text
    cdef WildcardKind kind
    cdef str literal        # for the first four kinds
    cdef tuple parts        # what stands between the stars
    cdef Py_ssize_t least   # characters without the stars
    cdef bint starred

    cdef bint fits(self, str text, Activation act) except -1
    cdef bint fits_parts(self, str text, Activation act) except -1


cdef class Amount:
    """A quantity or a duration, or what can be read as both (``5m``, ``0``)."""

    cdef readonly str text
    cdef Quantity quantity  # None: it is none
    cdef bint timed         # it is a duration
    cdef int64_t nanos      # of the duration
    cdef bint short         # milli is exact
    cdef int64_t milli      # thousandths of the quantity

    # Fills `out` with -1, 0 or 1 for a value below, equal to or above this; 0: not comparable.
    cdef bint compare(self, object value, int* out) except -1
    cdef bint compare_string(self, str text, int* out) except -1


# The Amount that a text stands for, or None.
cdef Amount amount(str text)
# The text of a scalar as JSON writes it, None for null, maps and lists.
cdef str scalar_string(object value)
