"""The policies that a suite tests, in the form that the suite runner takes. Runs no cases."""

from collections.abc import Iterable

from policyd.admission import engine
from policyd.admission.authorizer import Authorizer, StaticAuthorizer
from policyd.admission.review import AdmissionRequest, AdmissionResponse, to_dict
from policyd.json_types import JSONObject
from policyd.offline.admitting import WebhookAnswer, in_turn
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.kinds import PolicyTest
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.policy.source.documents import Document, Sources
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.runner import Admit


class SuitePolicies:
    """Compiled policies that respond to the requests of cases."""

    def __init__(self, compiled: CompiledPolicySet, authorizer: Authorizer | None = None) -> None:
        self._compiled = compiled
        self._authorizer = authorizer

    @classmethod
    def of(cls, suite: Document, whole: CompiledPolicySet) -> "SuitePolicies":
        """Return the policies that a PolicyTest document names, or the ``whole`` set, with the
        suite's ``authorizer``. Raises PolicyError for named policies that cannot be used.
        """
        compiled = whole
        if not isinstance(suite.model, PolicyTest):
            return cls(whole)
        named = loader.named_policies(suite)
        if named is not None:
            compiled = compiler.compile_strict(loader.load(named, version=whole.version))
        return cls(compiled, suite_authorizer(suite))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions."""
        return tuple(policy.name for policy in self._compiled.policies)

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        """Return the response of one webhook."""
        return engine.review(self._compiled, request, webhook=webhook, authorizer=self._authorizer)

    def admit(self, review: JSONObject, webhooks: tuple[Webhook, ...]) -> CaseAnswer:
        """Return the combined response of the webhooks, called in order; raises ReviewError."""
        return together(in_turn(review, webhooks, self.call))

    def knowing(self, namespace: JSONObject) -> "SuitePolicies":
        """Return the same policies with one more Namespace object."""
        return SuitePolicies(self._compiled.with_namespace(namespace), self._authorizer)

    def admitting_in(self, namespace: JSONObject) -> Admit:
        """Return ``admit`` of the same policies with one more Namespace object."""
        return self.knowing(namespace).admit


def together(answers: Iterable[WebhookAnswer]) -> CaseAnswer:
    """Combine the responses of the webhooks into the form that a case of a suite checks."""
    warnings: list[str] = []
    annotations: dict[str, str] = {}
    patch: list[JSONObject] = []
    response: AdmissionResponse | None = None
    after = None
    for each in answers:
        response, after = each.response, each.after
        warnings += response.warnings
        annotations |= response.audit_annotations
        patch += each.operations
    shown = {"allowed": True} if response is None else to_dict(response)["response"]
    return CaseAnswer(shown, tuple(warnings), annotations, patch, after)


def suite_authorizer(suite: Document) -> Authorizer | None:
    """Return the authorizer for a suite's cases, from the rules in the suite itself."""
    rules = suite.model.authorizer if isinstance(suite.model, PolicyTest) else None
    return None if rules is None else StaticAuthorizer(rules)


def suite_sources(suite: Document, whole: Sources) -> Sources:
    """Return the documents of the policies that a suite tests: the named ones, or all."""
    named = loader.named_policies(suite)
    return whole if named is None else loader.require(loader.load(named, version=whole.version))
