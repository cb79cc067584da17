"""The plan of an expression: a tree of nodes, created once by ``cel/plan/planner.py``."""

from policyd._core.values.activation cimport Activation


cdef class Node:
    cdef object eval(self, Activation act)


cdef class Const(Node):
    cdef readonly object value


cdef object unset(str name)
