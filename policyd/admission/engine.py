"""One request against one PolicySet: match, evaluate, mutate, decide. Synchronous, and no I/O:
whoever can wait for an authorizer is in ``asking.py``.

A request that cannot be judged follows the policy's failurePolicy; nothing here admits by accident.
"""

import logging
from collections.abc import Callable, Container, Iterator
from time import perf_counter_ns
from typing import Literal, NamedTuple, TypeVar, TypeVarTuple

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Stopped, Subject, TimedOut
from policyd._core.plan.validation import ValidationOutcome
from policyd._core.values.errors import CelError
from policyd.admission import mutating
from policyd.admission.authorizer import Authorizer
from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.decision import Finding, Verdict, respond
from policyd.admission.recorder import NullRecorder, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.admission.waiting import Waiting, answer_by, resume
from policyd.errors import StatusError, Unanswered
from policyd.json_types import JSON
from policyd.policy.compile.compiled import Binding, CompiledPolicy
from policyd.policy.compile.params import ParamError, without_type
from policyd.policy.compile.policy_set import AGAIN, PolicySet
from policyd.policy.kinds.controllers import CONTROLLERS
from policyd.policy.model.labels import labels_of
from policyd.texts import bounded

Webhook = Literal["validate", "mutate"]
Only = Callable[[CompiledPolicy], bool]
Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
Matched = tuple[CompiledPolicy, Hit]
_log = logging.getLogger("policyd.engine")
_ADMIT, _DENY, _WARN, _AUDIT, _ERROR, _TIMEOUT = range(6)
_NOTHING: frozenset[int] = frozenset()


class Judged(NamedTuple):
    """One policy under one binding and parameter; ``exempt`` are the validations lifted for it."""

    policy: CompiledPolicy
    binding: Binding
    param: JSON
    subject: Subject
    hit: Hit
    as_pod: bool
    exempt: frozenset[int] = _NOTHING


