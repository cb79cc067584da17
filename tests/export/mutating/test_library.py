"""The export of the library's mutating policies makes of every case of their suites the object that
they make, in Pods and in the templates of their controllers.
"""

from pathlib import Path

import jsonpatch
import pytest

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode
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
from policyd.policy.suite import runner
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.state import CaseState
from tests.builders.reviews import admission_review
from tests.export.comparing import NOW, exported_set
from tests.export.mutating.builders import as_printed
from tests.export.template_requests import in_controllers
from tests.mutation.builders import SCHEMAS
from tests.shared import ROOT

SUITES = {
    file.parent.name: file for file in sorted((ROOT / "policies" / "mutation").rglob("suite.yaml"))
}


class _Compared:
    """Answers the cases of a suite; the export must answer each mutating call alike."""

    def __init__(
        self, source: CompiledPolicySet, export: CompiledPolicySet, authorizer: Authorizer | None
    ) -> None:
        self.source, self.export, self.authorizer = source, export, authorizer
        self.policies = SuitePolicies(source, authorizer)
        self.changed: list[JSONObject] = []

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        if webhook == "mutate":
            for each in map(printed, (request.raw, *in_controllers(request.raw))):
                want = self.mutated(self.source, each)
                assert self.mutated(self.export, each) == want
                if want is not None and want != each["object"]:
                    self.changed.append(want)
        return self.policies.call(request, webhook)

    def mutated(self, policies: CompiledPolicySet, request: JSONObject) -> JSONObject | None:
        """The object after the mutations; None if the request is denied."""
        response = engine.review(
            policies,
            decode(admission_review(request)),
            webhook="mutate",
            authorizer=self.authorizer,
        )
        if not response.allowed:
            return None
        found: JSONObject = jsonpatch.apply_patch(request["object"], response.patch or [])
        return found

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
        within = _Compared(source, export, authorizer_in(state, self.authorizer))
        within.changed = self.changed
        return within.admit


def printed(request: JSONObject) -> JSONObject:
    """A request with its objects as the API server sends them."""
    found = dict(request)
    kind = request["kind"]
    gvk = (kind["group"], kind["version"], kind["kind"])
    for field in ("object", "oldObject"):
        if found.get(field) is not None and SCHEMAS.lookup(*gvk):
            found[field] = as_printed(found[field], gvk)
    return found


@pytest.mark.parametrize("name", SUITES)
def test_export_makes_of_every_case_what_its_source_makes(name: str) -> None:
    file: Path = SUITES[name]
    (suite,) = loader.load([file]).documents
    sources = loader.load([file.parent])
    policies = exported(sources, now=lambda: NOW)
    reasons = [
        reason.message for each in policies for part in each.parts for reason in part.reasons
    ]
    assert reasons == []
    export = exported_set(sources, policies, "mutate")
    compared = _Compared(compile_strict(sources), export, suite_authorizer(suite))
    found = runner.run(suite, compared.admit, within=compared.admitting)
    assert len(found) >= 4
    assert [(each.name, each.error) for each in found if each.error] == []
    assert compared.changed
