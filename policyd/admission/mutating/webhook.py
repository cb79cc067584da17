"""The mutating webhook: applies policies one after the other to one tree, and returns one patch.

Order, reinvocation and errors are the same as for MutatingAdmissionPolicy (k8s.io/apiserver,
admission/plugin/policy/mutating/dispatcher.go), except for defaulting between mutations, which only
the API server can do. No validation runs here. The object in the request never changes.

``_core/plan/mutation_run`` invokes the policies. This file adds the two rounds, waiting for
lookups, rollouts, and the report of each outcome to findings, conflicts and observer.
"""

from collections.abc import Callable
from time import perf_counter_ns
from typing import NamedTuple, TypeVarTuple, cast

import orjson

from policyd._core.counting.counters import ADMIT, WOULD_MUTATE
from policyd._core.json.equality import equal
from policyd._core.json.sendable import unsendable
from policyd._core.match.matcher import Hit
from policyd._core.patch.apply import apply
from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.mutation_run import MutationOutcome, MutationRun, TreeView
from policyd._core.plan.plan import Subject
from policyd.admission.applicable import Applicable
from policyd.admission.decision import respond
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, Matched
from policyd.admission.lookups.evaluations import (
    Evaluation,
    answered,
    deadline_of,
    evaluation_deadline,
)
from policyd.admission.mutating import rounds
from policyd.admission.mutating.conflicts import Conflicts
from policyd.admission.review import AdmissionResponse
from policyd.admission.subject import POD, Subjects
from policyd.errors import InternalError, StatusError, Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.mutation.empty_lists import stored
from policyd.policy.compile.compiled import Binding, CompiledPolicy, InvocationKey
from policyd.policy.kinds.controllers import with_pod


def mutate(
    applicable: Applicable,
    findings: Findings,
    matches: list[Matched],
    deadline: int,
    clock: Callable[[], int] = perf_counter_ns,
) -> Evaluation[AdmissionResponse]:
    """Mutate and respond; yields the lookups needed first. ``clock`` stands still during lookups.

    No patch for DELETE and CONNECT, whose objects cannot be changed.
    """
    request, generation, recorder = findings.request, findings.generation, findings.recorder
    if request.operation in ("DELETE", "CONNECT") or request.object is None:
        return respond(request, findings.verdict, generation)
    started = clock()
    mutated = MutatedObject(applicable, findings, deadline)
    try:
        yield from mutated.mutate(matches)
    except StatusError:
        if findings.verdict.refusal is None:
            raise  # without a refusal the response would admit
        return respond(request, findings.verdict, generation)
    evaluated = clock()
    recorder.phase("evaluate", evaluated - started)
    patch = _patch(findings, mutated) if mutated.tree.current is not request.object else None
    recorder.phase("patch", clock() - evaluated)
    return respond(request, findings.verdict, generation, patch)


def _patch(findings: Findings, mutated: "MutatedObject") -> bytes | None:
    """Return the patch as JSON after a trial on the object."""
    operations = mutated.patch()
    if not equal(apply(operations, findings.request.object), mutated.tree.current):
        error = InternalError(f"the patch of request {findings.request.uid} does not replay")
        for policy, *_ in mutated.log.changes:
            findings.broken(policy, error)
        return None
    # The changes of each policy can be sent, but one may be inside another policy's.
    problem = unsendable(operations)
    if problem is not None:
        for policy, *_ in mutated.log.changes:
            findings.misconfigured(policy, f"the changes of all policies have {problem}", None)
        return None
    return orjson.dumps(operations) if operations else None


_Arguments = TypeVarTuple("_Arguments")


class Lens(NamedTuple):
    """How policies see the tree if they see a Pod instead of its template, or another version."""

    subjects: Subjects
    hit: Hit
    as_pod: bool

    def seen(self, tree: JSON) -> JSON:
        """Return the object that the policies see."""
        return self.subjects.seen(tree, self.hit, self.as_pod)

    def changed(self, tree: JSONObject, seen: JSONObject, after: JSONObject) -> JSON:
        """Return the tree after a policy changed the object it had ``seen`` to ``after``."""
        if self.as_pod:
            return with_pod(tree, seen, after)
        if after.get("apiVersion") == tree.get("apiVersion"):
            return after
        return {**after, "apiVersion": tree.get("apiVersion")}


