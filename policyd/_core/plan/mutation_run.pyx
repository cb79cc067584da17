"""Invokes mutating policies. Each invocation has an outcome, which the caller settles, except in
the usual case: it succeeds and touches nothing that another policy wrote.
"""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.plan.mutation cimport MutationPlan, MutationStep
from policyd._core.plan.mutated_tree cimport ChangeLog, MutatedTree
from policyd._core.match.match_resources cimport Hit
from policyd._core.counting.counters cimport ADMIT
from policyd._core.plan.plan cimport PlannedPolicy, Subject

from policyd._core.plan.plan import Stopped
from policyd.errors import MutationError, StatusError

#: from policyd._core.match.matcher import Hit
#: from policyd._core.plan.mutated_tree import ChangeLog
#: from policyd._core.plan.mutated_tree import MutatedTree
#: from policyd._core.plan.mutation import MutationPlan, MutationStep
#: from policyd._core.plan.plan import Subject

cdef enum ReadAs:
    UNREAD
    JSON
    GO

#: class _Lens(Protocol):
#:
#:     def seen(self, tree: Any) -> Any:
#:         ...
#:
#:     def changed(self, tree: Any, seen: Any, after: Any) -> Any:
#:         ...


@cython.final
cdef class TreeView:
    """How policies with the same kind of match see the tree. ``lens`` shows them another object,
    and turns the changed object into a tree again (``policyd.admission.mutating.webhook.Lens``);
    None: they see the tree itself. ``mismatch`` is the hit's.
    """
    cdef Subject first      # has the tree at the time of matching
    cdef object matched     # that tree
    cdef Subject latest
    cdef object tree        # that ``latest`` shows
    cdef object target      # the kind of the object that they see
    cdef object lens
    cdef str mismatch
    cdef bint typed         # a matchCondition has been evaluated in this round
    cdef ReadAs object_as   # the object since its last change
    cdef ReadAs old_as      # oldObject

    def __init__(self, Subject first not None, object matched, target, lens, str mismatch not None):
        #: (Subject, Any, Any, _Lens | None, str) -> None
        self.first, self.matched = first, matched
        self.target, self.lens, self.mismatch = target, lens, mismatch

    cdef Subject subject(self, object tree):
        if tree is self.matched:
            return self.first
        if self.latest is None or tree is not self.tree:
            seen = tree if self.lens is None else self.lens.seen(tree)
            self.latest, self.tree = self.first.seeing(seen), tree
        return self.latest

    cdef int read(self, Subject subject, bint conditions) except -1:
        """Decide whether the next expressions read the objects as Go values or as JSON, if values
        of built-in kinds are Go's. matchConditions read Go values, mutations read JSON until the
        first matchCondition of a round. An object keeps the form in which it was first read
        (LazyObject in k8s.io/apiserver, admission/conversion.go).
        """
        if subject.typed is None:
            return 0
        self.typed = self.typed or conditions
        if self.object_as == UNREAD:
            self.object_as = GO if self.typed else JSON
        if self.old_as == UNREAD:
            self.old_as = GO if self.typed else JSON
        return subject.typed.read_as(self.object_as == JSON, self.old_as == JSON)


@cython.final
cdef class MutationInvocation:
    """One policy under one binding and param. ``held``: its rollout does not enforce it, so it must
    not fail the request. ``key`` identifies it in both rounds.
    """
    cdef MutationPlan plan
    cdef tuple steps            # of MutationStep
    cdef object params
    cdef object key
    cdef bint reinvoke
    cdef bint held

    def __init__(
        self,
        MutationPlan plan not None,
        steps,
        object params,
        object key,
        bint reinvoke,
        bint held=False,
    ):
        #: (MutationPlan, Iterable[MutationStep], Any, Any, bool, bool) -> None
        self.plan = plan
        self.steps = tuple(steps)
        self.params = params
        self.key = key
        self.reinvoke = reinvoke
        self.held = held

    cdef bint acts_again(self):
        """Whether it takes part in the second round: it is reinvoked, or its conditions may fail.
        """
        return self.reinvoke or (self.plan.fail and bool(self.plan.conditions))


