"""What policies often write, as one node instead of several. ``cel/plan/specialise.py`` chooses.

Each node does the usual case, where everything is of the expected type, and has the plain nodes
beside it: for anything else they are evaluated instead. It charges what they charge.
"""

from libc.stdint cimport int64_t

from policyd._core.eval.access cimport PathNode
from policyd._core.values.activation cimport Activation
from policyd._core.eval.calls cimport Call2
from policyd._core.eval.nodes cimport Node


cdef class PathTests(Node):
    """``has(a.b) && has(a.b.c) && 'd' in a.b.c``: one walk from a variable, for the terms in order.

    Each term is a lookup, and so is each field that has to be read on the way to it.
    """
    cdef readonly Py_ssize_t slot
    cdef readonly tuple fields   # before the first term
    cdef readonly tuple terms
    cdef readonly tuple keys     # of the lookups
    # Of each lookup: twice what its term costs (0: it is only on the way), and 1 more if it is made
    # in what the lookup before it found.
    cdef bytes codes

    cdef object eval_terms(self, Activation act, Py_ssize_t lookup)


cdef enum StringRelation:
    STARTS
    ENDS
    CONTAINS


cdef class StringTest(Node):
    """``a.b.startsWith('literal')``, ``endsWith`` and ``contains``."""
    cdef Call2 call
    cdef PathNode path
    cdef str part
    cdef StringRelation relation
    cdef int64_t part_tenths   # a factor of the cost: 1, or for contains the part's length
    cdef int64_t fixed         # what it costs whatever the text is; -1: that depends on its length
