"""Evaluates one validating policy for one request: validations, messages and audit annotations."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.report cimport PatternReport
from policyd._core.plan.plan cimport Plan, Subject


cdef class ValidationOutcome:
    cdef readonly list failures
    cdef readonly list annotations
    cdef readonly list annotation_errors
    cdef readonly list ignored
    cdef readonly list lifted
    cdef readonly dict fields
    cdef readonly bint timed_out
    cdef readonly bint whole
    cdef dict places        # reports of the patterns that do not fit, by index

    cdef bint empty(self)
    cdef int misfit(self, Py_ssize_t index, PatternReport report, str reason) except -1
    cdef str with_places(self, Py_ssize_t index, str message)


cdef class ValidationPlan(Plan):
    cdef readonly tuple validations
    cdef readonly tuple annotations     # of (key, Program)
    cdef int64_t messages_bound         # maximum cost of all messageExpressions together

    cdef ValidationOutcome timed(
        self, Subject subject, object params, int64_t deadline, object exempt, int64_t* clock
    )
    cdef ValidationOutcome evaluate(
        self, Subject subject, object params, int64_t deadline, object exempt
    )
    cdef ValidationOutcome validate(
        self, Subject subject, Activation act, object exempt, int64_t* budget
    )
    cdef ValidationOutcome late(self, ValidationOutcome outcome, str text)
    cdef int error(self, ValidationOutcome outcome, Py_ssize_t index, str text) except -1
    cdef int whole(self, ValidationOutcome outcome, str text) except -1
    cdef int settle(self, ValidationOutcome outcome) except -1
    cdef int explain(self, ValidationOutcome outcome, Activation act, int64_t budget) except -1
    cdef int worded(self, ValidationOutcome outcome, Py_ssize_t place, str text) except -1
    cdef int annotate(self, ValidationOutcome outcome, Activation act) except -1
