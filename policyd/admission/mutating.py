"""The mutating webhook: policies applied one after the other to one tree, then one patch.

Order, reinvocation and errors are those of MutatingAdmissionPolicy (k8s.io/apiserver,
admission/plugin/policy/mutating/dispatcher.go), but for defaulting between mutations, which only
the API server can do. No validation is judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from time import perf_counter_ns
from typing import TYPE_CHECKING

import orjson

from policyd._core.json.equality import equal
from policyd._core.json.sendable import unsendable
from policyd._core.json.size import MAX_PATCH_BYTES, TOO_LARGE, patch_bytes
from policyd._core.patch.apply import apply, diff
from policyd.admission import rounds
from policyd.admission.conflicts import Conflicts
from policyd.admission.decision import refused, respond
from policyd.admission.waiting import Wait, answer_by
from policyd.errors import InternalError, MutationError, StatusError, Unanswered
from policyd.mutation.decoding import converted
from policyd.policy.kinds.controllers import with_pod

if TYPE_CHECKING:
    from policyd._core.plan.mutation import MutationPlan
    from policyd._core.plan.plan import Stopped, Subject
    from policyd.admission.engine import Engine, Judged, Matched
    from policyd.admission.review import AdmissionResponse
    from policyd.json_types import JSON, JSONObject
    from policyd.mutation import Target
    from policyd.policy.compile.compiled import CompiledPolicy, Mutation

_ADMIT = 0


class Tree:
    """The object while it is being mutated."""

    at_once = True  # no note is taken of policies that are matched anew and not invoked

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.current: JSON = engine.request.object
        self.writers: list[CompiledPolicy] = []
        target = engine.policies.schemas.target(engine.request.kind)
        self._targets = {engine.request.kind: target}
        self._keys = None if target.schema is None else target.schema.list_keys
        self._conflicts = Conflicts(self.current, self._keys)
        # Bytes of patch that the accepted mutations wrote; no less than what remains of it.
        self._bytes = 0
        # How often the invocation that is under way has changed the tree, and how it did last.
        self._changes = 0
        self._operations: list[JSONObject] = []
        self._latest: list[JSONObject] = []
        # Told when the invocation is over: one that has to wait for an answer begins anew.
        self._failures: list[str | Stopped] = []
        # How policies see the tree as it is now, by how they saw it when they were matched.
        self._subjects: dict[Subject, Subject] = {}
        # The second round: what each invocation of the first with IfNeeded saw.
        self.again = False
        self._saw: dict[rounds.Key, JSON] = {}

    def mutate(self, matches: list[Matched]) -> Iterator[Wait]:
        """Two rounds, if the first changes anything. The second matches all policies anew, with the
        object as it is then; invoked are those that the first invoked, with IfNeeded. Of other
        policies that match now only the errors count: of their configuration and matchConditions.

        Yields where a cluster has to answer first.
        """
        self._saw = yield from self._each(rounds.first(self.engine, matches))
        engine = self.engine
        if self.writers and not engine.verdict.findings and engine.policies.second_round:
            self.again = True
            again = yield from rounds.second(engine, self.current, self._saw, at_once=self.at_once)
            yield from self._each(again)

    def passed_over(self, judged: Judged) -> bool:
        """Whether only errors of its matchConditions count, as it is not invoked once more."""
        if not self.again:
            return False
        return not judged.policy.reinvoke or rounds.key(judged) not in self._saw

    def _each(self, invocations: Iterable[Judged]) -> Generator[Wait, None, dict[rounds.Key, JSON]]:
        """Apply them in order; what those saw that may have to be invoked once more."""
        runs: dict[rounds.Key, JSON] = {}
        engine = self.engine
        for judged in invocations:
            policy, saw = judged.policy, self.current
            if self.again and policy.reinvoke and self._saw.get(rounds.key(judged)) is saw:
                continue  # It would see what it saw, and do nothing.
            deadline = engine.deadline_of(policy) if policy.timeout_ns else engine.deadline
            try:
                invoked = self._guarded(judged, deadline)
            except Unanswered as unknown:
                invoked = yield from self._answered(judged, deadline, unknown)
            if invoked and policy.reinvoke:
                runs[rounds.key(judged)] = saw
        return runs

    def _answered(
        self, judged: Judged, deadline: int, unknown: Unanswered
    ) -> Generator[Wait, None, bool | None]:
        """One invocation once its questions are answered; one asked again in vain is an error."""
        while True:
            question = unknown.question
            yield Wait(frozenset((question,)), answer_by(deadline))
            if question in self.engine.pending:
                break
            try:
                return self._guarded(judged, deadline)
            except Unanswered as another:
                if another.question == question:
                    break
                unknown = another
        self.engine.failed(judged.policy, judged.binding, str(unknown))
        return None

    def patch(self) -> list[JSONObject]:
        """The one patch from the object that was sent to what became of it."""
        if len(self.writers) == 1:
            return self._latest
        return diff(self.engine.request.object, self.current, self._keys)

    def _guarded(self, judged: Judged, deadline: int) -> bool | None:
        """One invocation; one that does not come to its end leaves the tree as it was."""
        before, run = self.current, None
        try:
            run = self.engine.guarded(judged.policy, self._invoke, judged, deadline)
        finally:
            if run is None and self.current is not before:
                self.current = before
                self._subjects.clear()
        return run

    def _invoke(self, judged: Judged, deadline: int) -> bool:
        """One invocation; False if its matchConditions did not hold."""
        policy, before = judged.policy, self.current
        passed_over = self.passed_over(judged)
        if policy.mutation is None:
            return False
        if judged.hit.mismatch and not passed_over:
            text = f"failed to convert object version: {judged.hit.mismatch}"
            self.engine.failed(policy, judged.binding, text)
            return False
        subject = self._subject(judged)
        matched = policy.mutation.matches(subject, judged.param, deadline)
        if matched is not True:
            if matched is not False:
                self.engine.failed(policy, judged.binding, matched)
            return False
        if passed_over:
            return False
        self._changes, self._failures = 0, []
        for mutation in policy.mutations:
            if self._changes:
                subject = self._subject(judged)
            self._mutate(judged, mutation, subject, deadline)
        for failure in self._failures:
            self.engine.failed(policy, judged.binding, failure)
        if not self._failures:
            policy.counters.count(_ADMIT)
        if self.current is not before:
            self._note(policy, before)
        return True

    def _mutate(self, judged: Judged, mutation: Mutation, subject: Subject, deadline: int) -> None:
        """Apply one mutation to the current tree, which the policy sees as ``subject``; a failure
        leaves the tree as it was.
        """
        policy, before = judged.policy, self.current
        target = subject.object
        if policy.mutation is None or not isinstance(target, dict) or not isinstance(before, dict):
            return
        try:
            after, error = self._applied(policy.mutation, judged, mutation, subject, deadline)
        except MutationError as failure:
            after, error = target, str(failure)
        if error is not None:
            self._failures.append(error)
            return
        if after is target:
            return
        if judged.as_pod:
            self._accept(with_pod(before, target, after))
        else:
            self._accept(_in_version_of(before, after))

    def _applied(
        self,
        plan: MutationPlan,
        judged: Judged,
        mutation: Mutation,
        subject: Subject,
        deadline: int,
    ) -> tuple[JSONObject, str | Stopped | None]:
        """What one mutation makes of the object that its policy sees, and its error."""
        target, seen = self._target(judged), subject.object
        if mutation.overlay is not None:
            bound = mutation.overlay.bound(target)
            after, error = plan.merge(bound, subject, judged.param, deadline)
            if error is not None or after is seen:
                return seen, error
            return converted(after, seen, target), None
        value, error = plan.evaluate(mutation.index, subject, judged.param, deadline)
        if error is not None or mutation.mutator is None:
            return seen, error
        sources = (
            seen,
            subject.old_object,
            subject.request,
            _namespace_seen(plan, subject),
            judged.param,
        )
        return mutation.mutator.apply(value, seen, target, sources), None

    def _target(self, judged: Judged) -> Target:
        """The kind that the policy's mutations work on."""
        kind = ("", "v1", "Pod") if judged.as_pod else judged.hit.kind
        target = self._targets.get(kind)
        if target is None:
            target = self._targets[kind] = self.engine.policies.schemas.target(kind)
        return target

    def _subject(self, judged: Judged) -> Subject:
        """What the policy sees of the tree as it is now."""
        if self.current is self.engine.object:
            return judged.subject
        subject = self._subjects.get(judged.subject)
        if subject is None:
            seen = self.engine.subjects.seen(self.current, judged.hit, judged.as_pod)
            subject = self._subjects[judged.subject] = judged.subject.seeing(seen)
        return subject

    def _accept(self, changed: JSONObject) -> None:
        """Take the changed tree, if the change can be sent as a patch."""
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
        """What is wrong with the patch of a change: it, or with it that of the whole request."""
        size = patch_bytes(operations, MAX_PATCH_BYTES)
        self._bytes += size
        if self._bytes > MAX_PATCH_BYTES >= size:
            # What former mutations wrote may be gone by now.
            operations = diff(self.engine.request.object, changed, self._keys)
            self._bytes = size = patch_bytes(operations, MAX_PATCH_BYTES)
        return TOO_LARGE if size > MAX_PATCH_BYTES else None

    def _note(self, policy: CompiledPolicy, before: JSON) -> None:
        """Count the operations of an invocation, and tell what another policy had written."""
        recorder = self.engine.recorder
        # Of several mutations of one policy, only all together tell what it changed.
        once = self._changes == 1
        operations = self._operations if once else diff(before, self.current, self._keys)
        self._latest = operations
        self.writers.append(policy)
        recorder.patch_operations(policy.name, len(operations))
        conflict = self._conflicts.add(policy.name, operations, before, self.current)
        if conflict is not None:
            recorder.mutation_conflict(policy.name)
            recorder.happened(
                "conflict",
                self.engine.request,
                policy=policy.name,
                generation=self.engine.policies.generation,
                message=conflict.text,
            )