class MutatedObject:
    """The object during mutation."""

    __slots__ = (
        "_conflicts",
        "_schema",
        "_views",
        "applicable",
        "deadline",
        "findings",
        "log",
        "tree",
    )

    def __init__(self, applicable: Applicable, findings: Findings, deadline: int) -> None:
        self.applicable = applicable
        self.findings = findings
        self.deadline = deadline
        schema = applicable.policies.schemas.target(findings.request.kind).schema
        original: JSON = findings.request.object
        self._schema = schema
        self.tree = MutatedTree(original, None if schema is None else schema.root)
        self._conflicts = Conflicts(original, None if schema is None else schema.list_keys)
        self.log = self._conflicts.log
        self._views: dict[Subject, TreeView] = {}

    def mutate(self, matches: list[Matched]) -> Evaluation[None]:
        """Run one round, and a second if the first changes anything. The second matches all
        policies again with the changed object; it invokes those that the first round invoked and
        that have reinvocationPolicy IfNeeded. For the other matching policies only errors of
        configuration and matchConditions count.
        """
        applicable, findings = self.applicable, self.findings
        found = yield from rounds.first(applicable, findings, self.deadline, matches)
        saw = yield from self._each(found)
        if self.log.changes and not self._denied and applicable.policies.second_round:
            current = self.tree.current
            found = yield from rounds.second(applicable, findings, self.deadline, current, saw)
            if found:
                yield from self._each(found, saw)

    @property
    def _denied(self) -> bool:
        """Whether an error denies the request already."""
        found = self.findings.verdict.findings
        return bool(found) and any("Deny" in each.actions for each in found)

    def _each(
        self, found: list[Invocation | Matched], saw: dict[InvocationKey, JSON] | None = None
    ) -> Evaluation[dict[InvocationKey, JSON]]:
        """Run the invocations of a round in order; return the tree before each invocation that may
        be reinvoked. ``saw`` is the result of the first round.
        """
        findings = self.findings
        run = MutationRun(
            self.tree,
            self.log,
            self._view,
            findings.recorder.patch_operations,
            evaluation_deadline(self.deadline),
            saw,
            findings.observer is not None,
        )
        at = run.direct(found, 0)
        while at < len(found):
            outcome = run.outcome
            if outcome is None:
                yield from self._invoke(run, cast("Invocation", found[at]))
            else:
                policy: CompiledPolicy = found[at][0]
                binding = policy.bindings[0]
                self._guarded(policy, outcome.before, self._report, policy, binding, outcome)
            at = run.direct(found, at + 1)
        return run.seen

    def _invoke(self, run: MutationRun, invocation: Invocation) -> Evaluation[None]:
        """Run one invocation, and again once a lookup that it waits for is answered."""
        policy, before = invocation.policy, self.tree.current
        deadline = deadline_of(policy, self.deadline) if policy.timeout_ns else self.deadline
        cut = min(deadline, run.cut) if run.cut else deadline
        try:
            self._guarded(policy, before, self._attempt, run, invocation, cut)
        except Unanswered as unknown:

            def again() -> None:
                cut = evaluation_deadline(deadline)
                self._guarded(policy, before, self._attempt, run, invocation, cut)

            try:
                yield from answered(again, unknown, deadline)
            except Unanswered as in_vain:
                self.findings.failed(policy, invocation.binding, str(in_vain))

    def _guarded(
        self,
        policy: CompiledPolicy,
        before: JSON,
        work: Callable[[*_Arguments], None],
        *args: *_Arguments,
    ) -> None:
        """Do the work for a policy. A bug in policyd follows the policy's failurePolicy and leaves
        the tree as it was ``before``.
        """
        try:
            work(*args)
        except (StatusError, Unanswered):
            raise
        except Exception as error:
            self.tree.restore(before)
            self.findings.broken(policy, error)

    def _attempt(self, run: MutationRun, invocation: Invocation, deadline: int) -> None:
        """Run one invocation; raises Unanswered if it has to wait for a lookup."""
        policy, binding, param, _, hit, as_pod, _ = invocation
        observer = self.findings.observer
        prepared = policy.invocation(binding, param, held=bool(self._why_held(policy)))
        if prepared is None:
            return
        outcome = run.invoke(prepared, self._view(hit, as_pod), deadline)
        if outcome is None:
            return
        try:
            if observer is not None:
                for number, before, after, error in outcome.steps or ():
                    observer.mutated(invocation, policy.mutations[number], before, after, error)
            self._report(policy, binding, outcome)
        finally:
            if observer is not None:
                observer.invoked(invocation, again=outcome.again, passed_over=outcome.passed_over)

    def _view(self, hit: Hit, as_pod: bool) -> TreeView:
        """Return how policies see the tree that ``hit`` matched."""
        applicable = self.applicable
        subject = applicable.subjects.subject(hit, as_pod)
        view = self._views.get(subject)
        if view is None:
            target = applicable.policies.schemas.target(POD if as_pod else hit.kind)
            lens = Lens(applicable.subjects, hit, as_pod) if as_pod or hit.api_version else None
            view = TreeView(subject, applicable.object, target, lens, hit.mismatch)
            self._views[subject] = view
        return view

    def _report(self, policy: CompiledPolicy, binding: Binding, outcome: MutationOutcome) -> None:
        """Report failures and changes; undo the changes of a policy that is not enforced."""
        findings = self.findings
        if outcome.error is not None:
            if isinstance(outcome.error, StatusError):
                findings.refused(policy, binding, outcome.error)
            raise outcome.error
        for failure in outcome.failures or ():
            findings.failed(policy, binding, failure)
        held = self._why_held(policy)
        if held and outcome.invoked:
            self._leave(policy, outcome, held)
        elif outcome.after is not outcome.before:
            self._note(policy, outcome)

    def _why_held(self, policy: CompiledPolicy) -> str:
        """Return why the rollout of the policy does not enforce it; empty if it does."""
        return "" if policy.rollout is None else self.findings.why_held(policy)

    def _leave(self, policy: CompiledPolicy, outcome: MutationOutcome, why: str) -> None:
        """Undo the changes of a policy that is not enforced; count and report it."""
        places: list[str] = []
        if outcome.after is not outcome.before:
            places = [str(each["path"]) for each in self.tree.patch(outcome.before)]
            self.tree.restore(outcome.before)
        if outcome.failures is None:
            policy.counters.count(WOULD_MUTATE if places else ADMIT)
        if places:
            self.findings.would_mutate(policy, places, why)

    def _note(self, policy: CompiledPolicy, outcome: MutationOutcome) -> None:
        """Count an invocation's operations and report changes to values of other policies."""
        recorder, tree, before = self.findings.recorder, self.tree, outcome.before
        # With several mutations of one policy, only all together are its change.
        operations = tree.operations if tree.changes == 1 else tree.patch(before)
        recorder.patch_operations(policy.name, len(operations))
        conflict = None
        try:
            conflict = self._conflicts.add(policy, operations, before, outcome.after)
        except Exception as error:  # a failing report must not undo the change
            recorder.unrecorded("recorder", error)
        if conflict is not None:
            recorder.mutation_conflict(policy.name)
            self.findings.happened("conflict", policy, conflict.text)

    def patch(self) -> list[JSONObject]:
        """Return the patch from the object in the request to the mutated object."""
        tree, schema = self.tree, self._schema
        if schema is not None and not schema.native:
            settled = stored(tree.current, schema.structural)
            if settled is not tree.current:
                tree.restore(settled)
                return tree.patch()
        if len(self.log.changes) == 1:
            return self.log.changes[0][1]
        return tree.patch()
