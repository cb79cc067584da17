"""One review, with all that was looked at on the way: for people who ask why a policy did act, or
did not. The usual engine judges, over policies whose programs are traced; the answer is that of
the usual policies, and an explanation that comes to another one is an error of ours.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from policyd._core.eval.tracing import Tracer
from policyd._core.patch.apply import apply, diff
from policyd._core.plan.mutation import MutationPlan
from policyd._core.plan.plan import Subject
from policyd.admission import engine, mutating
from policyd.admission.authorizer import Authorizer
from policyd.admission.decision import Finding, respond
from policyd.admission.engine import Engine, Judged, Matched, Webhook
from policyd.admission.mutating import Tree
from policyd.admission.recorder import NullRecorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode, to_dict
from policyd.admission.subject import Subjects
from policyd.admission.waiting import resume
from policyd.cel.trace.steps import steps
from policyd.errors import InternalError, MutationError, StatusError
from policyd.json_types import JSON, JSONObject
from policyd.offline.matching import Reason, why
from policyd.offline.stories import BOTH, Applied, PolicyStory, Visit, WebhookStory
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import Binding, CompiledPolicy, Mutation
from policyd.policy.compile.policy_set import PolicySet
from policyd.policy.kinds.controllers import CONTROLLERS, controller_constraints
from policyd.policy.model.labels import labels_of
from policyd.policy.source.documents import Document, Sources


class Explainer:
    """Policies, ready to be asked about. Raises PolicyError with all that is wrong with them."""

    def __init__(self, sources: Sources) -> None:
        self._documents = {
            (each.kind, each.name): each for each in sources.documents if each.is_policy
        }
        self._tracer = Tracer()
        self._plain = compiler.compile_strict(sources)
        self._traced = compiler.compile_sources(sources, tracer=self._tracer)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions."""
        return tuple(policy.name for policy in self._plain.policies)

    def knowing(self, namespace: JSONObject) -> "Explainer":
        """The same with one more Namespace object."""
        made = copy(self)
        made._plain = self._plain.with_namespace(namespace)
        made._traced = self._traced.with_namespace(namespace)
        return made

    def explain(
        self,
        review: Mapping[str, JSON] | bytes,
        webhooks: Iterable[Webhook] = BOTH,
        authorizer: Authorizer | None = None,
    ) -> list[WebhookStory]:
        """The stories of the webhooks, called one after the other as the API server does: what the
        mutating one makes of the object is what the validating one sees. A denial is the last.

        Raises ReviewError.
        """
        request = decode(review if isinstance(review, bytes) else dict(review))
        stories: list[WebhookStory] = []
        for webhook in webhooks:
            story = self._explain(request, webhook, authorizer)
            stories.append(story)
            if not story.response["allowed"]:
                break
            request = AdmissionRequest({**request.raw, "object": story.after}, request.unreadable)
        return stories

    def _explain(
        self, request: AdmissionRequest, webhook: Webhook, authorizer: Authorizer | None
    ) -> WebhookStory:
        response = engine.review(self._plain, request, webhook=webhook, authorizer=authorizer)
        subjects = Subjects(request, self._traced.namespaces, authorizer)
        watching = _Watching(self._traced, subjects, webhook, self._tracer)
        if watching.run() != response:
            raise InternalError(f"the explanation of request {request.uid} is not what is answered")
        answer: JSONObject = to_dict(response)["response"]
        policies = tuple(_stories(watching, self._documents))
        after = _patched(request.object, answer)
        return WebhookStory(webhook, answer, policies, request.object, after)


def _patched(obj: JSON, answer: JSONObject) -> JSON:
    patch = answer.get("patch")
    return obj if patch is None else apply(orjson.loads(b64decode(patch)), obj)


@dataclass(slots=True)
class _Notes:
    """What was seen of one policy so far."""

    visits: list[Visit] = field(default_factory=list)
    bindings: list[tuple[str, Reason]] = field(default_factory=list)
    params: list[tuple[str, int]] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    told: list[Finding] = field(default_factory=list)