def direct_matches(list matches not None, Py_ssize_t at, bint again, list found not None):
    #: (list[tuple[Any, Hit]], int, bool, list[Any]) -> int
    """Add the matches of direct policies from ``at`` on to ``found``; with ``again``, only those
    that take part in the second round. Return the index of the first other match, or the number of
    matches.
    """
    cdef MutationInvocation invocation
    cdef Hit hit
    while at < len(matches):
        match = <tuple>matches[at]
        policy, hit = <tuple>match
        invocation = (<PlannedPolicy?>policy).direct_mutation
        if invocation is None or hit.error or hit.mismatch or hit.api_version:
            return at
        if not again or invocation.acts_again():
            found.append(match)
        at += 1
    return at


@cython.final
@cython.freelist(4)
cdef class MutationOutcome:
    """The result of one invocation: success; ``failures``; or an ``error`` that left the tree
    unchanged, because an answer is missing (Unanswered), the request is refused (StatusError), or
    policyd has a defect.
    """
    cdef readonly bint again        # in the second round
    cdef readonly bint passed_over  # only errors of its matchConditions matter
    cdef readonly bint invoked      # its matchConditions hold, and it is not skipped
    cdef readonly list failures     # None: there are none
    cdef readonly object error
    cdef readonly object before     # the tree
    cdef readonly object after
    cdef readonly list steps        # (number of the mutation, before, after, error); None: none
    #: failures: list[str | Stopped] | None
    #: error: Exception | None
    #: steps: list[tuple[int, Any, Any, str]] | None

    cdef int fail(self, object failure) except -1:
        if self.failures is None:
            self.failures = []
        self.failures.append(failure)
        return 0


