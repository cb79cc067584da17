"""Evaluates the expressions of one mutating policy for one request."""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as now
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.values.read_trees cimport ReadTrees, read_trees
from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.plan.overlay cimport BoundOverlay, run_of
from policyd._core.plan.overlay_run cimport OverlayRun
from policyd._core.plan.plan cimport (
    LATE, POLICY_BUDGET, ROOTS_COUNT, Frame, Plan, Subject, error_message, run,
)
from policyd._core.eval.program cimport Program

from policyd._core.schema.list_items import MergeError
from policyd._core.plan.overlay_run import OverlayError
from policyd._core.plan.plan import Stopped, TimedOut
from policyd.errors import DeadlineExceeded, MutationError


@cython.final
cdef class MutationPlan(Plan):
    #: programs: tuple[Program, ...]

    def __init__(
        self,
        conditions,
        Frame frame not None,
        bint fail,
        PolicyCounters counters not None,
        programs,
    ):
        #: (Iterable[Program], Frame, bool, PolicyCounters, Iterable[Program]) -> None
        Plan.__init__(self, conditions, frame, fail, counters)
        self.programs = tuple(programs)

    cdef object conditions_hold(self, Subject subject, object params, int64_t deadline):
        """Whether the matchConditions hold: True, False, or the error (a string or Stopped). If
        they hold, an unreadable review is an error too.
        """
        cdef int64_t started
        if not deadline and not self.conditions:
            return subject.unreadable or True
        started = now()
        if deadline and started > deadline:
            return TimedOut(LATE)
        if not self.conditions:
            return subject.unreadable or True
        try:
            matched = self.matched(self.next_activation(subject, params, deadline), subject)
            return subject.unreadable or True if matched is True else matched
        except Stopped as stopped:
            return stopped
        finally:
            self.counters.evaluation_ns += now() - started

    cdef object evaluated(self, Py_ssize_t index, Activation act):
        """The value of a mutation's expression, with a new activation: variables are computed anew
        for each mutation, and each mutation has a whole budget. Raises MutationError or Stopped.
        """
        cdef int64_t started = now(), budget = POLICY_BUDGET
        cdef Program program = self.programs[index]
        try:
            value = run(program, act, &budget)
        finally:
            self.counters.evaluation_ns += now() - started
            self.counters.cost_units += POLICY_BUDGET - budget
        if type(value) is CelError:
            raise MutationError(error_message(program, value))
        return value

    cdef ReadTrees sources(self, Py_ssize_t index, Activation act):
        """What the mutation's expression could read when it was evaluated."""
        cdef Program program = self.programs[index]
        return read_trees(tuple(act.slots[:ROOTS_COUNT]), act, program.hands_on)

    cdef object merged(
        self,
        BoundOverlay overlay,
        Subject subject,
        object params,
        int64_t deadline,
        Edits edits,
    ):
        """The object after an overlay, whose expressions share one budget and are each evaluated at
        most once; ``edits`` gets what changed. Raises MutationError or Stopped.
        """
        cdef int64_t started = now()
        cdef OverlayRun work = run_of(overlay, deadline, edits)
        try:
            if overlay.expressions:
                work.activation = self.activation(subject, params, deadline)
            return overlay.applied(subject.object, work)
        except DeadlineExceeded as exceeded:
            raise TimedOut(str(exceeded)) from None
        except OverlayError as error:
            raise MutationError(f"overlay: {error}") from None
        except MergeError as error:
            raise MutationError(f"overlay: failed to merge: {error}") from None
        finally:
            self.counters.evaluation_ns += now() - started
            self.counters.cost_units += POLICY_BUDGET - work.budget