class _Watching(Engine):
    """The engine, which notes what it does. It decides nothing of its own."""

    def __init__(
        self, policies: PolicySet, subjects: Subjects, webhook: Webhook, tracer: Tracer
    ) -> None:
        super().__init__(policies, subjects, webhook, 0, NullRecorder())
        self.tracer = tracer
        self.notes: dict[tuple[str, str], _Notes] = {}
        self.matched: dict[tuple[str, str], Matched] = {}
        self._told: list[Finding] = []
        # How the request was when policies were matched first, and whether they were once more.
        self.sent = self.view
        self.templates = frozenset[tuple[str, str]]()
        self._again = False

    def run(self) -> AdmissionResponse:
        """Judge the request."""
        matches = self.matches(None)
        self.matched = {policy.sort_key: (policy, hit) for policy, hit in matches}
        self.templates = frozenset(self._by_template)
        if self.webhook == "mutate":
            response = mutating.run(self, matches, _WatchingTree)
            self._leftover()
            return response
        for policy, hit in matches:
            work = partial(self.validate_each, policy, self.judged((policy, hit)))
            self.guarded(policy, work)
        while self.waiting:
            resume(self)
        self._leftover()
        return respond(self.request, self.verdict, self.policies.generation)

    def match_anew(self, changed: JSON) -> list[Matched]:
        self._again = True
        return super().match_anew(changed)

    def _leftover(self) -> None:
        """What was told where no visit noted it: defects of ours."""
        for finding in self._collect()[1]:
            self.of(finding.policy).told.append(finding)

    def of(self, policy: CompiledPolicy) -> _Notes:
        """The notes on a policy."""
        return self.notes.setdefault(policy.sort_key, _Notes())

    def judged(self, match: Matched) -> Iterator[Judged]:
        policy, _ = match
        notes = self.of(policy)
        self._collect()
        for judged in super().judged(match):
            notes.told += self._collect()[1]
            yield judged
            if self.webhook == "validate":
                notes.visits.append(self.visit(judged))
        notes.told += self._collect()[1]

    def visit(self, judged: Judged) -> Visit:
        """What was seen since the last call, as a visit."""
        records, told = self._collect()
        counted = [each for each in told if each in self.verdict.findings]
        return Visit(
            binding=judged.binding.name,
            actions=judged.binding.actions,
            param=judged.param,
            as_pod=judged.as_pod,
            lifted=judged.exempt,
            validates=self.webhook == "validate",
            expressions=tuple(map(steps, records)),
            findings=tuple(counted),
            ignored=tuple(each for each in told if each not in counted),
        )

    def _collect(self) -> tuple[list[Any], list[Finding]]:
        """The evaluations and findings since the last call."""
        told, self._told = self._told, []
        return self.tracer.take(), told

    def _tell(self, finding: Finding) -> None:
        self._told.append(finding)

    def _bound(self, policy: CompiledPolicy, binding: Binding) -> bool:
        bound = super()._bound(policy, binding)
        if not self._again:
            self.of(policy).bindings.append((binding.name, Reason(bound, "")))
        return bound

    def _params(self, policy: CompiledPolicy, binding: Binding) -> Iterator[JSON]:
        found = list(super()._params(policy, binding))
        asked = policy.param_kind is not None and binding.param_ref is not None
        if asked and not self._again:
            self.of(policy).params.append((binding.name, len(found)))
        return iter(found)

    def _exempt(self, policy: CompiledPolicy, subject: Subject) -> frozenset[int] | None:
        request = self.request
        labels = labels_of(subject.object if subject.object is not None else subject.old_object)
        who = (request.operation, request.namespace, request.name, request.user_info)
        texts = {key: str(value) for key, value in labels.items()}
        names = [each.name for each in policy.exemptions if each.applies(*who, texts)]
        self.of(policy).exceptions += names
        return super()._exempt(policy, subject)