class Engine:
    """What one review needs on its way; made anew for each request."""

    def __init__(
        self,
        policies: PolicySet,
        subjects: Subjects,
        webhook: Webhook,
        deadline: int,
        recorder: Recorder,
    ) -> None:
        self.policies = policies
        self.subjects = subjects
        self.request = subjects.request
        self.object: JSON = subjects.request.object  # as it was when policies were matched
        self.webhook = webhook
        self.deadline = deadline
        self.recorder = recorder
        self.verdict = Verdict()
        self.view = policies.view(self.request.raw)
        self._by_template: set[tuple[str, str]] = set()
        self._only: Only | None = None
        self._found: list[Matched] = []
        self.waiting: tuple[Waiting, ...] = ()
        self.pending: Container[object] = ()  # told by who waits: what has no answer yet
        self.waited_ns = 0

    def matches(self, only: Only | None) -> list[Matched]:
        """The policies that the request concerns, in the order of decisions."""
        self._only = only
        self._found = self._matches(self.webhook)
        return self._found

    def match_anew(self, changed: JSON) -> list[Matched]:
        """Those of the policies with a part in a second round that concern the changed object; from
        now on policies see it so.
        """
        self.object, self.subjects = changed, self.subjects.showing(changed)
        if self.policies.steady and self.request.resource[2] not in CONTROLLERS:
            return self._found
        self.view = self.policies.view(self.request.raw, changed)
        self._by_template = set()
        return self._matches(AGAIN)

    def _matches(self, index: str) -> list[Matched]:
        request, only = self.request, self._only
        found = self.policies.match(self.view, index)
        if request.resource[2] in CONTROLLERS and not request.sub_resource:
            found = self._with_controllers(found, index)
        return found if only is None else [match for match in found if only(match[0])]

    def _with_controllers(self, found: list[Matched], index: str) -> list[Matched]:
        """``found`` and the policies that judge the template; such a one sees the Pod only."""
        pod = self.subjects.pod(self.object)
        if pod is None:
            return found
        view = self.policies.view(self.request.raw, pod, self.subjects.pod(self.request.old_object))
        as_pods = self.policies.match_controllers(view, index)
        if as_pods:
            self._by_template = {policy.sort_key for policy, _ in as_pods}
            found = [match for match in found if match[0].sort_key not in self._by_template]
            found += as_pods
            found.sort(key=lambda match: match[0].sort_key)
        return found

    def as_pod(self, policy: CompiledPolicy) -> bool:
        """Whether the policy judges the Pod that the object's template will become."""
        return bool(self._by_template) and policy.sort_key in self._by_template

    def validate(self, matches: list[Matched]) -> None:
        """Run the validations of every matched policy and note what they find."""
        deadline, usual = self.deadline, not self._by_template
        seen, subject = None, None
        for match in matches:
            policy, hit = match
            try:
                plan = policy.validation
                if not (usual and policy.simple) or plan is None or hit.error:
                    self.validate_each(policy, self.judged(match))
                    continue
                # The usual case, short: one binding that adds nothing, and no params to find.
                if subject is None or hit is not seen:
                    seen, subject = hit, self.subjects.subject(hit, False)
                outcome = plan.run(subject, policy.params, deadline, _NOTHING)
                if outcome is not None:
                    self._note(policy, policy.bindings[0], outcome)
            except Unanswered:
                self.guarded(policy, self.validate_each, policy, self.judged(match))
            except Exception as error:
                self.broken(policy, error)

    def validate_each(
        self,
        policy: CompiledPolicy,
        each: Iterator[Judged],
        asked: object = None,
        deadline: int = 0,
    ) -> None:
        """Validate in their order: where one must wait for the authorizer, so must those after it.

        ``asked`` is what the first one waited for; if it is not known yet, that is an error.
        ``deadline`` is what it had, as waiting takes of its time.
        """
        for judged in each:
            if policy.validation is None:
                continue
            deadline = deadline or self.deadline_of(policy)
            try:
                outcome = policy.validation.run(
                    judged.subject, judged.param, deadline, judged.exempt
                )
            except Unanswered as unknown:
                if unknown.question != asked:
                    by = answer_by(deadline)
                    self.waiting += (Waiting(policy, judged, each, unknown, deadline, by),)
                    return
                self.failed(policy, judged.binding, str(unknown))
                outcome = None
            if outcome is not None:
                self._note(policy, judged.binding, outcome)
            asked, deadline = None, 0

    def judged(self, match: Matched) -> Iterator[Judged]:
        """A matched policy under each binding and parameter that applies; configuration errors are
        noted.
        """
        policy, hit = match
        plain = policy.plain and not hit.error
        if not plain and not self._usable(policy, hit):
            return
        as_pod = self.as_pod(policy)
        subject, exempt = self.subjects.subject(hit, as_pod), _NOTHING
        if plain:
            yield Judged(policy, policy.bindings[0], policy.params, subject, hit, as_pod)
            return
        if policy.exemptions:
            lifted = self._exempt(policy, subject)
            if lifted is None:
                policy.counters.count(_ADMIT)
                return
            exempt = lifted
        for binding in policy.bindings:
            if not self._bound(policy, binding):
                continue
            for param in self._params(policy, binding):
                yield Judged(policy, binding, param, subject, hit, as_pod, exempt)

    def _usable(self, policy: CompiledPolicy, hit: Hit) -> bool:
        """False (and noted) if the policy's configuration cannot be used for this request."""
        problem = policy.problem or hit.error
        if not problem and policy.param_kind is not None and policy.bindings:
            try:
                self.policies.params.kind(policy.param_kind)
            except ParamError as error:
                problem = str(error)
        if problem:
            self.misconfigured(policy, f"failed to configure policy: {problem}", None)
        return not problem

    def _bound(self, policy: CompiledPolicy, binding: Binding) -> bool:
        """Whether the binding's own rules fit the request."""
        if binding.rules is None:
            return True
        hit = binding.rules.match(self.view)
        if hit is not None and hit.error:
            text = f"failed to configure binding: {hit.error}"
            self.misconfigured(policy, text, binding.name)
            return False
        return hit is not None

    def _params(self, policy: CompiledPolicy, binding: Binding) -> Iterator[JSON]:
        """The values of ``params`` under which a binding is judged, in the order of their names."""
        if policy.param_kind is None or binding.param_ref is None:
            yield policy.params
            return
        try:
            kind = self.policies.params.kind(policy.param_kind)
            found = self.policies.params.collect(kind, binding.param_ref, self.request.namespace)
        except ParamError as error:
            self.misconfigured(policy, f"failed to configure binding: {error}", binding.name)
            return
        # A MutatingAdmissionPolicy does not see the type of built-in kinds (measured).
        bare = kind.builtin and policy.kind == "MutatingAdmissionPolicy"
        for param in found:
            yield without_type(param) if bare else param

    def _exempt(self, policy: CompiledPolicy, subject: Subject) -> frozenset[int] | None:
        """Indexes of the validations that exceptions lift; None if they lift the whole policy."""
        request, lifted = self.request, set[int]()
        labels = self._labels(policy, subject)
        for exemption in policy.exemptions:
            if exemption.applies(
                request.operation, request.namespace, request.name, request.user_info, labels
            ):
                self.verdict.exempt(policy.name, exemption.name, exemption.reason)
                if not exemption.validations:
                    return None
                lifted |= exemption.validations
        return frozenset(lifted)

    def _labels(self, policy: CompiledPolicy, subject: Subject) -> dict[str, str] | None:
        """The labels of the object that the policy sees; None if they cannot be read."""
        seen = subject.object if subject.object is not None else subject.old_object
        if self.request.unreadable:  # then its object is an error, but its labels may be known
            sent = self.request.object or self.request.old_object
            seen = self.subjects.pod(sent) if self.as_pod(policy) else sent
        return None if _has_unreadable_labels(seen) else labels_of(seen)

    def deadline_of(self, policy: CompiledPolicy, now: int = 0) -> int:
        """The moment by which the policy must have answered, in perf_counter_ns; 0: none. ``now``
        is when it began (0: at this moment).
        """
        if not policy.timeout_ns:
            return self.deadline
        own = (now or perf_counter_ns()) + policy.timeout_ns
        return min(own, self.deadline) if self.deadline else own

    def misconfigured(self, policy: CompiledPolicy, text: str, binding: str | None) -> None:
        """A configuration error: denies whatever the actions, unless failurePolicy is Ignore."""
        policy.counters.count(_ERROR)
        text = bounded(text)
        if self.webhook == "mutate":
            finding = Finding(policy, binding, text, "Forbidden", code=403, error=True)
        else:
            finding = Finding(policy, binding, text, error=True)
        self._add(finding, policy.fail)

    def failed(self, policy: CompiledPolicy, binding: Binding, error: str | Stopped) -> None:
        """An evaluation error: follows the binding's actions, unless failurePolicy is Ignore."""
        policy.counters.count(_TIMEOUT if isinstance(error, TimedOut) else _ERROR)
        actions, code = (("Deny",), 403) if self.webhook == "mutate" else (binding.actions, 0)
        name = None if policy.kind == "Policy" else binding.name
        text = bounded(str(error))
        finding = Finding(policy, name, text, actions=actions, code=code, error=True)
        self._add(finding, policy.fail)

    def guarded(
        self, policy: CompiledPolicy, work: Callable[[*Arguments], Result], *args: *Arguments
    ) -> Result | None:
        """What ``work`` gives; a defect of ours in it follows the policy's failurePolicy."""
        try:
            return work(*args)
        except (StatusError, Unanswered):
            raise
        except Exception as error:
            self.broken(policy, error)
            return None

    def broken(self, policy: CompiledPolicy, error: Exception) -> None:
        """A defect of ours: logged once, and the policy's failurePolicy decides."""
        if is_confidential(self.request):
            # The traceback's lines are those of the code; the error's text may quote the object.
            told = RuntimeError(f"{type(error).__name__}: {WITHHELD}")
            error = told.with_traceback(error.__traceback__)
        _log.error("policy %s: internal error", policy.name, exc_info=error)
        self.misconfigured(policy, "internal error: see the log of policyd", None)

    def _add(self, finding: Finding, counts: bool) -> None:
        """Note a finding; one that failurePolicy Ignore lets pass is only logged."""
        if counts:
            self.verdict.findings.append(finding)
        self._tell(finding)

    def _tell(self, finding: Finding) -> None:
        what: Literal["denial", "warning", "error"] = "denial"
        if finding.error:
            what = "error"
        elif "Deny" not in finding.actions:
            if "Warn" not in finding.actions:
                return
            what = "warning"
        self.recorder.happened(
            what,
            self.request,
            policy=finding.policy.name,
            generation=self.policies.generation,
            message=finding.message,
        )

    def _note(self, policy: CompiledPolicy, binding: Binding, outcome: ValidationOutcome) -> None:
        name = None if policy.kind == "Policy" else binding.name
        for index, text, reason, error in outcome.failures:
            said = bounded(text)
            self._add(
                Finding(policy, name, said, reason, index, binding.actions, error=error), True
            )
        for text in outcome.annotation_errors:
            self._add(Finding(policy, name, bounded(text), error=True), True)
        for text in outcome.ignored:
            self._tell(Finding(policy, name, bounded(text), error=True))
        for key, value in outcome.annotations:
            self.verdict.annotate(policy.name, key, value)
        policy.counters.count(_decision(outcome, binding.actions))


