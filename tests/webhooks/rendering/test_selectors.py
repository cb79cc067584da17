"""The objectSelector and namespaceSelector of a webhook."""

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.policies import (
    labelling,
    policy,
    rule,
)
from tests.webhooks.rendering.rendered import only

SERVICES = rule("services")
MUTATION = labelling("x", "'y'")


def selectors(*given: JSON) -> JSON:
    """Return object and namespace selector for policies with these selectors for both."""
    webhook = only(
        *(
            policy(f"p{i}", match={"objectSelector": each, "namespaceSelector": each})
            for i, each in enumerate(given)
        ),
        namespace="",
        excluded_namespaces=(),
    )
    assert webhook["objectSelector"] == webhook["namespaceSelector"]
    return webhook["objectSelector"]


SELECTORS: list[tuple[str, list[JSONObject], JSONObject]] = [
    ("one", [{"matchLabels": {"a": "1"}}], {"matchLabels": {"a": "1"}}),
    (
        "values are joined",
        [{"matchLabels": {"a": "2"}}, {"matchLabels": {"a": "1", "b": "1"}}],
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
    ),
    ("nothing in common", [{"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}], {}),
    ("one selects everything", [{"matchLabels": {"a": "1"}}, {}], {}),
    (
        "excluded values in common",
        [
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]},
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2", "3"]}]},
        ],
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["2"]}]},
    ),
    (
        "a value, or any",
        [{"matchLabels": {"a": "1"}}, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}],
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ),
    (
        "a value, or missing, cannot be said",
        [
            {"matchLabels": {"a": "1"}},
            {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
        ],
        {},
    ),
]


@pytest.mark.parametrize(
    ("given", "wanted"), [r[1:] for r in SELECTORS], ids=[r[0] for r in SELECTORS]
)
def test_selectors_in_common(given: list[JSONObject], wanted: JSONObject) -> None:
    assert selectors(*given) == wanted


def test_excluded_namespaces_join_the_selector() -> None:
    shops = {"matchLabels": {"team": "shop"}}
    webhook = only(policy("p", match={"namespaceSelector": shops}), excluded_namespaces=("x",))
    assert webhook["namespaceSelector"] == {
        "matchLabels": {"team": "shop"},
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["policyd", "x"],
            }
        ],
    }


def test_a_policy_for_an_excluded_namespace_selects_nothing_there() -> None:
    system = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    webhook = only(policy("p", match={"namespaceSelector": system}))
    assert webhook["namespaceSelector"] == {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "Exists"},
            {"key": "kubernetes.io/metadata.name", "operator": "DoesNotExist"},
        ]
    }


def test_labels_of_a_template_are_not_selected_by_the_webhook() -> None:
    match = {"objectSelector": {"matchLabels": {"a": "1"}}}
    assert only(policy("p", match=match))["objectSelector"] == match["objectSelector"]
    assert only(policy("p", match=match, podControllers=True))["objectSelector"] == {}
