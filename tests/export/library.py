"""Suites of the policy library, run against a source while its export is compared with it. No tests here."""

from collections.abc import Callable

from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.json_types import JSONObject
from policyd.offline.admitting import in_turn
from policyd.offline.suite_policies import (
    SuitePolicies,
    authorizer_in,
    suite_authorizer,
    together,
    with_state,
)
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite import runner
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.state import CaseState
from tests.export.template_requests import in_controllers

# Asserts that both sets, with an authorizer, do the same with a request.
Comparison = Callable[[CompiledPolicySet, CompiledPolicySet, JSONObject, Authorizer | None], None]


class _Compared:
    """Answers the cases of a suite, and compares each call of one webhook, in templates of Pods as well."""

    def __init__(
        self,
        sets: tuple[CompiledPolicySet, CompiledPolicySet],
        authorizer: Authorizer | None,
        webhook: Webhook,
        compare: Comparison,
    ) -> None:
        self.sets, self.authorizer = sets, authorizer
        self.webhook, self.compare = webhook, compare
        self.policies = SuitePolicies(sets[0], authorizer)

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        if webhook == self.webhook:
            for each in (request.raw, *in_controllers(request.raw)):
                self.compare(*self.sets, each, self.authorizer)
        return self.policies.call(request, webhook)

    def admit(
        self, review: JSONObject, webhooks: tuple[Webhook, ...], completed: runner.Completed
    ) -> CaseAnswer:
        defaults = self.policies.defaults if completed else None
        return together(
            in_turn(review, webhooks, self.call, defaults, built=completed == "manifests"),
            None,
            defaults,
        )

    def admitting(self, state: CaseState) -> runner.Admit:
        source, export = (with_state(each, state) for each in self.sets)
        authorizer = authorizer_in(state, self.authorizer)
        return _Compared((source, export), authorizer, self.webhook, self.compare).admit


def compare_cases(
    suite: Document,
    sets: tuple[CompiledPolicySet, CompiledPolicySet],
    webhook: Webhook,
    compare: Comparison,
) -> None:
    """Run a suite with the source, the first of the sets; the export must do the same at a webhook."""
    compared = _Compared(sets, suite_authorizer(suite), webhook, compare)
    found = runner.run(suite, compared.admit, within=compared.admitting)
    assert len(found) >= 4
    assert [(each.name, each.error) for each in found if each.error] == []