class _WatchingTree(Tree):
    """The tree that is mutated, which notes what each mutation does to it."""

    engine: _Watching

    at_once = False

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._done: list[Applied] = []

    def _invoke(self, judged: Judged, deadline: int) -> Any:
        self._done = []
        refused = ""
        try:
            return super()._invoke(judged, deadline)
        except StatusError as error:
            refused = str(error)
            raise
        finally:
            visit = self.engine.visit(judged)
            done = tuple(self._done)
            visit = replace(visit, mutations=done, again=self.again, refused=refused)
            if visit.findings or not self.passed_over(judged):
                self.engine.of(judged.policy).visits.append(visit)

    def _applied(
        self, plan: MutationPlan, judged: Judged, mutation: Mutation, *others: Any
    ) -> tuple[JSONObject, Any]:
        number = next(i for i, each in enumerate(judged.policy.mutations) if each is mutation)
        kind = "Overlay" if mutation.mutator is None else type(mutation.mutator).__name__
        before = others[0].object
        try:
            after, error = super()._applied(plan, judged, mutation, *others)
        except (MutationError, StatusError) as failure:
            self._done.append(Applied(number, kind, error=str(failure)))
            raise
        text = "" if error is None else str(error)
        self._done.append(Applied(number, kind, tuple(diff(before, after, None)), text))
        return after, error


def _stories(
    watching: _Watching, documents: Mapping[tuple[str, str], Document]
) -> Iterator[PolicyStory]:
    """The story of each policy of the webhook, in the order of decisions."""
    for policy in watching.policies.policies:
        acts = policy.mutation if watching.webhook == "mutate" else policy.validation
        if acts is None and not policy.problem:
            continue
        document = documents[policy.kind, policy.name]
        notes = watching.notes.get(policy.sort_key, _Notes())
        asked = tuple(
            (name, _bound_reason(documents.get((f"{policy.kind}Binding", name)), reason, watching))
            for name, reason in notes.bindings
        )
        told = notes.told
        yield PolicyStory(
            policy=policy,
            document=document,
            matched=policy.sort_key in watching.matched,
            reason=_reason(document, watching),
            controllers=_controllers(policy, document, watching),
            exceptions=tuple(dict.fromkeys(notes.exceptions)),
            bindings=asked,
            params=tuple(notes.params),
            visits=tuple(notes.visits),
            findings=tuple(each for each in told if each in watching.verdict.findings),
            ignored=tuple(each for each in told if each not in watching.verdict.findings),
        )


def _reason(document: Document, watching: _Watching) -> Reason:
    constraints = document.match_constraints
    return why({} if constraints is None else constraints.plain(), watching.sent)


def _bound_reason(document: Document | None, reason: Reason, watching: _Watching) -> Reason:
    """Why a binding's own rules fit or not; one without rules always fits."""
    spec = document.raw.get("spec") if document is not None else None
    rules = spec.get("matchResources") if isinstance(spec, dict) else None
    if not isinstance(rules, dict):
        return Reason(reason.applies, "has no matchResources of its own")
    found = why(rules, watching.sent)
    return found if found.applies == reason.applies else replace(found, applies=reason.applies)


def _controllers(policy: CompiledPolicy, document: Document, watching: _Watching) -> Reason | None:
    """Why the policy judges a controller's template, or not; None where that is no question."""
    request = watching.request
    if policy.controllers is None or request.resource[2] not in CONTROLLERS:
        return None
    pod = watching.subjects.pod(request.object)
    if pod is None or request.sub_resource:
        return Reason(False, "podControllers: the object has no Pod template")
    if policy.sort_key in watching.templates:
        return Reason(True, "podControllers: the template is checked as the Pod of the controller")
    constraints = document.match_constraints
    given = {} if constraints is None else constraints.plain()
    old = watching.subjects.pod(request.old_object)
    view = watching.policies.view(request.raw, pod, old)
    derived = controller_constraints(given)
    return replace(why(derived, view), applies=False)
