"""The macros over lists and maps, one node for each shape of fold; names bound by optMap, sortBy.

cel-go runs all of them as one general loop over an accumulator. The nodes do less work, but charge
what that loop charges: the comments name the parts of the general form that are paid for.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class FoldNode(Node):
    """Runs over a list's elements or a map's keys; with two variables index/key and value."""
    cdef Node range
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot  # -1: one variable
    cdef Node body

    # The loop over the values of the two variables (others: None if there is only one).
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
    """map, filter and transformList: a list of body's values where condition holds."""
    cdef Node condition     # None: always
    cdef int64_t step_cost  # of accu + [body]


cdef class CollectMap(FoldNode):
    """transformMap (body is the value) and transformMapEntry (body is a map)."""
    cdef Node condition
    cdef bint entries

    cdef object _step(self, Activation act, dict made, object first, object failure)


cdef class Bind(Node):
    """A name for a value within an expression; the value is computed when first used."""
    cdef Py_ssize_t slot
    cdef Node body


cdef class BoundSlot(Node):
    """A use of that name."""
    cdef Py_ssize_t slot
    cdef Node value
    cdef int64_t units
