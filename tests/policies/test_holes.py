"""Policies judge and mutate objects with holes: whatever is missing or null, no expression ends with
an error, and what was mutated is left alone the next time.

Every field of every object of a suite is left out, and then made null, one at a time.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.policy.suite import runner
from tests.builders.reviews import admission_review
from tests.policies.mutating import mutated, together, with_object
from tests.sampling import sampled
from tests.shared import ROOT

FOLDERS = sorted(each.parent for each in (ROOT / "policies").rglob("policy.yaml"))
MUTATIONS = sorted(each.parent for each in (ROOT / "policies/mutation").rglob("policy.yaml"))
# Without these there is no request.
KEPT = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")}
Path_ = tuple[str | int, ...]


def places(value: Any, above: Path_ = ()) -> Iterator[Path_]:
    """The path of every field below a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        yield (*above, key)
        yield from places(each, (*above, key))


def holed(value: Any, path: Path_, *, null: bool) -> Any:
    """A copy without the field at a path, or with null there."""
    found = copy.deepcopy(value)
    at = found
    for key in path[:-1]:
        at = at[key]
    if null:
        at[path[-1]] = None
    else:
        del at[path[-1]]
    return found


def asked(folder: Path, asking: Webhook = "validate") -> tuple[SuitePolicies, list[dict[str, Any]]]:
    """The policy of a folder, and the reviews that its suite sends to a webhook."""
    (document,) = loader.load([folder / "suite.yaml"]).documents
    policies = SuitePolicies.of(document, compiler.compile_strict(loader.load([folder])))
    reviews: list[dict[str, Any]] = []

    usual = SuitePolicies.call

    def call(
        self: SuitePolicies, request: AdmissionRequest, webhook: Webhook, recorder: Recorder
    ) -> AdmissionResponse:
        if webhook == asking:
            reviews.append(admission_review(request.raw))
        return usual(self, request, webhook, recorder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SuitePolicies, "call", call)
        runner.run(document, policies.admit, within=policies.admitting)
    return policies, reviews


def namespaces(folder: Path) -> Iterator[dict[str, Any]]:
    """The namespaces of a suite: those beside it, and those that its cases describe."""
    yield from (each.raw for each in loader.load([folder]).documents if each.kind == "Namespace")
    (document,) = loader.load([folder / "suite.yaml"]).documents
    for request in (case["request"] for case in document.raw["cases"]):
        if "namespaceLabels" in request:
            metadata = {"name": request["namespace"], "labels": request["namespaceLabels"]}
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def holes(review: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """The review with one field missing or null; items of lists are never null there."""
    for side in ("object", "oldObject"):
        for path in places(review["request"].get(side)):
            if path in KEPT:
                continue
            for null in (False, True):
                if null and isinstance(path[-1], int):
                    continue
                changed = holed(review["request"][side], path, null=null)
                yield path, {**review, "request": {**review["request"], side: changed}}


@pytest.mark.parametrize("folder", sampled(FOLDERS), ids=lambda each: each.name)
def test_no_hole_ends_with_an_error(folder: Path) -> None:
    policies, reviews = asked(folder)
    wrong = set()
    for review in reviews:
        for path, changed in holes(review):
            response = policies.admit(changed, ("validate",)).response
            told = str(response.get("status")) + str(response.get("warnings"))
            if "resulted in error" in told or "fails to evaluate" in told:
                wrong.add((path, told[:300]))
    assert sorted(wrong, key=str) == []


@pytest.mark.parametrize("folder", sampled(MUTATIONS), ids=lambda each: each.name)
def test_no_hole_ends_a_mutation_with_an_error(folder: Path) -> None:
    """Errors are looked for where they are told: failurePolicy may let them pass in silence."""
    policies = together([folder], namespaces(folder))
    _, reviews = asked(folder, "mutate")
    wrong = set()
    count = 0
    for review in reviews:
        for path, changed in holes(review):
            once = mutated(policies, changed)
            again = mutated(policies, with_object(changed, once.object))
            count += 1
            if once.told or again.told or again.object != once.object:
                wrong.add((path, str(once.told + again.told)[:300], str(again.operations)))
    assert count
    assert sorted(wrong, key=str) == []
