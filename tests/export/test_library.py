"""The export of the policies that come with policyd answers every case of their suites as they do."""

from pathlib import Path

import pytest

from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.offline.admitting import in_turn
from policyd.offline.suite_policies import (
    SuitePolicies,
    authorizer_in,
    suite_authorizer,
    together,
    with_state,
)
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite import runner
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.state import CaseState
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.reviews import admission_review
from tests.export.comparing import NOW, answer, exported_set
from tests.export.template_requests import in_controllers
from tests.sampling import sampled
from tests.shared import ROOT

SUITES = [
    file for file in sorted((ROOT / "policies").rglob("suite.yaml")) if "mutation" not in file.parts
]


def path_id(suite: Path) -> str:
    """Where a suite is in the library."""
    return str(suite.parent.relative_to(ROOT / "policies"))


class _Compared:
    """Answers the cases of a suite; the export must answer each validating call alike."""

    def __init__(
        self, source: CompiledPolicySet, export: CompiledPolicySet, authorizer: Authorizer | None
    ) -> None:
        self.source, self.export, self.authorizer = source, export, authorizer
        self.policies = SuitePolicies(source, authorizer)

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        if webhook == "validate":
            for each in (request.raw, *in_controllers(request.raw)):
                review = admission_review(each)
                expected = answer(self.source, review, self.authorizer)
                assert answer(self.export, review, self.authorizer) == expected
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
        source, export = with_state(self.source, state), with_state(self.export, state)
        return _Compared(source, export, authorizer_in(state, self.authorizer)).admit


def sources_of(suite: Document, version: KubernetesVersion) -> Sources:
    """The policies that a suite names, or those beside it."""
    if loader.named_policies(suite) is not None:
        return loader.load_named(suite, version=version)
    return loader.load([Path(suite.file).parent], version=version)


@pytest.mark.parametrize("file", sampled(SUITES), ids=path_id)
def test_export_answers_every_case_like_its_source(file: Path) -> None:
    (suite,) = loader.load([file]).documents
    sources = sources_of(suite, NEWEST)
    policies = exported(sources, now=lambda: NOW)
    assert [part.reasons for policy in policies for part in policy.parts] == [()] * len(policies)
    source, export = compile_strict(sources), exported_set(sources, policies)
    compared = _Compared(source, export, suite_authorizer(suite))
    found = runner.run(suite, compared.admit, within=compared.admitting)
    assert len(found) >= 4
    assert [(each.name, each.error) for each in found if each.error] == []


# What other versions cannot: their functions and macros are too new.
_TWO_VARIABLES = {
    "baseline-app-armor-profile",
    "require-requests-limits",
    "required-labels",
    "restricted-volume-types",
}
_LISTS = {"require-ingress-tls", "unique-ingress-hosts"}


@pytest.mark.parametrize(
    ("version", "missing"),
    sampled(
        [
            ("1.30", {*_TWO_VARIABLES, *_LISTS, "disallow-external-ips"}),
            ("1.32", {*_TWO_VARIABLES, *_LISTS}),
            ("1.33", _LISTS),
            ("1.35", set()),
            ("1.36", set()),
            ("1.37", set()),
        ]
    ),
)
def test_versions_have_what_policies_need(version: str, missing: set[str]) -> None:
    sources = loader.load([ROOT / "policies"], version=KubernetesVersion.parse(version))
    parts = [
        (policy.name, part)
        for policy in exported(sources, now=lambda: NOW)
        for part in policy.parts
        if part.webhook == "validate"
    ]
    assert len(parts) == 46
    assert {name for name, part in parts if part.reasons} == missing
