"""The export of the library's mutating policies makes of every case of their suites the object that
they make, in Pods and in the templates of their controllers.
"""

from pathlib import Path

import jsonpatch
import pytest

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from tests.builders.reviews import admission_review
from tests.export.comparing import NOW, exported_set
from tests.export.library import compare_cases
from tests.export.mutating.builders import as_printed
from tests.mutation.builders import SCHEMAS
from tests.shared import ROOT

SUITES = {
    file.parent.name: file for file in sorted((ROOT / "policies" / "mutation").rglob("suite.yaml"))
}


def mutated(
    policies: CompiledPolicySet, request: JSONObject, authorizer: Authorizer | None
) -> JSONObject | None:
    """The object after the mutations; None if the request is denied."""
    review = decode(admission_review(request))
    response = engine.review(policies, review, webhook="mutate", authorizer=authorizer)
    if not response.allowed:
        return None
    found: JSONObject = jsonpatch.apply_patch(request["object"], response.patch or [])
    return found


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
    changed: list[JSONObject] = []

    def compare(
        source: CompiledPolicySet,
        export: CompiledPolicySet,
        request: JSONObject,
        authorizer: Authorizer | None,
    ) -> None:
        sent = printed(request)
        want = mutated(source, sent, authorizer)
        assert mutated(export, sent, authorizer) == want
        if want is not None and want != sent["object"]:
            changed.append(want)

    sets = compile_strict(sources), exported_set(sources, policies, "mutate")
    compare_cases(suite, sets, "mutate", compare)
    assert changed