def review(
    policy_set: PolicySet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int = 0,
    recorder: Recorder | None = None,
    only: Only | None = None,
    authorizer: Authorizer | None = None,
) -> AdmissionResponse:
    """Judge one request. ``deadline`` is a moment of ``perf_counter_ns`` (0: none); ``authorizer``
    answers what expressions ask of theirs (None: such a check is an error).

    Whatever goes wrong inside a policy, a defect of ours included, follows its failurePolicy.
    """
    started = perf_counter_ns()
    subjects = Subjects(request, policy_set.namespaces, authorizer)
    engine = Engine(policy_set, subjects, webhook, deadline, recorder or NullRecorder())
    matches = engine.matches(only)
    engine.recorder.phase("match", perf_counter_ns() - started)
    return judge(engine, matches)


def judge(engine: Engine, matches: list[Matched]) -> AdmissionResponse:
    """What is answered by these policies; the engine's verdict can be looked at afterwards."""
    started = perf_counter_ns()
    if engine.webhook == "mutate":
        return mutating.run(engine, matches)
    engine.validate(matches)
    while engine.waiting:  # in vain: nobody fetches the answers here
        resume(engine)
    engine.recorder.phase("evaluate", perf_counter_ns() - started)
    return respond(engine.request, engine.verdict, engine.policies.generation)


def _decision(outcome: ValidationOutcome, actions: tuple[str, ...]) -> int:
    if outcome.timed_out:
        return _TIMEOUT
    if outcome.annotation_errors or outcome.ignored or any(f[3] for f in outcome.failures):
        return _ERROR
    if not outcome.failures:
        return _ADMIT
    if "Deny" in actions:
        return _DENY
    return _WARN if "Warn" in actions else _AUDIT


def _has_unreadable_labels(obj: JSON) -> bool:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("labels"), CelError)
