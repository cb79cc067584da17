"""What judging policies have in common: what they see, their slots, matchConditions and budgets."""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.activation cimport Activation, activation as fresh
from policyd._core.cel_errors cimport CelError
from policyd._core.counters cimport PolicyCounters
from policyd._core.program cimport Program

from policyd.errors import CostExceeded, DeadlineExceeded

cdef str OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class Stopped(Exception):
    """The whole pass over a policy ends with this text: out of its budget, or past its deadline."""


class TimedOut(Stopped):
    """The pass ended because of the deadline."""


@cython.final
@cython.auto_pickle(False)
cdef class Subject:

    def __init__(
        self, object, old_object, request, conditions_request, namespace_object, authorizer=None
    ):
        self.object = object
        self.old_object = old_object
        self.request = request
        self.conditions_request = conditions_request
        self.namespace_object = namespace_object
        self.authorizer = authorizer


@cython.final
@cython.auto_pickle(False)
cdef class Frame:

    def __init__(self, int slots, dict names not None, int variables):
        self.slots = slots
        self.object = names.get("object", -1)
        self.old_object = names.get("oldObject", -1)
        self.request = names.get("request", -1)
        self.namespace_object = names.get("namespaceObject", -1)
        self.params = names.get("params", -1)
        self.authorizer = names.get("authorizer", -1)
        self.variables = variables


cdef inline int bind(list slots, int slot, object value) except -1:
    if slot >= 0:
        slots[slot] = value
    return 0


cdef object run(Program program, Activation act, int64_t* budget):
    """The value or CelError of one expression.

    The budget pays for it and for the variables that it was the first to use.
    """
    try:
        value = program.run(act)
    except CostExceeded as exceeded:
        value = CelError(str(exceeded))
    except DeadlineExceeded as exceeded:
        raise TimedOut(str(exceeded)) from None
    budget[0] -= act.spent + act.variables_spent
    act.variables_spent = 0
    if budget[0] < 0:
        raise Stopped(OUT_OF_BUDGET)
    return value


cdef str error_text(Program program, CelError error):
    return f"expression '{program.text}' resulted in error: {error.message}"


@cython.auto_pickle(False)
cdef class Plan:

    def __init__(
        self, conditions, Frame frame not None, bint fail, PolicyCounters counters not None
    ):
        self.conditions = tuple(conditions)
        self.frame = frame
        self.fail = fail
        self.counters = counters

    cdef Activation activation(self, Subject subject, object params, int64_t deadline):
        cdef Frame frame = self.frame
        cdef Activation act = fresh(frame.slots, PER_CALL_LIMIT, deadline)
        cdef list slots = act.slots
        bind(slots, frame.object, subject.object)
        bind(slots, frame.old_object, subject.old_object)
        bind(slots, frame.request, subject.request)
        bind(slots, frame.namespace_object, subject.namespace_object)
        bind(slots, frame.params, params)
        bind(slots, frame.authorizer, subject.authorizer)
        return act

    cdef object matched(self, Activation act, Subject subject):
        """True, False, or the text of the errors of the matchConditions: a false wins over errors.

        They see no namespaceObject, and the resource that the client named.
        """
        cdef Frame frame = self.frame
        cdef int64_t budget = CONDITIONS_BUDGET
        cdef list errors = []
        cdef bint held = True
        cdef Program program
        bind(act.slots, frame.request, subject.conditions_request)
        bind(act.slots, frame.namespace_object, None)
        for program in self.conditions:
            value = run(program, act, &budget)
            if type(value) is CelError:
                errors.append(error_text(program, value))
            elif value is not True:
                held = False
        bind(act.slots, frame.request, subject.request)
        bind(act.slots, frame.namespace_object, subject.namespace_object)
        self.counters.cost_units += CONDITIONS_BUDGET - budget
        if not held:
            return False
        if not errors:
            return True
        return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
