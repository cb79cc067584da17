"""The export of the policies that come with policyd answers every case of their suites as they do, in
Pods and in the templates of their controllers.
"""

from pathlib import Path

import pytest

from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.offline.suite_policies import (
    SuitePolicies,
    authorizer_in,
    suite_authorizer,
    with_state,
)
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite import runner
from policyd.policy.suite.state import CaseState
from policyd.versions import NEWEST, KubernetesVersion
from tests.export.comparing import NOW, answer, both_sets
from tests.export.mutating.builders import as_printed
from tests.export.template_requests import in_controllers
from tests.mutation.builders import SCHEMAS
from tests.sampling import sampled
from tests.shared import ROOT

SUITES = sorted((ROOT / "policies").rglob("suite.yaml"))
MUTATING = [file for file in SUITES if "mutation" in file.parts]
# The API server reads no other objects.
READING = {file.parent.name for file in SUITES if "cluster" in file.parts}
VALIDATING = [file for file in SUITES if not {"mutation", "cluster"} & {*file.parts}]


def path_id(suite: Path) -> str:
    """Where a suite is in the library."""
    return str(suite.parent.relative_to(ROOT / "policies"))


class Compared(SuitePolicies):
    """Answers the cases of a suite with a source, and compares each call of one webhook with what the
    export of that does, in templates of Pods as well. ``changed`` are the objects that were mutated.
    """

    def __init__(
        self,
        sets: tuple[CompiledPolicySet, CompiledPolicySet],
        authorizer: Authorizer | None,
        webhook: Webhook,
    ) -> None:
        super().__init__(sets[0], authorizer)
        self.sets, self.authorizer, self.webhook = sets, authorizer, webhook
        self.changed: list[JSONObject] = []

    def call(
        self, request: AdmissionRequest, webhook: Webhook, recorder: Recorder | None = None
    ) -> AdmissionResponse:
        if webhook == self.webhook:
            for each in (request.raw, *in_controllers(request.raw)):
                self.compare(printed(each) if webhook == "mutate" else each)
        return super().call(request, webhook, recorder)

    def compare(self, request: JSONObject) -> None:
        want, got = (answer(each, request, self.authorizer) for each in self.sets)
        assert got == want
        if want["object"] not in (None, request["object"]):
            self.changed.append(want["object"])

    def knowing(self, state: CaseState) -> "Compared":
        source, export = (with_state(each, state) for each in self.sets)
        authorizer = authorizer_in(state, self.authorizer)
        compared = Compared((source, export), authorizer, self.webhook)
        compared.changed = self.changed
        return compared


def printed(request: JSONObject) -> JSONObject:
    """A request with its objects as the API server sends them."""
    kind = request["kind"]
    gvk = (kind["group"], kind["version"], kind["kind"])
    fields = [each for each in ("object", "oldObject") if request.get(each) is not None]
    if not SCHEMAS.lookup(*gvk):
        return request
    return {**request, **{field: as_printed(request[field], gvk) for field in fields}}


def sources_of(suite: Document, version: KubernetesVersion) -> Sources:
    """The policies that a suite names, or those beside it."""
    if loader.named_policies(suite) is not None:
        return loader.load_named(suite, version=version)
    return loader.load([Path(suite.file).parent], version=version)


@pytest.mark.parametrize("file", [*MUTATING, *sampled(VALIDATING)], ids=path_id)
def test_export_answers_every_case_like_its_source(file: Path) -> None:
    (suite,) = loader.load([file]).documents
    sources = sources_of(suite, NEWEST)
    policies = exported(sources, now=lambda: NOW)
    assert [part.reasons for policy in policies for part in policy.parts] == [()] * len(policies)
    webhook: Webhook = "mutate" if file in MUTATING else "validate"
    compared = Compared(both_sets(sources, policies), suite_authorizer(suite), webhook)
    found = runner.run(suite, compared.admit, within=compared.admitting)
    assert len(found) >= 4
    assert [(each.name, each.error) for each in found if each.error] == []
    assert bool(compared.changed) is (file in MUTATING)


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
    assert len(parts) == 54
    assert {name for name, part in parts if part.reasons} == missing | READING
