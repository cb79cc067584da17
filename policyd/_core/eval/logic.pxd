"""``&&``, ``||``, ``?:``, ``==``, ``!=`` and ``in`` a list of literals."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class And(Node):
    cdef readonly tuple terms


cdef class Or(Node):
    cdef readonly tuple terms


cdef class Conditional(Node):
    cdef Node condition
    cdef Node yes
    cdef Node no


cdef class Equal(Node):
    cdef Node left
    cdef Node right
    cdef bint negated


cdef class EqualConst(Node):
    cdef Node child
    cdef str constant
    cdef bint negated


cdef class InSet(Node):
    cdef Node child
    cdef frozenset members

cdef object all_of(Activation act, tuple terms, Py_ssize_t start)
