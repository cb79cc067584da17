"""Evaluates one validating policy for one request: validations, messages, audit annotations.

A plan is created when the policy is loaded, and is immutable; a run is one call. Outcomes follow
k8s.io/apiserver, admission/plugin/policy/validating/validator.go.
"""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as now
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.counting.counters cimport ADMIT, PolicyCounters
from policyd._core.go.strings cimport trim_space
from policyd._core.pattern.checks cimport FAILS, Pattern
from policyd._core.pattern.report cimport PatternReport
from policyd._core.plan.plan cimport (
    LATE,
    PER_CALL_LIMIT,
    POLICY_BUDGET,
    Frame,
    Plan,
    Subject,
    error_message,
    run,
)
from policyd._core.eval.program cimport Program

from policyd._core.plan.plan import Stopped, TimedOut
from policyd.errors import DeadlineExceeded

cdef enum:
    MAX_MESSAGE_BYTES = 5120  # k8s.io/apiserver pkg/apis/cel/config.go


@cython.final
cdef class PlannedValidation:
    """One entry of ``validations``: its program or pattern, and its message and reason."""
    cdef readonly Program program    # None: a pattern
    cdef readonly Pattern pattern    # None: a program
    cdef readonly Program message_program
    cdef readonly str message
    cdef readonly str reason
    cdef readonly str field          # the path in the object that the expression reads
    #: program: Program | None
    #: pattern: Pattern | None
    #: message_program: Program | None

    def __init__(
        self,
        Program program,
        str expression not None,
        str message not None,
        Program message_program,
        str reason not None,
        Pattern pattern=None,
        str field not None="",
    ):
        #: (Program | None, str, str, Program | None, str, Pattern | None, str) -> None
        if (program is None) is (pattern is None):
            raise ValueError("a validation has either a program or a pattern")
        self.program = program
        self.pattern = pattern
        self.message = trim_space(message)
        if pattern is None and not self.message:
            self.message = f"failed expression: {trim_space(expression)}"
        self.message_program = message_program
        self.reason = reason
        self.field = field


@cython.final
cdef class ValidationOutcome:
    """The result of a plan, unless it simply admits the request.

    ``failures`` are (index, message, reason, is_error); ``annotations`` are (key, value);
    ``annotation_errors`` deny regardless of the actions; ``ignored`` are errors that failurePolicy
    Ignore admits; ``whole``: the failure is an error of the policy, not of a validation. ``lifted``
    has the indexes of the failures that exceptions lift. ``fields`` has, by index, the path of the
    field that a failure is about, if known.
    """
    #: failures: list[tuple[int, str, str, bool]]
    #: annotations: list[tuple[str, str]]
    #: annotation_errors: list[str]
    #: ignored: list[str]
    #: lifted: list[int]
    #: fields: dict[int, str]

    def __cinit__(self):
        self.failures = []
        self.annotations = []
        self.annotation_errors = []
        self.ignored = []
        self.lifted = []
        self.fields = {}

    cdef bint empty(self):
        return not (
            self.failures or self.annotations or self.annotation_errors or self.ignored
            or self.lifted or self.timed_out
        )

    cdef int misfit(self, Py_ssize_t index, PatternReport report, str reason) except -1:
        """Add a failure of a pattern."""
        if self.places is None:
            self.places = {}
        self.places[index] = report.text()
        if report.field:
            self.fields[index] = report.field
        self.failures.append((index, None, reason, False))
        return 0

    cdef str with_places(self, Py_ssize_t index, str message):
        """The message of a validation. For a pattern, the places follow."""
        if self.places is None or index not in self.places:
            return message
        places = self.places[index]
        return f"{message} ({places})" if message else places


cdef str usable_message(object value):
    """The trimmed result of a messageExpression; None if Kubernetes uses ``message`` instead."""
    if type(value) is not str:
        return None
    cdef str text = trim_space(<str>value)
    if not text or "\n" in text or len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        return None
    return text


cdef str validation_error(PlannedValidation validation, CelError error):
    if validation.pattern is None:
        return error_message(validation.program, error)
    return f"pattern resulted in error: {error.message}"


cdef object fit(Pattern pattern, Subject subject, Activation act):
    """True, the report of places that do not fit, or the CelError that replaces the object.

    Patterns use no budget: their cost is limited by their size and the object's.
    """
    value = subject.object if subject.object is not None else subject.old_object
    if type(value) is CelError:
        return value
    act.count_from(0)
    try:
        if pattern.test(value, act) != FAILS:
            return True
    except DeadlineExceeded as exceeded:
        raise TimedOut(str(exceeded)) from None
    try:
        return pattern.explanation(value, subject.within, act)
    except DeadlineExceeded:  # no time is left to find the places
        return PatternReport.saying("the object does not fit the pattern", "")


