"""Explain how policies decided one review: why each policy applied or did not. The usual engine
evaluates policies with traced programs; untraced policies give the response, and a different
response from the traced ones is a bug in policyd.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from policyd._core.match.matcher import MatchInput
from policyd.admission.applicable import LookupSources
from policyd.admission.engine import review
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.recorded_reads import SeenRead, SeenReads
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, to_dict
from policyd.defaulting.defaults import Defaults
from policyd.errors import InternalError
from policyd.json_types import JSON, JSONObject, object_in
from policyd.offline.admitting import BOTH, WebhookAnswer, in_turn
from policyd.offline.matching import MatchReason, why
from policyd.offline.observing import Notes
from policyd.offline.stories import PolicyStory, WebhookStory
from policyd.offline.tracing import TracedPolicies
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.kinds.controllers import CONTROLLERS, controller_constraints
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document, Sources

_Documents = Mapping[tuple[str, str], Document]
_PODS_ONLY = "podControllers is not set: it checks the Pods, not the template"


@dataclass(frozen=True, slots=True)
class Explainer:
    """Policies that can be explained."""

    policies: CompiledPolicySet
    documents: _Documents
    traced: TracedPolicies

    @classmethod
    def of_sources(cls, sources: Sources) -> "Explainer":
        """Return the policies of these sources. Raises PolicyError with every problem of them."""
        documents = {(each.kind, each.name): each for each in sources.documents if each.is_policy}
        plain = compiler.compile_strict(sources)
        return cls(plain, documents, TracedPolicies.of_sources(sources))

    def knowing(self, *namespaces: JSONObject) -> "Explainer":
        """Return a copy with more Namespace objects."""
        return self.changed(lambda policies: policies.with_namespaces(namespaces))

    def changed(self, change: Callable[[CompiledPolicySet], CompiledPolicySet]) -> "Explainer":
        """Return the same policies with other namespaces, params or definitions."""
        return Explainer(change(self.policies), self.documents, self.traced.changed(change))

    def explain(
        self,
        review: Mapping[str, JSON] | bytes,
        webhooks: Iterable[Webhook] = BOTH,
        authorizer: Authorizer | None = None,
        *,
        defaults: Defaults | None = None,
        built: bool = True,
    ) -> list[WebhookStory]:
        """Return the stories of the webhooks, called one after another as by the API server:
        validation sees the object that mutation returned, and a denial ends the sequence.
        ``defaults`` and ``built`` are the same as in ``Turns``.

        Raises ReviewError.
        """
        return [
            story
            for _, story in self.explained(
                review, webhooks, authorizer, defaults=defaults, built=built
            )
        ]

    def explained(
        self,
        review: Mapping[str, JSON] | bytes,
        webhooks: Iterable[Webhook],
        authorizer: Authorizer | None,
        *,
        recorder: Recorder | None = None,
        defaults: Defaults | None = None,
        built: bool = True,
    ) -> Iterator[tuple[WebhookAnswer, WebhookStory]]:
        """Like ``explain``, but with the response of each webhook; ``recorder`` gets the events."""
        policies: list[tuple[PolicyStory, ...]] = []

        def call(request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
            response, stories = self._explained(request, webhook, authorizer, recorder)
            policies.append(stories)
            return response

        for each in in_turn(review, tuple(webhooks), call, defaults, built=built):
            response = to_dict(each.response)["response"]
            yield (
                each,
                WebhookStory(each.webhook, response, policies[-1], each.before, each.after),
            )

    def _explained(
        self,
        request: AdmissionRequest,
        webhook: Webhook,
        authorizer: Authorizer | None,
        recorder: Recorder | None,
    ) -> tuple[AdmissionResponse, tuple[PolicyStory, ...]]:
        """Return the response of one webhook, and the story of each policy."""
        noted = SeenReads()
        response = review(
            self.policies,
            request,
            webhook=webhook,
            authorizer=authorizer,
            recorder=recorder,
            noted=noted,
        )
        traced = self.traced.of(request, webhook, LookupSources(authorizer))
        applicable = traced.applicable
        sent = _Sent(
            self.traced.policies,
            request,
            webhook,
            applicable.view,
            applicable.pod_view(request.object),
            frozenset(policy.sort_key for policy, _ in traced.matches),
            applicable.by_template,
            noted.seen,
        )
        again, notes = traced.run()
        if again != response:
            raise InternalError(f"the explanation of request {request.uid} is not what is answered")
        return response, tuple(_stories(sent, notes, self.documents))


class _Sent(NamedTuple):
    """The request when policies were first matched. ``pod_view`` is the request with the Pod of its
    template as its object. ``matched`` are the matching policies, some of which see only the
    template. ``reads`` has the other objects that policies saw.
    """

    policies: CompiledPolicySet
    request: AdmissionRequest
    webhook: Webhook
    view: MatchInput
    pod_view: MatchInput | None
    matched: frozenset[tuple[str, str]]
    by_template: frozenset[tuple[str, str]]
    reads: Mapping[CompiledRead, SeenRead]


def _stories(
    sent: _Sent, notes: Mapping[tuple[str, str], Notes], documents: _Documents
) -> Iterator[PolicyStory]:
    """Yield the story of each policy of the webhook, in the order of decisions."""
    for policy in sent.policies.policies:
        acts = policy.mutation if sent.webhook == "mutate" else policy.validation
        if acts is None and not policy.problem:
            continue
        document = documents[policy.kind, policy.name]
        seen = notes.get(policy.sort_key, Notes())
        bindings = tuple(
            (name, _binding_reason(documents.get((f"{policy.kind}Binding", name)), fits, sent))
            for name, fits in seen.bindings
        )
        yield PolicyStory(
            policy=policy,
            document=document,
            matched=policy.sort_key in sent.matched,
            reason=why(_constraints(document), sent.view),
            controllers=_controllers(policy, document, sent),
            exceptions=tuple(dict.fromkeys(seen.exceptions)),
            stage=seen.stage,
            bindings=bindings,
            params=tuple(seen.params),
            visits=tuple(seen.visits),
            findings=tuple(seen.findings),
            ignored=tuple(seen.ignored),
            reads={
                read: sent.reads[read]
                for read in policy.reads
                if seen.visits and read in sent.reads
            },
        )


def _constraints(document: Document) -> JSONObject:
    constraints = document.match_constraints
    return {} if constraints is None else constraints.plain()


def _binding_reason(document: Document | None, fits: bool, sent: _Sent) -> MatchReason:
    """Return why a binding's own match rules match or not; without rules a binding always
    matches.
    """
    spec = {} if document is None else object_in(document.raw, "spec")
    rules = spec.get("matchResources")
    if not isinstance(rules, dict):
        return MatchReason(fits, "has no matchResources of its own")
    return replace(why(rules, sent.view), applies=fits)


def _controllers(policy: CompiledPolicy, document: Document, sent: _Sent) -> MatchReason | None:
    """Return why the policy checks a controller's template, or not; None if not applicable."""
    request = sent.request
    if request.resource[2] not in CONTROLLERS:
        return None
    constraints = _constraints(document)
    derived = controller_constraints(constraints)
    if policy.controllers is None:
        misses = (
            document.kind == "Policy"
            and derived["resourceRules"]
            and sent.pod_view is not None
            and not request.sub_resource
            and why(derived, sent.pod_view).applies
            and not why(constraints, sent.view).applies
        )
        return MatchReason(False, _PODS_ONLY) if misses else None
    if sent.pod_view is None or request.sub_resource:
        return MatchReason(False, "podControllers: the object has no Pod template")
    if policy.sort_key in sent.by_template:
        return MatchReason(
            True, "podControllers: the template is checked as the Pod of the controller"
        )
    return replace(why(derived, sent.pod_view), applies=False)
