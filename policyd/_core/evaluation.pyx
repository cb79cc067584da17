"""One policy against one request: matchConditions, validations, audit annotations, mutations."""

cimport cython
from libc.stdint cimport int64_t

from time import perf_counter_ns

from policyd._core.activation cimport Activation, activation
from policyd._core.cel_errors cimport CelError
from policyd._core.counters cimport ADMIT, PolicyCounters
from policyd._core.program cimport Program

from policyd.errors import CostExceeded, DeadlineExceeded

# k8s.io/apiserver pkg/apis/cel/config.go
cdef enum:
    PER_CALL_LIMIT = 1000000
    POLICY_BUDGET = 10000000
    CONDITIONS_BUDGET = 2500000
    MAX_MESSAGE_BYTES = 5120

cdef object clock = perf_counter_ns
cdef str SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
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


@cython.final
@cython.auto_pickle(False)
cdef class Validation:

    def __init__(
        self,
        Program program not None,
        str expression not None,
        str message not None,
        Program message_program,
        str reason not None,
    ):
        self.program = program
        self.message = go_trim(message) or f"failed expression: {go_trim(expression)}"
        self.message_program = message_program
        self.reason = reason


@cython.final
@cython.auto_pickle(False)
cdef class Outcome:

    def __cinit__(self):
        self.failures = []
        self.annotations = []
        self.annotation_errors = []
        self.ignored = []

    cdef bint empty(self):
        return not (
            self.failures or self.annotations or self.annotation_errors or self.ignored
            or self.timed_out
        )


cdef inline int bind(list slots, int slot, object value) except -1:
    if slot >= 0:
        slots[slot] = value
    return 0


cdef object run(Program program, Activation act, int64_t* budget):
    """The value or CelError of one expression; what it and the variables it used cost leaves the budget."""
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


cdef str usable_message(object value):
    """The result of a messageExpression, trimmed; None where Kubernetes falls back to ``message``."""
    if type(value) is not str:
        return None
    cdef str text = go_trim(<str>value)
    if not text or "\n" in text or len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        return None
    return text


