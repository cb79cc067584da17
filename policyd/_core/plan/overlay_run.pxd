"""The state that the changes of an overlay share while it is applied."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.program cimport Program
from policyd._core.schema.merge cimport Edits


cdef class OverlayRun:
    cdef Activation conditions_activation
    cdef Activation activation      # None for an overlay without expressions
    cdef int64_t budget             # for all expressions together
    cdef list values                # by OverlayExpression.number; ABSENT: not evaluated yet
    cdef Py_ssize_t room            # bytes that expressions may still write into the object
    cdef Edits edits                # the edits of the latest change

    # Raises OverlayError if there is no room for the value.
    cdef int write(self, object value) except -1


cdef class OverlayExpression:
    cdef readonly Program program
    cdef Py_ssize_t number

    # The value, evaluated once per application.
    cdef object value(self, OverlayRun work)
    # The value; raises OverlayError if it is a CelError.
    cdef object sound(self, object value)


cdef class OverlayScope:
    cdef tuple conditions

    # Raises DeadlineExceeded.
    cdef bint holds(self, object value, OverlayRun work) except -1


cdef class OverlayChange:
    cdef object merged(self, object live, OverlayRun work)


cdef object replaced(object live, object value)