@cython.final
cdef class MutationRun:
    """One round of mutations. ``saw`` has, by key, the trees before those invocations of the first
    round that may be repeated; None in the first round, which collects them as ``seen``.
    """
    cdef MutatedTree tree
    cdef ChangeLog log
    cdef object view_of             # (hit, as_pod) -> TreeView
    cdef object patch_operations    # (name, count), of the Recorder
    cdef readonly int64_t cut
    cdef dict saw
    cdef readonly dict seen
    cdef bint watched
    cdef readonly MutationOutcome outcome   # of the direct policy at which ``direct`` stopped
    cdef Hit hit                    # the last one, and its view
    cdef TreeView view
    #: outcome: MutationOutcome | None

    def __init__(
        self,
        MutatedTree tree not None,
        ChangeLog log not None,
        view_of,
        patch_operations,
        int64_t cut,
        dict saw,
        bint watched,
    ):
        #: (MutatedTree, ChangeLog, Callable[[Hit, bool], TreeView], Callable[[str, int], None],
        #: int, dict[Any, Any] | None, bool) -> None
        self.tree, self.log = tree, log
        self.view_of, self.patch_operations = view_of, patch_operations
        self.cut, self.saw, self.seen, self.watched = cut, saw, {}, watched

    def direct(self, list found not None, Py_ssize_t at):
        #: (list[Any], int) -> int
        """Invoke the direct policies from ``at`` on. Return the index of the first match of another
        policy (a plain tuple) or of the first ``outcome`` that the caller must settle, or the
        number of matches.
        """
        cdef MutationInvocation invocation
        cdef Hit hit
        self.outcome = None
        while at < len(found):
            match = <object>found[at]
            if type(match) is not tuple:
                return at
            policy, hit = <tuple>match
            invocation = (<PlannedPolicy?>policy).direct_mutation
            if not self.settled(policy, invocation, hit):
                return at
            at += 1
        return at

    def invoke(
        self, MutationInvocation invocation not None, TreeView view not None, int64_t deadline
    ):
        #: (MutationInvocation, TreeView, int) -> MutationOutcome | None
        """Invoke one policy. Returns None if it saw the same tree before, and so would change
        nothing.
        """
        return self.invoked(invocation, view, None, deadline)

    cdef bint settled(self, object policy, MutationInvocation invocation, Hit hit) except -1:
        """Invoke a direct policy and note its change; False if the caller must settle it."""
        cdef MutationOutcome outcome = self.invoked(invocation, None, hit, self.cut)
        cdef list operations = self.tree.operations
        if outcome is None:
            return True
        if outcome.failures is None and outcome.error is None:
            if outcome.after is outcome.before:
                return True
            # The change of a policy is the change by all of its mutations together.
            if self.tree.changes == 1 and not self.log.suspects(operations):
                try:
                    self.log.add(policy, operations, outcome.before, outcome.after)
                    self.patch_operations(policy.name, len(operations))
                    return True
                except Exception as error:
                    outcome.error = error
        self.outcome = outcome
        return False

    cdef MutationOutcome invoked(
        self, MutationInvocation invocation, TreeView view, Hit hit, int64_t deadline
    ):
        cdef MutationOutcome outcome = MutationOutcome.__new__(MutationOutcome)
        before = self.tree.current
        if self.saw is not None:
            outcome.passed_over = not invocation.reinvoke or invocation.key not in self.saw
            if not outcome.passed_over and self.saw[invocation.key] is before:
                return None
        outcome.before, outcome.again = before, self.saw is not None
        try:
            if view is None:
                if hit is not self.hit:
                    self.view, self.hit = self.view_of(hit, False), hit
                view = self.view
            self.perform(invocation, view, deadline, outcome)
        except Exception as error:
            outcome.error = error
            self.tree.restore(before)
        outcome.after = self.tree.current
        if outcome.invoked and invocation.reinvoke and outcome.error is None:
            if not invocation.held:
                self.seen[invocation.key] = before
        return outcome

    cdef int perform(
        self,
        MutationInvocation invocation,
        TreeView view,
        int64_t deadline,
        MutationOutcome outcome,
    ) except -1:
        cdef MutatedTree tree = self.tree
        cdef object now = tree.current
        cdef Subject subject
        cdef Py_ssize_t number
        if view.mismatch and not outcome.passed_over:
            return outcome.fail(f"failed to convert object version: {view.mismatch}")
        subject = view.subject(now)
        if invocation.plan.conditions and invocation.plan.frame.typed:
            view.read(subject, True)
        matched = invocation.plan.conditions_hold(subject, invocation.params, deadline)
        if matched is not True:
            return 0 if matched is False else outcome.fail(matched)
        if outcome.passed_over:
            return 0
        outcome.invoked = True
        tree.changes = 0
        for number in range(len(invocation.steps)):
            if tree.current is not now:
                now = tree.current
                subject = view.subject(now)
            self.mutate(invocation, number, view, subject, deadline, outcome)
        if outcome.failures is None and not invocation.held:
            invocation.plan.counters.decisions[<int>ADMIT] += 1
        return 0

    cdef int mutate(
        self,
        MutationInvocation invocation,
        Py_ssize_t number,
        TreeView view,
        Subject subject,
        int64_t deadline,
        MutationOutcome outcome,
    ) except -1:
        """Apply one mutation to the tree; a failure leaves the tree unchanged."""
        cdef MutatedTree tree = self.tree
        cdef MutationStep step = invocation.steps[number]
        cdef object seen = subject.object, now = tree.current, after = seen, failure = None
        cdef object refusal = None
        if type(seen) is not dict or type(now) is not dict:
            return 0
        if invocation.plan.frame.typed:
            view.read(subject, False)
        try:
            after = step.changed(
                invocation.plan, subject, invocation.params, view.target, deadline, tree
            )
        except MutationError as error:
            failure = str(error)
        except Stopped as stopped:
            failure = stopped
        except StatusError as error:
            failure, refusal = str(error), error
        if failure is not None and (refusal is None or invocation.held):
            outcome.fail(failure)
        if self.watched:
            outcome.steps = outcome.steps or []
            outcome.steps.append((number, seen, after, "" if failure is None else str(failure)))
        if refusal is not None and not invocation.held:
            raise refusal
        if failure is None:
            view.object_as = UNREAD
        if after is seen:
            return 0
        if view.lens is not None:
            after = view.lens.changed(now, seen, after)
        problem = tree.accept(after)
        return 0 if problem is None else outcome.fail(f"the mutation makes {problem}")