@cython.final
cdef class ValidationPlan(Plan):
    #: validations: tuple[PlannedValidation, ...]
    #: annotations: tuple[tuple[str, Program], ...]

    def __init__(
        self,
        conditions,
        Frame frame not None,
        bint fail,
        PolicyCounters counters not None,
        validations,
        annotations,
    ):
        #: (Iterable[Program], Frame, bool, PolicyCounters, Iterable[PlannedValidation],
        #: Iterable[tuple[str, Program]]) -> None
        Plan.__init__(self, conditions, frame, fail, counters)
        self.validations = tuple(validations)
        self.annotations = tuple(annotations)
        # Each message costs at most the limit, as does each variable that it uses first.
        messages = sum(
            1 for v in self.validations if (<PlannedValidation?>v).message_program is not None
        )
        self.messages_bound = (messages + frame.variables) * PER_CALL_LIMIT if messages else 0

    def run(self, Subject subject not None, object params, int64_t deadline, exempt):
        #: (Subject, Any, int, Container[int]) -> ValidationOutcome | None
        """Evaluate the policy: a ValidationOutcome, or None if it simply admits; counts the latter.

        ``deadline`` is a time of perf_counter_ns (0: none), ``exempt`` contains the indexes of the
        validations that exceptions lift.
        """
        cdef int64_t clock = now()
        return self.timed(subject, params, deadline, exempt, &clock)

    def violated(self, Subject subject not None, object params, int64_t deadline):
        #: (Subject, Any, int) -> frozenset[int | str]
        """Find violations: the indexes of failing validations, and the texts of errors outside of
        them. Counts the time, but no decision; a passed deadline is not a violation.
        """
        cdef int64_t started = now()
        cdef ValidationOutcome outcome = None
        if not deadline or started <= deadline:
            outcome = self.evaluate(subject, params, deadline, ())
        self.counters.evaluation_ns += now() - started
        if outcome is None or outcome.timed_out:
            return frozenset()
        found = {failure[1 if outcome.whole else 0] for failure in outcome.failures}
        return frozenset(found.union(outcome.annotation_errors))

    cdef ValidationOutcome timed(
        self, Subject subject, object params, int64_t deadline, object exempt, int64_t* clock
    ):
        """``run`` from the time ``clock``; sets ``clock`` to the end."""
        cdef int64_t started = clock[0]
        cdef ValidationOutcome outcome
        if deadline and started > deadline:
            outcome = self.late(None, LATE)
        else:
            outcome = self.evaluate(subject, params, deadline, exempt)
        clock[0] = now()
        self.counters.evaluation_ns += clock[0] - started
        if outcome is None:
            self.counters.decisions[ADMIT] += 1
        return outcome

    cdef ValidationOutcome late(self, ValidationOutcome outcome, str text):
        """Add the error of the deadline. Validations that were already false remain failures."""
        if outcome is None:
            outcome = ValidationOutcome.__new__(ValidationOutcome)
        outcome.timed_out = True
        self.error(outcome, len(self.validations), text)
        self.settle(outcome)
        return outcome

    cdef int error(self, ValidationOutcome outcome, Py_ssize_t index, str text) except -1:
        """Add an evaluation error, as failurePolicy requires."""
        if self.fail:
            outcome.failures.append((index, text, "Invalid", True))
        else:
            outcome.ignored.append(text)
        return 0

    cdef int whole(self, ValidationOutcome outcome, str text) except -1:
        """Add an error of the whole policy; Kubernetes reports it for the first validation."""
        outcome.whole = True
        return self.error(outcome, 0, text)

    cdef int settle(self, ValidationOutcome outcome) except -1:
        """Set the static message of every failure that has no message yet."""
        cdef Py_ssize_t i
        for i in range(len(outcome.failures)):
            index, text, reason, is_error = outcome.failures[i]
            if text is None:
                text = (<PlannedValidation>self.validations[index]).message
                text = outcome.with_places(index, text)
                outcome.failures[i] = (index, text, reason, is_error)
        return 0

    cdef ValidationOutcome evaluate(
        self, Subject subject, object params, int64_t deadline, object exempt
    ):
        """Evaluate everything. Creates a ValidationOutcome only if needed."""
        cdef ValidationOutcome outcome = None
        cdef Activation act = self.next_activation(subject, params, deadline)
        cdef int64_t budget = POLICY_BUDGET
        try:
            if self.conditions:
                matched = self.matched(act, subject)
                if matched is False:
                    return None
                if matched is not True:
                    outcome = ValidationOutcome.__new__(ValidationOutcome)
                    self.whole(outcome, matched)
                    return outcome
            if subject.unreadable:
                outcome = ValidationOutcome.__new__(ValidationOutcome)
                self.whole(outcome, subject.unreadable)
                return outcome
            outcome = self.validate(subject, act, exempt, &budget)
            if outcome is not None and outcome.timed_out:
                return outcome
            if self.messages_bound and (outcome is not None or budget < self.messages_bound):
                if outcome is None:
                    outcome = ValidationOutcome.__new__(ValidationOutcome)
                self.explain(outcome, self.activation(subject, params, deadline), budget)
            if outcome is not None:
                self.settle(outcome)
            if self.annotations:
                if outcome is None:
                    outcome = ValidationOutcome.__new__(ValidationOutcome)
                self.annotate(outcome, self.activation(subject, params, deadline))
        except TimedOut as late:
            return self.late(outcome, str(late))
        except Stopped as stopped:
            # Kubernetes returns one decision for the whole policy and drops earlier results.
            outcome = ValidationOutcome.__new__(ValidationOutcome)
            self.whole(outcome, str(stopped))
        return None if outcome is None or outcome.empty() else outcome

    cdef ValidationOutcome validate(
        self, Subject subject, Activation act, object exempt, int64_t* budget
    ):
        """The failures of the validations, without messages; None if all hold."""
        cdef ValidationOutcome outcome = None
        cdef PlannedValidation validation
        cdef Py_ssize_t index
        for index in range(len(self.validations)):
            validation = <PlannedValidation>self.validations[index]
            try:
                if validation.pattern is None:
                    value = run(validation.program, act, budget)
                else:
                    value = fit(validation.pattern, subject, act)
            except TimedOut as late:
                return self.late(outcome, str(late))
            if value is True:
                continue
            if outcome is None:
                outcome = ValidationOutcome.__new__(ValidationOutcome)
            if index in exempt:
                outcome.lifted.append(index)
                continue
            if validation.field:
                within = subject.within
                outcome.fields[index] = (
                    f"{within}.{validation.field}" if within else validation.field
                )
            if type(value) is PatternReport:
                outcome.misfit(index, <PatternReport>value, validation.reason)
            elif type(value) is CelError:
                self.error(outcome, index, validation_error(validation, <CelError>value))
            else:
                outcome.failures.append((index, None, validation.reason, False))
        self.counters.cost_units += POLICY_BUDGET - budget[0]
        return outcome

    cdef int explain(self, ValidationOutcome outcome, Activation act, int64_t budget) except -1:
        """Evaluate messageExpressions with the rest of the budget and new variables.

        Kubernetes also evaluates messages of validations that hold. This matters only if the budget
        could be exceeded, which turns every validation that is not an error into one.
        """
        cdef bint all_of_them = budget < self.messages_bound
        cdef PlannedValidation validation
        cdef dict places = {failure[0]: i for i, failure in enumerate(outcome.failures)}
        cdef Py_ssize_t index
        try:
            for index in range(len(self.validations)):
                validation = <PlannedValidation>self.validations[index]
                if validation.message_program is None or not (all_of_them or index in places):
                    continue
                value = run(validation.message_program, act, &budget)
                text = usable_message(value)
                if text is not None and index in places:
                    self.worded(outcome, places[index], text)
        except TimedOut:
            return 0  # the static messages are used
        except Stopped as stopped:
            failed = {failure[0] for failure in outcome.failures if failure[3]}
            plain = [i for i in range(len(self.validations)) if i not in failed]
            outcome.failures[:] = [failure for failure in outcome.failures if failure[3]]
            for index in plain:
                self.error(outcome, index, f"failed messageExpression: {stopped}")
            outcome.failures.sort()
        return 0

    cdef int worded(self, ValidationOutcome outcome, Py_ssize_t place, str text) except -1:
        index, _, reason, is_error = outcome.failures[place]
        if not is_error:
            text = outcome.with_places(index, text)
            outcome.failures[place] = (index, text, reason, is_error)
        return 0

    cdef int annotate(self, ValidationOutcome outcome, Activation act) except -1:
        """Evaluate audit annotations, with their own budget and their own variables."""
        cdef int64_t budget = POLICY_BUDGET
        cdef Program program
        for key, program in self.annotations:
            value = run(program, act, &budget)
            if type(value) is CelError:
                text = error_message(program, value)
                (outcome.annotation_errors if self.fail else outcome.ignored).append(text)
            elif value is not None and trim_space(<str?>value):
                outcome.annotations.append((key, trim_space(<str>value)))
        self.counters.cost_units += POLICY_BUDGET - budget
        return 0
