"""The policies that a suite tests, in the form its runner takes them. Runs no cases."""

from collections.abc import Callable, Mapping

from policyd.admission import engine
from policyd.admission.authorizer import Authorizer, StaticAuthorizer
from policyd.admission.engine import Webhook
from policyd.admission.review import decode, to_dict
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet as CompiledSet
from policyd.policy.model.kinds import PolicyTest
from policyd.policy.source import loader
from policyd.policy.source.documents import Document


class SuitePolicies:
    """Compiled policies that answer the requests of cases."""

    def __init__(self, compiled: CompiledSet, authorizer: Authorizer | None = None) -> None:
        self._compiled = compiled
        self._authorizer = authorizer

    @classmethod
    def of(cls, suite: Document, whole: CompiledSet) -> "SuitePolicies":
        """The policies that a PolicyTest document names, or the ``whole`` set; with the suite's
        ``authorizer``. Raises PolicyError for named policies that cannot be used.
        """
        model, compiled = suite.model, whole
        if not isinstance(model, PolicyTest):
            return cls(whole)
        named = loader.named_policies(suite)
        if named is not None:
            compiled = compiler.compile_strict(loader.load(named, version=whole.version))
        return cls(
            compiled, None if model.authorizer is None else StaticAuthorizer(model.authorizer)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions."""
        return tuple(policy.name for policy in self._compiled.policies)

    def review(self, review: JSONObject, webhook: Webhook) -> JSONObject:
        """The AdmissionReview that answers; raises ReviewError."""
        response = engine.review(
            self._compiled, decode(review), webhook=webhook, authorizer=self._authorizer
        )
        return to_dict(response)

    def reviewing_in(
        self, namespace: Mapping[str, JSON]
    ) -> Callable[[JSONObject, Webhook], JSONObject]:
        """``review`` of the same policies, knowing one more Namespace object."""
        return SuitePolicies(
            self._compiled.with_namespace(dict(namespace)), self._authorizer
        ).review
