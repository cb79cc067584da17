"""Calls of library functions: by arity, and by whether the checker settled on one overload."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.functions cimport Cost, Overload
from policyd._core.eval.nodes cimport Node


cdef class CallNode(Node):
    cdef readonly str name
    cdef readonly tuple overloads
    cdef Cost cost
    cdef bint kubernetes  # see Overload

    cdef int64_t price(self, Activation act, object first, object second, object result) except? -1


cdef class Call2(CallNode):
    cdef Node first
    cdef Node second
    cdef Overload only       # the overload to call first, if it is known; or None
    cdef bint stops          # evaluation stops if the first argument is an error
    cdef object prepared     # the second argument in prepared form, if it is a constant

    cdef object _dispatch(self, Activation act, object first, object second)
