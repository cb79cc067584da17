"""One policy against one request: matchConditions, validations, audit annotations, mutations.

A plan is made once when the policy loads and is immutable; a run costs one call. The order, the budgets and
the outcomes are those of Kubernetes (k8s.io/apiserver, admission/plugin/policy/validating/validator.go and
admission/plugin/cel/condition.go).
"""

from libc.stdint cimport int64_t

from policyd._core.activation cimport Activation
from policyd._core.counters cimport PolicyCounters
from policyd._core.program cimport Program


cdef class Subject:
    """What a policy sees of a request; shared by all policies that see the same.

    ``conditions_request`` is ``request`` as matchConditions see it (with the original resource).
    """

    cdef readonly object object
    cdef readonly object old_object
    cdef readonly object request
    cdef readonly object conditions_request
    cdef readonly object namespace_object
    cdef readonly object authorizer


cdef class Frame:
    """Where the variables of Kubernetes stand among the slots of one policy's programs."""

    cdef readonly int slots
    cdef readonly int object
    cdef readonly int old_object
    cdef readonly int request
    cdef readonly int namespace_object
    cdef readonly int params
    cdef readonly int authorizer
    cdef readonly int variables     # how many ``variables.*`` there are


cdef class Validation:
    """One entry of ``validations``: its program, and what it says when it is false."""

    cdef readonly Program program
    cdef readonly Program message_program
    cdef readonly str message
    cdef readonly str reason


cdef class Outcome:
    """What a plan found that is not a plain admit.

    ``failures`` are (index, message, reason, is_error); ``annotations`` are (key, value); ``annotation_errors``
    deny whatever the actions are; ``ignored`` are errors that failurePolicy Ignore lets pass.
    """

    cdef readonly list failures
    cdef readonly list annotations
    cdef readonly list annotation_errors
    cdef readonly list ignored
    cdef readonly bint timed_out

    cdef bint empty(self)


cdef class Plan:
    """What validating and mutating policies have in common: matchConditions, slots and counters."""

    cdef readonly tuple conditions
    cdef readonly Frame frame
    cdef readonly bint fail
    cdef PolicyCounters counters

    cdef Activation activation(self, Subject subject, object params, int64_t deadline)
    cdef object matched(self, Activation act, Subject subject)


cdef class ValidationPlan(Plan):
    cdef readonly tuple validations
    cdef readonly tuple annotations     # of (key, Program)
    cdef int64_t messages_bound         # what all messageExpressions together can cost at most

    cdef int judge(
        self, Outcome outcome, Subject subject, object params, int64_t deadline, object exempt
    ) except -1
    cdef int error(self, Outcome outcome, Py_ssize_t index, str text) except -1
    cdef int settle(self, Outcome outcome) except -1
    cdef int explain(self, Outcome outcome, Activation act, int64_t budget) except -1
    cdef int worded(self, Outcome outcome, Py_ssize_t place, str text) except -1
    cdef int annotate(
        self, Outcome outcome, Subject subject, object params, int64_t deadline
    ) except -1


cdef class MutationPlan(Plan):
    cdef readonly tuple programs
