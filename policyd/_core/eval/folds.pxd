"""Nodes for the macros over lists and maps, one per kind of fold, and for names bound by optMap and
sortBy.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class FoldNode(Node):
    cdef Node range
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot  # -1: one variable
    cdef Node body

    cdef object fold(self, Activation act, list items, list others)
    cdef list firsts(self, Activation act, object value)
    cdef list seconds(self, Activation act, object value)
    cdef object refuse(self, Activation act, object value)


cdef class AllNode(FoldNode):
    pass


cdef class ExistsNode(FoldNode):
    pass


cdef class ExistsOneNode(FoldNode):
    pass


cdef class Collect(FoldNode):
    cdef Node condition     # None: always
    cdef int64_t step_cost  # of accu + [body]


cdef class CollectMap(FoldNode):
    cdef Node condition
    cdef bint entries

    cdef object _step(self, Activation act, dict made, object first, object failure)


cdef class Bind(Node):
    cdef Py_ssize_t slot
    cdef Node body


cdef class BoundSlot(Node):
    cdef Py_ssize_t slot
    cdef Node value
    cdef int64_t units
