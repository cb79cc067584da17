"""The object of a request while mutating policies change it one after the other. The object in the
request is never changed.
"""

from collections.abc import Iterable
from functools import partial

from policyd._core.counting.counters import ADMIT
from policyd._core.json.encoded_size import MAX_PATCH_BYTES, TOO_LARGE, patch_bytes
from policyd._core.json.sendable import unsendable
from policyd._core.patch.apply import diff
from policyd._core.plan.mutation import MutationPlan
from policyd._core.plan.plan import Stopped, Subject
from policyd.admission.applicable import Applicable
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, InvocationKey, Matched, key_of
from policyd.admission.lookups.deadlines import deadline_of
from policyd.admission.lookups.evaluations import Evaluation, answered
from policyd.admission.mutating import rounds
from policyd.admission.mutating.conflicts import Conflicts
from policyd.errors import MutationError, StatusError, Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.mutation import Target
from policyd.mutation.decoding import converted
from policyd.policy.compile.compiled import CompiledMutation, CompiledPolicy
from policyd.policy.kinds.controllers import with_pod


class MutatedObject:
    """The object during mutation."""

    __slots__ = (
        *("applicable", "findings", "deadline", "request", "current", "writers"),
        *("_observer", "_targets", "_keys", "_conflicts", "_bytes", "_changes", "_operations"),
        *("_latest", "_failures", "_subjects", "_again", "_saw"),
    )

    def __init__(self, applicable: Applicable, findings: Findings, deadline: int) -> None:
        self.applicable = applicable
        self.findings = findings
        self.deadline = deadline
        self.request = findings.request
        self._observer = findings.observer
        self.current: JSON = self.request.object
        self.writers: list[CompiledPolicy] = []
        target = applicable.policies.schemas.target(self.request.kind)
        self._targets = {self.request.kind: target}
        self._keys = None if target.schema is None else target.schema.list_keys
        self._conflicts = Conflicts(self.current, self._keys)
        # Bytes of patch written by the accepted mutations; at least the size of the final patch.
        self._bytes = 0
        # The number of changes by the current invocation, and the operations of the last one.
        self._changes = 0
        self._operations: list[JSONObject] = []
        self._latest: list[JSONObject] = []
        # Recorded at the end of the invocation: one that waits for a lookup is run again.
        self._failures: list[str | Stopped] = []
        # The subject of the current tree for each subject from matching.
        self._subjects: dict[Subject, Subject] = {}
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
        if self.writers and not findings.verdict.findings and applicable.policies.second_round:
            self._again = True
            again = yield from rounds.second(
                applicable, findings, self.deadline, self.current, self._saw
            )
            yield from self._each(again)

    def _passed_over(self, invocation: Invocation) -> bool:
        """Whether the policy is not reinvoked, so that only matchConditions errors count."""
        if not self._again:
            return False
        return not invocation.policy.reinvoke or key_of(invocation) not in self._saw

    def _each(self, invocations: Iterable[Invocation]) -> Evaluation[dict[InvocationKey, JSON]]:
        """Apply invocations in order; return the tree before each one that may be reinvoked."""
        runs: dict[InvocationKey, JSON] = {}
        for invocation in invocations:
            policy, saw = invocation.policy, self.current
            if self._again and policy.reinvoke and self._saw.get(key_of(invocation)) is saw:
                continue  # The tree is the same as before: it would change nothing.
            deadline = deadline_of(policy, self.deadline) if policy.timeout_ns else self.deadline
            try:
                invoked = self._guarded(invocation, deadline)
            except Unanswered as unknown:
                again = partial(self._guarded, invocation, deadline)
                try:
                    invoked = yield from answered(again, unknown, deadline)
                except Unanswered as in_vain:
                    self.findings.failed(policy, invocation.binding, str(in_vain))
                    invoked = None
            if invoked and policy.reinvoke:
                runs[key_of(invocation)] = saw
        return runs

    def patch(self) -> list[JSONObject]:
        """Return the patch from the object in the request to the mutated object."""
        if len(self.writers) == 1:
            return self._latest
        return diff(self.request.object, self.current, self._keys)

    def _guarded(self, invocation: Invocation, deadline: int) -> bool | None:
        """Run one invocation; if it does not finish, the tree is left unchanged."""
        before, invoked = self.current, None
        work = self._invoke if self._observer is None else self._observed
        try:
            invoked = self.findings.guarded(invocation.policy, work, invocation, deadline)
        finally:
            if invoked is None and self.current is not before:
                self.current = before
                self._subjects.clear()
        return invoked

    def _observed(self, invocation: Invocation, deadline: int) -> bool:
        """Run ``_invoke`` and report it to the observer."""
        try:
            return self._invoke(invocation, deadline)
        finally:
            if self._observer is not None:
                self._observer.invoked(
                    invocation,
                    again=self._again,
                    passed_over=self._passed_over(invocation),
                )

    def _invoke(self, invocation: Invocation, deadline: int) -> bool:
        """Run one invocation; return False if its matchConditions were false."""
        policy, before = invocation.policy, self.current
        passed_over = self._passed_over(invocation)
        if policy.mutation is None:
            return False
        if invocation.hit.mismatch and not passed_over:
            text = f"failed to convert object version: {invocation.hit.mismatch}"
            self.findings.failed(policy, invocation.binding, text)
            return False
        subject = self._subject(invocation)
        matched = policy.mutation.matches(subject, invocation.param, deadline)
        if matched is not True:
            if matched is not False:
                self.findings.failed(policy, invocation.binding, matched)
            return False
        if passed_over:
            return False
        self._changes, self._failures = 0, []
        for mutation in policy.mutations:
            if self._changes:
                subject = self._subject(invocation)
            self._mutate(invocation, mutation, subject, deadline)
        for failure in self._failures:
            self.findings.failed(policy, invocation.binding, failure)
        if not self._failures:
            policy.counters.count(ADMIT)
        if self.current is not before:
            self._note(policy, before)
        return True

    def _mutate(
        self, invocation: Invocation, mutation: CompiledMutation, subject: Subject, deadline: int
    ) -> None:
        """Apply one mutation to the current tree, which the policy sees as ``subject``; on failure
        the tree is left unchanged.
        """
        policy, before = invocation.policy, self.current
        target = subject.object
        if policy.mutation is None or not isinstance(target, dict) or not isinstance(before, dict):
            return
        try:
            after, error = self._applied(policy.mutation, invocation, mutation, subject, deadline)
        except MutationError as failure:
            after, error = target, str(failure)
        except StatusError as failure:
            if self._observer is not None:
                self._observer.mutated(invocation, mutation, target, target, str(failure))
            self.findings.refused(policy, invocation.binding, failure)
            raise
        if self._observer is not None:
            text = "" if error is None else str(error)
            self._observer.mutated(invocation, mutation, target, after, text)
        if error is not None:
            self._failures.append(error)
            return
        if after is target:
            return
        if invocation.as_pod:
            self._accept(with_pod(before, target, after))
        else:
            self._accept(_in_version_of(before, after))

    def _applied(
        self,
        plan: MutationPlan,
        invocation: Invocation,
        mutation: CompiledMutation,
        subject: Subject,
        deadline: int,
    ) -> tuple[JSONObject, str | Stopped | None]:
        """Return the object that one mutation produces from the policy's view, and its error."""
        target, seen = self._target(invocation), subject.object
        if mutation.overlay is not None:
            bound = mutation.overlay.bound(target)
            after, error = plan.merge(bound, subject, invocation.param, deadline)
            if error is not None or after is seen:
                return seen, error
            return converted(after, seen, target), None
        value, error = plan.evaluate(mutation.index, subject, invocation.param, deadline)
        if error is not None or mutation.mutator is None:
            return seen, error
        sources = (
            seen,
            subject.old_object,
            subject.request,
            _namespace_seen(plan, subject),
            invocation.param,
        )
        return mutation.mutator.apply(value, seen, target, sources), None

    def _target(self, invocation: Invocation) -> Target:
        """Return the kind that the policy's mutations work on."""
        kind = ("", "v1", "Pod") if invocation.as_pod else invocation.hit.kind
        target = self._targets.get(kind)
        if target is None:
            target = self._targets[kind] = self.applicable.policies.schemas.target(kind)
        return target

    def _subject(self, invocation: Invocation) -> Subject:
        """Return the policy's view of the current tree."""
        if self.current is self.applicable.object:
            return invocation.subject
        subject = self._subjects.get(invocation.subject)
        if subject is None:
            seen = self.applicable.subjects.seen(self.current, invocation.hit, invocation.as_pod)
            subject = self._subjects[invocation.subject] = invocation.subject.seeing(seen)
        return subject

    def _accept(self, changed: JSONObject) -> None:
        """Replace the tree by ``changed`` if the change can be sent as a patch."""
        operations = diff(self.current, changed, self._keys)
        problem = self._too_large(operations, changed) or unsendable(operations)
        if problem is not None:
            self._failures.append(f"the mutation makes {problem}")
        elif operations:
            self._changes += 1
            self._operations = operations
            self.current = changed
            self._subjects.clear()

    def _too_large(self, operations: list[JSONObject], changed: JSONObject) -> str | None:
        """Return the error if the patch of a change, or of the whole request, is too large."""
        size = patch_bytes(operations, MAX_PATCH_BYTES)
        self._bytes += size
        if self._bytes > MAX_PATCH_BYTES >= size:
            # Later mutations may have undone earlier ones.
            operations = diff(self.request.object, changed, self._keys)
            self._bytes = size = patch_bytes(operations, MAX_PATCH_BYTES)
        return TOO_LARGE if size > MAX_PATCH_BYTES else None

    def _note(self, policy: CompiledPolicy, before: JSON) -> None:
        """Count an invocation's operations and report changes to values of other policies."""
        recorder = self.findings.recorder
        # With several mutations of one policy, only all together are its change.
        once = self._changes == 1
        operations = self._operations if once else diff(before, self.current, self._keys)
        self._latest = operations
        self.writers.append(policy)
        recorder.patch_operations(policy.name, len(operations))
        conflict = self._conflicts.add(policy.name, operations, before, self.current)
        if conflict is not None:
            recorder.mutation_conflict(policy.name)
            self.findings.happened("conflict", policy, conflict.text)


def _namespace_seen(plan: MutationPlan, subject: Subject) -> JSON:
    """Return the namespace an expression could read; a second read returns the first one's
    value.
    """
    found = subject.namespace_object
    if callable(found):
        found = found() if plan.frame.sees_namespace else None
    return found


def _in_version_of(before: JSONObject, after: JSONObject) -> JSONObject:
    """Return ``after`` in the version of the request, if the policy saw another version."""
    if after.get("apiVersion") == before.get("apiVersion"):
        return after
    return {**after, "apiVersion": before.get("apiVersion")}
