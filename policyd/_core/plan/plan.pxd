"""What validating and mutating policies share: variables, matchConditions, budgets."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.json.request cimport AdmissionRequest
from policyd._core.match.match_resources cimport Hit
from policyd._core.eval.program cimport Program
from policyd._core.plan.typed_values cimport TypedValues

cdef enum:  # k8s.io/apiserver pkg/apis/cel/config.go
    PER_CALL_LIMIT = 1000000
    POLICY_BUDGET = 10000000
    CONDITIONS_BUDGET = 2500000

cdef enum:
    ROOTS_COUNT = 5  # the first slots of every policy: object, oldObject, request ...

cdef str LATE  # the message if the deadline passed before the policy was evaluated


cdef class Subject:
    cdef readonly object object
    cdef readonly object old_object
    cdef AdmissionRequest sent      # both requests are built from it and the hit at first use
    cdef Hit hit
    cdef object made_request
    cdef object made_conditions
    cdef readonly object namespace_object
    cdef readonly object authorizer
    cdef readonly object reads      # returns the result of a read, or None
    cdef readonly str within
    cdef readonly str unreadable
    cdef list roots                 # the first slots of every policy, without request and params
    cdef Activation last            # of the policy that was evaluated last
    cdef dict shared                # values of variables that several validating policies share
    cdef TypedValues typed          # which values are Go's, for policies that see Go values

    cdef object seen_request(self)
    cdef object seen_by_conditions(self)
    cdef int make_requests(self) except -1
    cpdef Subject seeing(self, object object)


cdef class Frame:
    cdef list others
    cdef readonly bint uses_authorizer  # whether an expression uses the authorizer
    cdef readonly bint sees_namespace  # whether an expression uses namespaceObject
    cdef bint sees_request   # whether an expression uses request
    cdef bint typed          # whether values of built-in kinds are Go's
    cdef tuple params_kind   # group, version and kind of params
    cdef int authorizer      # slots, or -1
    cdef int request_resource
    cdef readonly tuple reads  # (slot of reads.NAME, its read, whether it is only read by key)
    cdef readonly int variables


cdef class Plan:
    cdef readonly tuple conditions
    cdef readonly Frame frame
    cdef readonly bint fail
    cdef PolicyCounters counters

    cdef Activation activation(self, Subject subject, object params, int64_t deadline)
    cdef Activation reading(self, Activation act, Subject subject)
    cdef Activation next_activation(self, Subject subject, object params, int64_t deadline)
    cdef int fill(self, list slots, Subject subject, object params) except -1
    cdef int authorize(self, list slots, Subject subject) except -1
    cdef object matched(self, Activation act, Subject subject)


cdef class PlannedPolicy:
    cdef public tuple direct_validation
    cdef public object direct_mutation


cdef object run(Program program, Activation act, int64_t* budget)

cdef str error_message(Program program, CelError error)
