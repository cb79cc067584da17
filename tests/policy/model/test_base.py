"""What models accept and refuse, beside what the tests of the loader read in its messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.policy.model import shapes
from policyd.policy.model.base import Model, ModelError
from policyd.policy.model.exceptions import Exception_
from policyd.policy.model.kinds import Policy
from policyd.policy.model.match import MatchResources
from policyd.policy.model.suite import AuthorizerRule, PolicyTest, SuiteRequest

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MATCH: dict[str, Any] = {"resourceRules": [RULE], "matchPolicy": "Exact"}
names = st.sampled_from(["resourceRules", "matchPolicy", "objectSelector", "scope", "other"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)


def faults(model: type[Model], value: object) -> list[tuple[object, ...]]:
    with pytest.raises(ModelError) as caught:
        model.validated(value)
    return [(*each.path, each.kind) for each in caught.value.faults]


def test_faults_come_in_the_order_of_the_fields_and_unknown_fields_last() -> None:
    given = {
        "bogus": 1,
        "matchPolicy": "exact",
        "resourceRules": [{**RULE, "scope": 1}, 5, {**RULE, "operations": "CREATE", "x": 0}],
        "objectSelector": {"matchLabels": {"a": 1}},
    }
    assert faults(MatchResources, given) == [
        ("objectSelector", "matchLabels", "a", shapes.STRING),
        ("resourceRules", 0, "scope", shapes.CHOICE),
        ("resourceRules", 1, shapes.MODEL),
        ("resourceRules", 2, "operations", shapes.LIST),
        ("resourceRules", 2, "x", shapes.UNKNOWN),
        ("matchPolicy", shapes.CHOICE),
        ("bogus", shapes.UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("model", "given", "wrong"),
    [
        (SuiteRequest, {"dryRun": 1}, ("dryRun", shapes.BOOLEAN)),
        (SuiteRequest, {"name": True}, ("name", shapes.STRING)),
        (Exception_, {"until": "2027-02-30"}, ("until", shapes.INVALID)),
        (Policy, {"kind": "Policy"}, ("apiVersion", shapes.MISSING)),
        (AuthorizerRule, {"path": "/", "verb": "get", "name": "a"}, (shapes.INVALID,)),
        (AuthorizerRule, [], (shapes.MODEL,)),
    ],
)
def test_nothing_is_converted(model: type[Model], given: object, wrong: tuple[object, ...]) -> None:
    assert faults(model, given) == [wrong]


@pytest.mark.parametrize("seconds", [True, "1", 10**400])
def test_a_number_is_neither_a_boolean_nor_a_string(seconds: object) -> None:
    document = {"apiVersion": "policyd.dev/v1", "kind": "Policy"}
    given = {**document, "spec": {"timeoutSeconds": seconds}}
    assert faults(Policy, given) == [("spec", "timeoutSeconds", shapes.NUMBER)]
    model = Policy.validated({**document, "spec": {"timeoutSeconds": 2}})
    assert model.spec.timeout_seconds == 2.0 and isinstance(model.spec.timeout_seconds, float)


def test_null_is_an_absent_field_and_of_an_unknown_one_an_error() -> None:
    model = MatchResources.validated({**MATCH, "objectSelector": None})
    assert not model.given("object_selector")
    assert model.plain()["objectSelector"] == {"matchLabels": {}, "matchExpressions": []}
    assert faults(MatchResources, {"other": None}) == [("other", shapes.UNKNOWN)]


def test_a_model_cannot_be_changed_and_shares_nothing_with_its_plain_value() -> None:
    model = MatchResources.validated(MATCH)
    with pytest.raises(AttributeError, match="frozen"):
        model.match_policy = "Equivalent"
    model.plain()["resourceRules"][0]["operations"].append("DELETE")
    assert model == MatchResources.validated(MATCH) != MatchResources()


@given(values)
def test_what_is_accepted_reads_back_as_the_same_model(value: object) -> None:
    document = {**MATCH, **value} if isinstance(value, dict) else value
    try:
        model = MatchResources.validated(document)
    except ModelError as error:
        assert error.faults
    else:
        assert MatchResources.validated(model.plain()) == model


def test_a_class_with_two_bases_has_the_fields_of_both() -> None:
    assert [*PolicyTest.fields][:3] == ["metadata", "status", "params"]
    assert [*PolicyTest.fields][-3:] == ["policies", "defaults", "cases"]