cdef str go_trim(str text):
    """strings.TrimSpace of Go: Unicode White_Space, which lacks the separators U+001C to U+001F."""
    return text.strip(SPACE)


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
        cdef Activation act = activation(frame.slots, PER_CALL_LIMIT, deadline)
        cdef list slots = act.slots
        bind(slots, frame.object, subject.object)
        bind(slots, frame.old_object, subject.old_object)
        bind(slots, frame.request, subject.request)
        bind(slots, frame.namespace_object, subject.namespace_object)
        bind(slots, frame.params, params)
        bind(slots, frame.authorizer, subject.authorizer)
        return act

    cdef object matched(self, Activation act, Subject subject):
        """True, False, or the text of the errors of the matchConditions: any false wins over errors.

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


@cython.final
@cython.auto_pickle(False)
cdef class ValidationPlan(Plan):

    def __init__(
        self,
        conditions,
        Frame frame not None,
        bint fail,
        PolicyCounters counters not None,
        validations,
        annotations,
    ):
        Plan.__init__(self, conditions, frame, fail, counters)
        self.validations = tuple(validations)
        self.annotations = tuple(annotations)
        # Each message costs at most one limit, and so does each variable that it may be the first to use.
        messages = sum(1 for v in self.validations if (<Validation?>v).message_program is not None)
        self.messages_bound = (messages + frame.variables) * PER_CALL_LIMIT if messages else 0

    def run(self, Subject subject not None, object params, int64_t deadline, exempt):
        """Judge a request: None if there is nothing to say (counted as admit), else an Outcome.

        ``deadline`` is a moment of perf_counter_ns (0: none), ``exempt`` the indexes of lifted validations.
        """
        cdef int64_t started = clock()
        cdef Outcome outcome = Outcome.__new__(Outcome)
        try:
            self.judge(outcome, subject, params, deadline, exempt)
        except TimedOut as late:
            # What was plainly false before stays so.
            outcome.timed_out = True
            self.error(outcome, len(self.validations), str(late))
        except Stopped as stopped:
            # Kubernetes makes one decision of the whole pass: what came before does not count.
            outcome = Outcome.__new__(Outcome)
            self.error(outcome, 0, str(stopped))
        if outcome.failures:
            self.settle(outcome)
        self.counters.evaluation_ns += <int64_t>clock() - started
        if outcome.empty():
            self.counters.decisions[ADMIT] += 1
            return None
        return outcome

    cdef int error(self, Outcome outcome, Py_ssize_t index, str text) except -1:
        """Note an evaluation error, as failurePolicy says."""
        if self.fail:
            outcome.failures.append((index, text, "Invalid", True))
        else:
            outcome.ignored.append(text)
        return 0

    cdef int settle(self, Outcome outcome) except -1:
        """Give every plain failure that has no message yet its static one."""
        cdef Py_ssize_t i
        for i in range(len(outcome.failures)):
            index, text, reason, is_error = outcome.failures[i]
            if text is None:
                text = (<Validation>self.validations[index]).message
                outcome.failures[i] = (index, text, reason, is_error)
        return 0

    cdef int judge(
        self, Outcome outcome, Subject subject, object params, int64_t deadline, object exempt
    ) except -1:
        cdef Activation act = self.activation(subject, params, deadline)
        cdef int64_t budget = POLICY_BUDGET
        cdef Validation validation
        cdef Py_ssize_t index
        if self.conditions:
            matched = self.matched(act, subject)
            if matched is False:
                return 0
            if matched is not True:
                return self.error(outcome, 0, matched)
        for index in range(len(self.validations)):
            validation = <Validation>self.validations[index]
            value = run(validation.program, act, &budget)
            if value is True or index in exempt:
                continue
            if type(value) is CelError:
                self.error(outcome, index, error_text(validation.program, value))
            else:
                outcome.failures.append((index, None, validation.reason, False))
        self.counters.cost_units += POLICY_BUDGET - budget
        if self.messages_bound and (outcome.failures or budget < self.messages_bound):
            self.explain(outcome, self.activation(subject, params, deadline), budget)
        if self.annotations:
            self.annotate(outcome, subject, params, deadline)
        return 0

    cdef int explain(self, Outcome outcome, Activation act, int64_t budget) except -1:
        """Evaluate messageExpressions with what the validations left of the budget, and variables anew.

        Kubernetes evaluates those of validations that hold as well; that matters only where the budget could
        run out: then every validation that is no error becomes one.
        """
        cdef bint all_of_them = budget < self.messages_bound
        cdef Validation validation
        cdef dict places = {failure[0]: i for i, failure in enumerate(outcome.failures)}
        cdef Py_ssize_t index
        try:
            for index in range(len(self.validations)):
                validation = <Validation>self.validations[index]
                if validation.message_program is None or not (all_of_them or index in places):
                    continue
                value = run(validation.message_program, act, &budget)
                text = usable_message(value)
                if text is not None and index in places:
                    self.worded(outcome, places[index], text)
        except TimedOut:
            return 0  # the static messages do
        except Stopped as stopped:
            failed = {failure[0] for failure in outcome.failures if failure[3]}
            plain = [i for i in range(len(self.validations)) if i not in failed]
            outcome.failures[:] = [failure for failure in outcome.failures if failure[3]]
            for index in plain:
                self.error(outcome, index, f"failed messageExpression: {stopped}")
            outcome.failures.sort()
        return 0

    cdef int worded(self, Outcome outcome, Py_ssize_t place, str text) except -1:
        index, _, reason, is_error = outcome.failures[place]
        if not is_error:
            outcome.failures[place] = (index, text, reason, is_error)
        return 0

    cdef int annotate(
        self, Outcome outcome, Subject subject, object params, int64_t deadline
    ) except -1:
        """Audit annotations have a budget and an evaluation of the variables of their own."""
        cdef Activation act = self.activation(subject, params, deadline)
        cdef int64_t budget = POLICY_BUDGET
        cdef Program program
        for key, program in self.annotations:
            value = run(program, act, &budget)
            if type(value) is CelError:
                text = error_text(program, value)
                (outcome.annotation_errors if self.fail else outcome.ignored).append(text)
            elif value is not None and go_trim(<str?>value):
                outcome.annotations.append((key, go_trim(<str>value)))
        self.counters.cost_units += POLICY_BUDGET - budget
        return 0


@cython.final
@cython.auto_pickle(False)
cdef class MutationPlan(Plan):

    def __init__(
        self,
        conditions,
        Frame frame not None,
        bint fail,
        PolicyCounters counters not None,
        programs,
    ):
        Plan.__init__(self, conditions, frame, fail, counters)
        self.programs = tuple(programs)

    def matches(self, Subject subject not None, object params, int64_t deadline):
        """Whether the matchConditions hold: True, False, or the text of an error."""
        cdef int64_t started = clock()
        if not self.conditions:
            return True
        try:
            return self.matched(self.activation(subject, params, deadline), subject)
        except Stopped as stopped:
            return str(stopped)
        finally:
            self.counters.evaluation_ns += <int64_t>clock() - started

    def evaluate(
        self, Py_ssize_t index, Subject subject not None, object params, int64_t deadline
    ):
        """(value, None) of the mutation's expression, or (None, the text of its error).

        Variables are computed anew for each mutation, and each has a whole budget.
        """
        cdef int64_t started = clock(), budget = POLICY_BUDGET
        cdef Program program = self.programs[index]
        try:
            value = run(program, self.activation(subject, params, deadline), &budget)
        except Stopped as stopped:
            return None, str(stopped)
        finally:
            self.counters.evaluation_ns += <int64_t>clock() - started
            self.counters.cost_units += POLICY_BUDGET - budget
        if type(value) is CelError:
            return None, error_text(program, value)
        return value, None
