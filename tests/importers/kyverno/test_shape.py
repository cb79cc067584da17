"""A policy that has not the form of one is refused with the place, whatever it contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.json_types import JSON, FieldPath
from tests.importers.converting import JUNK, places, replaced
from tests.importers.kyverno.classic import cluster_policy, equals, imported, rule_of

DENY = {"conditions": equals("{{ element.a }}", 1)}
FULL = cluster_policy(
    {
        **rule_of({"message": "no", "foreach": [{"list": "request.object.spec.a", "deny": DENY}]}),
        "exclude": {"all": [{"resources": {"names": ["a"]}, "subjects": [{"kind": "User", "name": "a"}]}]},
        "preconditions": equals("a", "a"),
    },
    rule_of({"podSecurity": {"level": "baseline", "exclude": [{"controlName": "Sysctls"}]}}),
    rule_of({"anyPattern": [{"spec": {"=(a)": [{"(b)": "c"}]}}]}, "apps/v1/Deployment"),
    validationFailureActionOverrides=[{"action": "Audit", "namespaces": ["a"]}],
    webhookConfiguration={"failurePolicy": "Ignore"},
)  # fmt: skip


def test_the_whole_policy_is_imported() -> None:
    assert not imported(FULL).reasons


@given(st.sampled_from([each for each in places(FULL) if each[0] == "spec"]), st.sampled_from(JUNK))
def test_any_value_anywhere(place: FieldPath, junk: JSON) -> None:
    found = imported(replaced(FULL, place, junk))
    assert (bool(found.documents) is not bool(found.reasons)) or found.left_out
    assert all(each.path.startswith("spec") for each in found.reasons)


@pytest.mark.parametrize(
    ("fields", "place", "why"),
    [
        ({"match": []}, "match", "expected a map"),
        ({"match": {"any": {}}}, "match.any", "expected a list"),
        ({"match": {"any": [{"resources": {"kinds": [1]}}]}}, "match.any[0].resources.kinds[0]", "a string"),
        ({"match": {"any": [{"resources": {"kinds": ["a//"]}}]}}, "match.any[0].resources.kinds[0]", "name a kind"),
        ({"color": "red"}, "color", "not a field"),
        ({"preconditions": {"some": []}}, "preconditions.some", "not a field"),
    ],
)  # fmt: skip
def test_the_place_of_what_is_wrong(fields: JSON, place: str, why: str) -> None:
    [found] = imported(cluster_policy({**rule_of({"message": "no", "deny": {}}), **fields})).reasons
    assert found.path == f"spec.rules[0].{place}"
    assert why in found.message
