"""The export of the policies that come with policyd answers every case of their suites as they do."""

from pathlib import Path

import pytest

from policyd.admission.lookups.authorizer import Authorizer
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.reviews import admission_review
from tests.export.comparing import NOW, answer, exported_set
from tests.export.library import compare_cases
from tests.sampling import sampled
from tests.shared import ROOT

SUITES = [
    file for file in sorted((ROOT / "policies").rglob("suite.yaml")) if "mutation" not in file.parts
]


def path_id(suite: Path) -> str:
    """Where a suite is in the library."""
    return str(suite.parent.relative_to(ROOT / "policies"))


def compare(
    source: CompiledPolicySet,
    export: CompiledPolicySet,
    request: JSONObject,
    authorizer: Authorizer | None,
) -> None:
    review = admission_review(request)
    assert answer(export, review, authorizer) == answer(source, review, authorizer)


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
    sets = compile_strict(sources), exported_set(sources, policies)
    compare_cases(suite, sets, "validate", compare)


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
