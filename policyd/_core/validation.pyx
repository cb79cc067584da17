"""One validating policy against one request: validations, messages and audit annotations."""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as now
from libc.stdint cimport int64_t

from policyd._core.activation cimport Activation
from policyd._core.cel_errors cimport CelError
from policyd._core.counters cimport ADMIT, PolicyCounters
from policyd._core.plan cimport PER_CALL_LIMIT, POLICY_BUDGET, Frame, Plan, Subject, error_text, run
from policyd._core.program cimport Program

from policyd._core.plan import Stopped, TimedOut

cdef enum:
    MAX_MESSAGE_BYTES = 5120  # k8s.io/apiserver pkg/apis/cel/config.go

cdef str SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


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
        cdef int64_t started = now()
        cdef Outcome outcome = Outcome.__new__(Outcome)
        try:
            if deadline and started > deadline:
                raise TimedOut("deadline exceeded before the policy was evaluated")
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
        self.counters.evaluation_ns += now() - started
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
