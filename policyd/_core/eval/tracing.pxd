"""The values of all parts of an expression in one evaluation, for explanations. Not on the request
path.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.nodes cimport Node


cdef class Record:
    cdef readonly object expression
    cdef readonly object id
    cdef readonly object value
    cdef readonly bint finished
    cdef readonly int64_t cost
    cdef readonly list children
    cdef readonly list rounds
    cdef readonly Py_ssize_t skipped
    cdef Py_ssize_t notable  # number of rounds kept after the first ones

    cdef int begin(self, Tracer tracer, object first, object second) except -1


cdef class Round:
    cdef readonly Py_ssize_t number
    cdef readonly object first
    cdef readonly object second  # MISSING: the fold has one variable
    cdef readonly list children
    cdef readonly bint notable
    cdef Py_ssize_t left     # tracer.left when the round began


cdef class Tracer:
    cdef readonly list roots
    cdef Record current
    cdef Py_ssize_t left  # number of records that may still be created


cdef class Trace(Node):
    cdef Node node
    cdef Tracer tracer
    cdef object expression
    cdef object id


cdef class RoundTrace(Node):
    cdef Node node
    cdef Tracer tracer
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot
    cdef bint begins
    cdef object notable  # the value for which a round is kept; MISSING: only errors
