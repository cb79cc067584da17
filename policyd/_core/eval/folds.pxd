"""Nodes for the macros over lists and maps, one per kind of fold, and for names bound by optMap and
sortBy.

cel-go runs all folds as one general loop over an accumulator. These nodes do less work but charge
what that loop charges: the comments name the parts of the general form that are charged.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class FoldNode(Node):
    """A loop over the elements of a list or the keys of a map; with two variables: index/key and
    value.
    """
    cdef Node range
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot  # -1: one variable
    cdef Node body

    # The loop over the values of the variables; others: None if there is one variable.
    cdef object fold(self, Activation act, list items, list others)
    cdef list firsts(self, Activation act, object value)
    cdef list seconds(self, Activation act, object value)
    cdef object refuse(self, object value)


cdef class AllNode(FoldNode):
    pass


cdef class ExistsNode(FoldNode):
    pass


cdef class ExistsOneNode(FoldNode):
    pass


cdef class Collect(FoldNode):
    """map, filter and transformList: a list of the values of body where condition is true."""
    cdef Node condition     # None: always
    cdef int64_t step_cost  # of accu + [body]


cdef class CollectMap(FoldNode):
    """transformMap (body is the value) and transformMapEntry (body is a map)."""
    cdef Node condition
    cdef bint entries

    cdef object _step(self, Activation act, dict made, object first, object failure)


cdef class Bind(Node):
    """A name for a value within an expression; the value is computed at its first use."""
    cdef Py_ssize_t slot
    cdef Node body


cdef class BoundSlot(Node):
    """A use of that name."""
    cdef Py_ssize_t slot
    cdef Node value
    cdef int64_t units
