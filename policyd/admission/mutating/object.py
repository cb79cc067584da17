"""The object of a request while mutating policies change it one after the other. The object in the
request is never changed.
"""

from collections.abc import Sequence
from functools import partial
from typing import cast

from policyd._core.counting.counters import ADMIT, WOULD_MUTATE
from policyd._core.match.equivalents import GvkTuple
from policyd._core.match.matcher import Hit
from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.plain_mutations import PlainMutations
from policyd._core.plan.plan import Stopped, Subject
from policyd.admission.applicable import Applicable
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, InvocationKey, Matched, key_of, plain_key
from policyd.admission.lookups.deadlines import deadline_of, evaluation_deadline
from policyd.admission.lookups.evaluations import Evaluation, answered
from policyd.admission.mutating import rounds
from policyd.admission.mutating.conflicts import Conflicts
from policyd.errors import MutationError, StatusError, Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.mutation import Target
from policyd.policy.compile.compiled import CompiledMutation, CompiledPolicy
from policyd.policy.kinds.controllers import with_pod

_POD = ("", "v1", "Pod")


class MutatedObject:
    """The object during mutation."""

    __slots__ = (
        *("applicable", "findings", "deadline", "request", "tree", "log"),
        *("_observer", "_targets", "_latest_target", "_conflicts", "_failures"),
        *("_views", "_again", "_saw", "_cut"),
    )

    def __init__(self, applicable: Applicable, findings: Findings, deadline: int) -> None:
        self.applicable = applicable
        self.findings = findings
        self.deadline = deadline
        self._cut = evaluation_deadline(deadline)
        self.request = findings.request
        self._observer = findings.observer
        target = applicable.policies.schemas.target(self.request.kind)
        self._targets = {self.request.kind: target}
        self._latest_target = (self.request.kind, target)
        keys = None if target.schema is None else target.schema.list_keys
        original: JSON = self.request.object
        self.tree = MutatedTree(original, None if target.schema is None else target.schema.root)
        self._conflicts = Conflicts(original, keys)
        self.log = self._conflicts.log
        # Recorded at the end of the invocation: one that waits for a lookup is run again.
        self._failures: list[str | Stopped] = []
        # The tree as policies see it that do not see it as it is, for each subject from matching.
        self._views: dict[Subject, tuple[JSON, Subject]] = {}
        # The second round: the tree before each invocation of the first round with IfNeeded.
        self._again = False
        self._saw: dict[InvocationKey, JSON] = {}

    def mutate(self, matches: list[Matched]) -> Evaluation[None]:
        """Run one round, and a second if the first changes anything. The second matches all
        policies again with the changed object; it invokes those that the first round invoked and
        that have reinvocationPolicy IfNeeded. Of the other matching policies only errors of
        configuration and matchConditions count.
        """
        applicable, findings = self.applicable, self.findings
        self._saw = yield from self._each(rounds.first(applicable, findings, matches))
        if self.log.changes and not self._denied and applicable.policies.second_round:
            self._again = True
            again = yield from rounds.second(
                applicable, findings, self.deadline, self.tree.current, self._saw
            )
            if again:
                yield from self._each(again)

    @property
    def _denied(self) -> bool:
        """Whether an error denies the request already."""
        found = self.findings.verdict.findings
        return bool(found) and any("Deny" in each.actions for each in found)

    def _passed_over(self, invocation: Invocation) -> bool:
        """Whether the policy is not reinvoked, so that only matchConditions errors count."""
        if not self._again:
            return False
        return not invocation.policy.reinvoke or key_of(invocation) not in self._saw

    def _each(
        self, invocations: Sequence[Invocation | Matched]
    ) -> Evaluation[dict[InvocationKey, JSON]]:
        """Apply invocations in order; return the tree before each one that may be reinvoked."""
        runs: dict[InvocationKey, JSON] = {}
        tree, plain = self.tree, self._plain(invocations)
        at = 0
        while (at := self._run_plain(plain, at, runs)) < len(invocations):
            invocation = cast("Invocation", invocations[at])
            at += 1
            policy, saw = invocation.policy, tree.current
            if self._again and policy.reinvoke and self._saw.get(key_of(invocation)) is saw:
                continue  # The tree is the same as before: it would change nothing.
            deadline = deadline_of(policy, self.deadline) if policy.timeout_ns else self.deadline
            cut = min(deadline, self._cut) if self._cut else deadline
            try:
                invoked = self._guarded(invocation, saw, cut)
            except Unanswered as unknown:
                again = partial(self._guarded_again, invocation, saw, deadline)
                try:
                    invoked = yield from answered(again, unknown, deadline)
                except Unanswered as in_vain:
                    self.findings.failed(policy, invocation.binding, str(in_vain))
                    invoked = None
            if invoked and policy.reinvoke and not self._held(policy):
                runs[key_of(invocation)] = saw
        return runs

    def _plain(self, invocations: Sequence[Invocation | Matched]) -> PlainMutations:
        """Return the runs of the plain policies among the invocations."""
        return PlainMutations(
            list(invocations),
            self.tree,
            self.log,
            self.applicable.subjects.subject,
            self._target,
            self._note,
            self.findings.recorder.patch_operations,
            self._cut,
        )

    def _run_plain(self, plain: PlainMutations, at: int, runs: dict[InvocationKey, JSON]) -> int:
        """Run the plain policies from ``at`` on, up to the next invocation; return its index. Add
        those that may be reinvoked to ``runs``.
        """
        while True:
            try:
                at = plain.run(at)
                if plain.failures is None:
                    break
                self._failed(plain)
            except StatusError as failure:
                self.findings.refused(plain.policy, plain.policy.bindings[0], failure)
                raise
            except Unanswered:
                raise
            except Exception as error:
                self.tree.restore(plain.before)
                self.findings.broken(plain.policy, error)
            at = plain.at + 1
        for policy, before in plain.reinvoked:
            runs[plain_key(policy)] = before
        return at

    def _failed(self, plain: PlainMutations) -> None:
        """Report the failures of a plain policy, and what it changed nevertheless."""
        policy: CompiledPolicy = plain.policy
        for failure in plain.failures or ():
            self.findings.failed(policy, policy.bindings[0], failure)
        if self.tree.current is not plain.before:
            self._note(policy, plain.before, self.tree.current)
        if plain.invoked and policy.reinvoke:
            plain.reinvoked.append((policy, plain.before))

    def patch(self) -> list[JSONObject]:
        """Return the patch from the object in the request to the mutated object."""
        if len(self.log.changes) == 1:
            return self.log.changes[0][1]
        return self.tree.patch()

    def _guarded(self, invocation: Invocation, before: JSON, deadline: int) -> bool | None:
        """Run one invocation; if it does not finish, the tree is left as it was ``before``. A bug
        in policyd follows the policy's failurePolicy.
        """
        invoked = None
        try:
            if self._observer is None:
                invoked = self._invoke(invocation, before, deadline)
            else:
                invoked = self._observed(invocation, before, deadline)
        except (StatusError, Unanswered):
            raise
        except Exception as error:
            self.findings.broken(invocation.policy, error)
        finally:
            if invoked is None and self.tree.current is not before:
                self.tree.restore(before)
        return invoked

    def _guarded_again(self, invocation: Invocation, before: JSON, deadline: int) -> bool | None:
        """Run one invocation after a lookup."""
        return self._guarded(invocation, before, evaluation_deadline(deadline))

    def _observed(self, invocation: Invocation, before: JSON, deadline: int) -> bool:
        """Run ``_invoke`` and report it to the observer."""
        try:
            return self._invoke(invocation, before, deadline)
        finally:
            if self._observer is not None:
                self._observer.invoked(
                    invocation,
                    again=self._again,
                    passed_over=self._passed_over(invocation),
                )

    def _invoke(self, invocation: Invocation, before: JSON, deadline: int) -> bool:
        """Run one invocation; return False if its matchConditions were false."""
        policy, binding, param, base, hit, as_pod, _ = invocation
        plan, passed_over = policy.mutation, self._again and self._passed_over(invocation)
        if plan is None:
            return False
        if hit.mismatch and not passed_over:
            text = f"failed to convert object version: {hit.mismatch}"
            self.findings.failed(policy, binding, text)
            return False
        subject = self._subject(base, hit, as_pod, before)
        matched = plan.matches(subject, param, deadline)
        if matched is not True:
            if matched is not False:
                self.findings.failed(policy, binding, matched)
            return False
        if passed_over:
            return False
        tree, now = self.tree, before
        failures: list[str | Stopped] = []
        tree.changes, self._failures = 0, failures
        for mutation in policy.mutations:
            if now is not before:
                subject = self._subject(base, hit, as_pod, now)
            self._mutate(invocation, mutation, subject, now, deadline)
            now = tree.current
        for failure in failures:
            self.findings.failed(policy, binding, failure)
        held = policy.rollout is not None and self.findings.why_held(policy)
        if held:
            self._leave(policy, before, now, held, failed=bool(failures))
            return True
        if not failures:
            policy.counters.count(ADMIT)
        if now is not before:
            self._note(policy, before, now)
        return True

    def _mutate(
        self,
        invocation: Invocation,
        mutation: CompiledMutation,
        subject: Subject,
        before: JSON,
        deadline: int,
    ) -> None:
        """Apply one mutation to the current tree ``before``, which the policy sees as ``subject``;
        on failure the tree is left unchanged.
        """
        policy, _, param, _, hit, as_pod, _ = invocation
        plan, seen = policy.mutation, subject.object
        if plan is None or not isinstance(seen, dict) or not isinstance(before, dict):
            return
        target = self._target(_POD if as_pod else hit.kind)
        after: JSONObject = seen
        error: str | Stopped | None = None
        try:
            after = mutation.step.change(plan, subject, param, target, deadline, self.tree)
        except MutationError as failure:
            error = str(failure)
        except Stopped as stopped:
            error = stopped
        except StatusError as failure:
            if self._observer is not None:
                self._observer.mutated(invocation, mutation, seen, seen, str(failure))
            if self._held(policy):
                self._failures.append(str(failure))
                return
            self.findings.refused(policy, invocation.binding, failure)
            raise
        if error is not None:
            self._failures.append(error)
        if self._observer is not None:
            text = "" if error is None else str(error)
            self._observer.mutated(invocation, mutation, seen, after, text)
        if after is not seen:
            if as_pod:
                after = with_pod(before, seen, after)
            elif hit.api_version:
                after = _in_version_of(before, after)
            problem = self.tree.accept(after)
            if problem is not None:
                self._failures.append(f"the mutation makes {problem}")

    def _target(self, kind: GvkTuple) -> Target:
        """Return a kind that policies' mutations work on."""
        last, target = self._latest_target
        if kind is not last:
            target = self._targets.get(kind) or self.applicable.policies.schemas.target(kind)
            self._targets[kind] = target
            self._latest_target = (kind, target)
        return target

    def _subject(self, subject: Subject, hit: Hit, as_pod: bool, tree: JSON) -> Subject:
        """Return a policy's view of the current tree; ``subject`` is that of the first match."""
        if tree is self.applicable.object:
            return subject
        if not (as_pod or hit.api_version):
            return self.tree.seen_by(subject)
        known = self._views.get(subject)
        if known is None or known[0] is not tree:
            seen = self.applicable.subjects.seen(tree, hit, as_pod)
            known = self._views[subject] = (tree, subject.seeing(seen))
        return known[1]

    def _held(self, policy: CompiledPolicy) -> str:
        """Return why the rollout of the policy does not enforce it; empty if it does."""
        return "" if policy.rollout is None else self.findings.why_held(policy)

    def _leave(
        self, policy: CompiledPolicy, before: JSON, after: JSON, why: str, *, failed: bool
    ) -> None:
        """Take back what a policy changed that is not enforced; count and report it."""
        places: list[str] = []
        if after is not before:
            places = [str(each["path"]) for each in self.tree.patch(before)]
            self.tree.restore(before)
        if not failed:
            policy.counters.count(WOULD_MUTATE if places else ADMIT)
        if places:
            self.findings.would_mutate(policy, places, why)

    def _note(self, policy: CompiledPolicy, before: JSON, after: JSON) -> None:
        """Count an invocation's operations and report changes to values of other policies."""
        recorder, tree = self.findings.recorder, self.tree
        # With several mutations of one policy, only all together are its change.
        operations = tree.operations if tree.changes == 1 else tree.patch(before)
        recorder.patch_operations(policy.name, len(operations))
        conflict = None
        try:
            conflict = self._conflicts.add(policy, operations, before, after)
        except Exception as error:  # what is reported of a change must not take it back
            recorder.unrecorded("recorder", error)
        if conflict is not None:
            recorder.mutation_conflict(policy.name)
            self.findings.happened("conflict", policy, conflict.text)


def _in_version_of(before: JSONObject, after: JSONObject) -> JSONObject:
    """Return ``after`` in the version of the request, if the policy saw another version."""
    if after.get("apiVersion") == before.get("apiVersion"):
        return after
    return {**after, "apiVersion": before.get("apiVersion")}