def run(
    engine: Engine, matches: list[Matched], grow: Callable[[Engine], Tree] = Tree
) -> AdmissionResponse:
    """Mutate and answer, without waiting for an authorizer. ``grow`` makes the tree."""
    work = steps(engine, matches, grow)
    while True:
        try:
            next(work)
        except StopIteration as done:
            response: AdmissionResponse = done.value
            return response


def steps(
    engine: Engine, matches: list[Matched], grow: Callable[[Engine], Tree] = Tree
) -> Generator[Wait, None, AdmissionResponse]:
    """Mutate and answer; yields where the authorizer has to answer first.

    No patch for DELETE and CONNECT, whose objects cannot be changed.
    """
    request, generation = engine.request, engine.policies.generation
    started, waited = perf_counter_ns(), engine.waited_ns
    if request.operation in ("DELETE", "CONNECT") or request.object is None:
        return respond(request, engine.verdict, generation)
    tree = grow(engine)
    try:
        yield from tree.mutate(matches)
    except StatusError as error:
        return refused(request, error, generation)
    evaluated = perf_counter_ns()
    engine.recorder.phase("evaluate", evaluated - started - (engine.waited_ns - waited))
    patch = _patch(engine, tree) if tree.current is not request.object else None
    engine.recorder.phase("patch", perf_counter_ns() - evaluated)
    return respond(request, engine.verdict, generation, patch)


def _patch(engine: Engine, tree: Tree) -> bytes | None:
    """The patch as JSON, tried on the object before it is sent."""
    operations = tree.patch()
    if not equal(apply(operations, engine.request.object), tree.current):
        error = InternalError(f"the patch of request {engine.request.uid} does not replay")
        for policy in tree.writers:
            engine.broken(policy, error)
        return None
    return orjson.dumps(operations) if operations else None


def _namespace_seen(plan: MutationPlan, subject: Subject) -> JSON:
    """The namespace that an expression could read; asked for again, it is the one that was seen."""
    found = subject.namespace_object
    if callable(found):
        found = found() if plan.frame.sees_namespace else None
    return found


def _in_version_of(before: JSONObject, after: JSONObject) -> JSONObject:
    """``after`` in the version that was sent, where the policy saw the object in another one."""
    if after.get("apiVersion") == before.get("apiVersion"):
        return after
    return {**after, "apiVersion": before.get("apiVersion")}
