"""What judging policies have in common: what they see, their slots, matchConditions and budgets.

The order, the budgets and the outcomes are those of Kubernetes (k8s.io/apiserver,
admission/plugin/cel/condition.go and admission/plugin/webhook/matchconditions).
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.eval.program cimport Program

cdef enum:  # k8s.io/apiserver pkg/apis/cel/config.go
    PER_CALL_LIMIT = 1000000
    POLICY_BUDGET = 10000000
    CONDITIONS_BUDGET = 2500000

cdef str LATE  # what is said of a policy whose deadline passed before its turn


cdef class Subject:
    """What a policy sees of a request; shared by all policies that see the same.

    ``conditions_request`` is ``request`` as matchConditions see it (with the original resource).
    ``namespace_object`` may be a function, called when a policy needs the value: it gives it or
    raises Unanswered. ``asked`` answers for ``authorizer`` (see ``lib/authz.pxd``); None: nobody
    does. ``within`` is the path at which the object stands in the one that was sent ("" or that of
    a pod template). ``unreadable`` says why the review cannot be evaluated ("": it can): whatever
    matches errs, once its matchConditions hold.
    """

    cdef readonly object object
    cdef readonly object old_object
    cdef readonly object request
    cdef readonly object conditions_request
    cdef readonly object namespace_object
    cdef readonly object authorizer
    cdef readonly str within
    cdef readonly str unreadable
    cdef list roots                 # the first slots of every policy, params apart


cdef class Frame:
    """The slots of one policy's programs beside the roots, and the number of ``variables.*``."""

    cdef list others
    cdef readonly bint uses_authorizer  # whether an expression uses the authorizer
    cdef readonly bint sees_namespace  # whether an expression uses namespaceObject
    cdef int authorizer      # slots, or -1
    cdef int request_resource
    cdef readonly int variables


cdef class Plan:
    """What validating and mutating policies have in common: matchConditions, slots and counters."""

    cdef readonly tuple conditions
    cdef readonly Frame frame
    cdef readonly bint fail
    cdef PolicyCounters counters

    cdef Activation activation(self, Subject subject, object params, int64_t deadline)
    cdef int authorize(self, list slots, Subject subject) except -1
    cdef object matched(self, Activation act, Subject subject)


# The value or CelError of one expression; what it and the variables it used cost leaves the budget.
# Raises Stopped past the budget, TimedOut past the deadline.
cdef object run(Program program, Activation act, int64_t* budget)

cdef str error_message(Program program, CelError error)
