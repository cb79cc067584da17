"""Policies of which some rules cannot be converted."""

import pytest

from policyd.importers.checking import checked
from policyd.importers.model import Imported
from policyd.json_types import JSONObject
from policyd.versions import NEWEST
from tests.importers.kyverno.classic import cluster_policy, imported, pattern, rule_of

TAGGED = pattern({"spec": {"containers": [{"image": "*:*"}]}}, name="tagged")
LIMITED = pattern({"spec": {"hostNetwork": False}}, name="limited")
PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}
ASSERTED = rule_of({"message": "no", "assert": {"all": []}}, name="asserted")
VERIFIED = {"name": "verified", "match": PODS, "verifyImages": [{"imageReferences": ["*"]}]}
GENERATED = {"name": "generated", "match": PODS, "generate": {"kind": "ConfigMap", "name": "a"}}
LABELLED = {
    "name": "labelled",
    "match": PODS,
    "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}},
}
UNKNOWN = {
    "name": "unknown",
    "match": PODS,
    "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "{{ random('[a-z]{3}') }}"}}}},
}
ELSEWHERE = {
    "name": "elsewhere",
    "match": PODS,
    "mutate": {
        "targets": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b"}],
        "patchStrategicMerge": {"data": {"a": "b"}},
    },
}


def names(found: Imported) -> list[str]:
    return [each.name for each in found.documents]


IN_PART: list[tuple[list[JSONObject], list[str], list[str]]] = [
    ([TAGGED, ASSERTED], ["p-tagged"], ["asserted"]),
    ([ASSERTED, TAGGED, GENERATED, LIMITED], ["p-tagged", "p-limited"], ["asserted", "generated"]),
    ([LABELLED, ELSEWHERE], ["p-1-labelled"], ["elsewhere"]),
    ([LABELLED, ASSERTED, TAGGED], ["p-1-labelled", "p-3-tagged"], ["asserted"]),
]


@pytest.mark.parametrize(("rules", "written", "left_out"), IN_PART)
def test_the_other_rules_are_imported(
    rules: list[JSONObject], written: list[str], left_out: list[str]
) -> None:
    found = imported(cluster_policy(*rules))
    assert (found.state, found.same) == ("in part", False)
    assert names(found) == written
    assert found.left_out == tuple(left_out)
    told = [f"the rule {name} is left out: " for name in left_out]
    assert all(map(str.startswith, (each.message for each in found.reasons), told))
    kept = [each for each in rules if each["name"] not in left_out]
    if GENERATED not in rules:  # Kyverno then extends none of the rules to controllers
        alone = imported(cluster_policy(*kept))
        assert [each.raw["spec"] for each in found.documents] == [
            each.raw["spec"] for each in alone.documents
        ]
    assert checked(found, NEWEST).policies is not None


WHOLE: list[tuple[list[JSONObject], str]] = [
    ([TAGGED, VERIFIED], "the other rules see what it changes, so they are not imported either"),
    ([UNKNOWN, TAGGED], "the other rules see what it changes, so they are not imported either"),
    ([LABELLED, UNKNOWN], "the other rules see what it changes, so they are not imported either"),
    ([ASSERTED, GENERATED], "policyd does not create objects"),
    ([VERIFIED], "policyd does not verify signatures of images"),
    ([TAGGED, {"name": "malformed", "match": PODS, "validate": 3}], ""),
]


@pytest.mark.parametrize(("rules", "reason"), WHOLE)
def test_rules_that_others_depend_on_are_not_left_out(rules: list[JSONObject], reason: str) -> None:
    found = imported(cluster_policy(*rules))
    assert (found.state, found.documents, found.left_out) == ("not imported", (), ())
    assert found.reasons[-1].message.endswith(reason)


def test_only_the_first_rule_that_matches_is_a_reason_for_all() -> None:
    found = imported(cluster_policy(TAGGED, ASSERTED, applyRules="One"))
    assert (found.state, names(found)) == ("not imported", [])
