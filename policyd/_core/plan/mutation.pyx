"""Evaluates one mutating policy for one request, and the entries of its ``mutations``."""

cimport cython
from cpython.time cimport PyTime_PerfCounterRaw as now
from libc.stdint cimport int64_t

from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.eval.program cimport Program
from policyd._core.plan.mutators cimport DirectMutator
from policyd._core.plan.overlay cimport BoundOverlay, run_of
from policyd._core.plan.overlay_run cimport OverlayRun
from policyd._core.plan.plan cimport (
    LATE, POLICY_BUDGET, ROOTS_COUNT, Frame, Plan, Subject, error_message, run,
)
from policyd._core.schema.merge cimport Edits
from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport CelError
from policyd._core.values.read_trees cimport ReadTrees, read_trees

from policyd._core.plan.overlay_run import OverlayError
from policyd._core.plan.plan import Stopped, TimedOut
from policyd._core.schema.list_items import MergeError
from policyd.errors import DeadlineExceeded, MutationError

#: from policyd._core.plan.mutated_tree import MutatedTree
#: from policyd._core.plan.mutators import DirectMutator
#: from policyd._core.plan.overlay import BoundOverlay
#: from policyd._core.plan.plan import Subject
#: from policyd._core.values.read_trees import ReadTrees


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
        they hold, an unreadable review is also an error.
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
        """The value of a mutation's expression, in a new activation: each mutation computes the
        variables again and has a full budget. Raises MutationError or Stopped.
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
        """The values that the mutation's expression could read when it was evaluated."""
        cdef Program program = self.programs[index]
        cdef list reads = None
        if self.frame.reads:
            reads = [act.slots[slot] for slot, _, _ in self.frame.reads]
        return read_trees(tuple(act.slots[:ROOTS_COUNT]), reads, act, program.hands_on)

    cdef object merged(
        self,
        BoundOverlay overlay,
        Subject subject,
        object params,
        int64_t deadline,
        Edits edits,
    ):
        """The object after an overlay; notes the changes in ``edits``. The expressions share one
        budget, and each is evaluated at most once. Raises MutationError or Stopped.
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


#: class _Mutator(Protocol):
#:
#:     @property
#:     def direct(self) -> DirectMutator | None:
#:         ...
#:
#:     def apply(
#:         self,
#:         value: object,
#:         obj: dict[str, Any],
#:         target: Any,
#:         sources: ReadTrees | None,
#:     ) -> dict[str, Any]:
#:         ...
#: class _Overlay(Protocol):
#:
#:     def bound(self, target: Any) -> BoundOverlay:
#:         ...
#:
#:     def converted(
#:         self, after: dict[str, Any], before: dict[str, Any], target: Any
#:     ) -> dict[str, Any]:
#:         ...


cdef class MutationStep:
    """One entry. A target is a kind (``policyd.mutation.schemas``). Its derived data is kept for
    the last target, because nearly all objects that a policy mutates have the same kind.
    """

    def change(
        self,
        MutationPlan plan not None,
        Subject subject not None,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree not None,
    ):
        #: (MutationPlan, Subject, Any, Any, int, MutatedTree) -> dict[str, Any]
        """Do the same as ``changed``."""
        return self.changed(plan, subject, params, target, deadline, tree)

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        """The decoded object after the mutation, or ``subject.object`` itself. Notes in ``tree``
        what changed, if known. Raises MutationError, Stopped or StatusError.
        """
        raise TypeError(f"{type(self).__name__} has no change of its own")


@cython.final
cdef class ExpressionStep(MutationStep):
    """Applies the value of the plan's expression ``index`` by the direct form of a mutator
    (``policyd.mutation.kind.Mutator``), or by its general form where the direct form does not
    apply.
    """
    cdef Py_ssize_t index
    cdef object mutator
    cdef DirectMutator direct   # None: the mutator has none

    def __init__(self, Py_ssize_t index, mutator):
        #: (int, _Mutator) -> None
        self.index = index
        self.mutator = mutator
        self.direct = mutator.direct

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        cdef Activation act = plan.activation(subject, params, deadline)
        value = plan.evaluated(self.index, act)
        return self.apply(value, subject.object, target, plan.sources(self.index, act), tree)

    cpdef object apply(
        self, object value, dict obj, object target, ReadTrees sources, MutatedTree tree
    ):
        #: (object, dict[str, Any], Any, ReadTrees | None, MutatedTree) -> dict[str, Any]
        """``obj`` after the mutation by this value of its expression."""
        cdef Edits edits
        if target is not self.target:
            self.root, self.target = self.direct_type(target), target
        if self.root is not None:
            edits = Edits.__new__(Edits)
            after = self.direct.applied(value, obj, self.root, sources, edits)
            if after is not None and after is not obj:
                after = tree.decoded(edits.latest, obj, after, self.root, self.direct.merges)
            if after is not None:
                return after
        return self.mutator.apply(value, obj, target, sources)

    cdef Field direct_type(self, object target):
        """The Go type of a kind that has the direct form."""
        native = target.native
        if self.direct is None or native is None or self.direct.merges and not native.mergeable:
            return None
        return native.root


@cython.final
cdef class OverlayStep(MutationStep):
    """An overlay (``policyd.mutation.overlay.Overlay``)."""
    cdef readonly object overlay
    cdef BoundOverlay bound
    #: overlay: _Overlay

    def __init__(self, overlay):
        #: (_Overlay) -> None
        self.overlay = overlay

    cdef object changed(
        self,
        MutationPlan plan,
        Subject subject,
        object params,
        object target,
        int64_t deadline,
        MutatedTree tree,
    ):
        cdef Edits edits = Edits.__new__(Edits)
        cdef dict obj = subject.object
        if target is not self.target:
            self.bound = self.overlay.bound(target)
            self.root = None if target.native is None else target.native.root
            self.target = target
        after = plan.merged(self.bound, subject, params, deadline, edits)
        if after is obj or self.root is None:
            return after
        decoded = tree.decoded(edits.latest, obj, after, self.root, True)
        return self.overlay.converted(after, obj, target) if decoded is None else decoded
