"""Single nodes for frequent combinations of nodes. ``cel/plan/specialise.py`` selects them."""

from libc.stdint cimport int64_t

from policyd._core.eval.access cimport PathNode
from policyd._core.values.activation cimport Activation
from policyd._core.eval.calls cimport Call2
from policyd._core.eval.nodes cimport Node


cdef class PathTests(Node):
    cdef readonly Py_ssize_t slot
    cdef readonly tuple fields   # before the first term
    cdef readonly tuple terms
    cdef readonly tuple keys     # of the lookups
    # Per lookup: twice the cost of its term (0: it belongs to no term), plus 1 if it continues from
    # the value that the lookup before it found.
    cdef bytes codes

    cdef object eval_terms(self, Activation act, Py_ssize_t lookup)


cdef enum StringRelation:
    STARTS
    ENDS
    CONTAINS


cdef class StringTest(Node):
    cdef Call2 call
    cdef PathNode path
    cdef str part
    cdef StringRelation relation
    cdef int64_t part_tenths   # factor of the cost: for contains a tenth of part's length, else 1
    cdef int64_t fixed         # the cost if it does not depend on the string, otherwise -1
