"""The plan of an expression: a tree of nodes, created once by ``cel/plan/planner.py``."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation


cdef class Node:
    cdef object eval(self, Activation act)


cdef class Const(Node):
    cdef readonly object value


cdef class Precomputed(Node):
    cdef object value
    cdef int64_t cost


cdef class Slot(Node):
    cdef readonly Py_ssize_t slot
    cdef readonly str name
    cdef int64_t units


cdef object unset(str name)
