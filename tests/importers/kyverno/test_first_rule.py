"""``applyRules: One``: of the rules of a policy, only the first one that applies counts."""

import pytest

import policyd
from policyd.importers.naming import named
from policyd.json_types import JSON, JSONObject
from tests.importers.kyverno.classic import (
    cluster_policy,
    condition,
    imported,
    matching,
    pattern,
    pod_of,
    reason,
    resources,
    rule_of,
    thing,
)


def denying(name: str, *kinds: str, label: str = "", **fields: JSON) -> JSONObject:
    """A rule that denies objects, or those with a label."""
    labels = "{{ request.object.metadata.labels.NAME || '' }}".replace("NAME", label)
    when = {"preconditions": {"all": [condition(labels, "Equals", "x")]}} if label else {}
    return rule_of({"message": name, "deny": {}}, *kinds, name=name, **when, **fields)


def denied(policy: JSONObject, obj: JSONObject) -> list[str]:
    """The messages of the rules that deny an object."""
    [found] = named([imported(policy)])
    assert found.documents, found.reasons
    policies = policyd.PolicySet.from_documents(*(each.raw for each in found.documents))
    review = policyd.build_review(obj, defaults=False)
    return [each.message for each in policies.evaluate(review, "validate").violations]


def one_of(*rules: JSONObject) -> JSONObject:
    return cluster_policy(*rules, applyRules="One")


def test_a_rule_applies_where_none_before_it_does() -> None:
    policy = one_of(denying("a", label="a"), denying("b", label="b"), denying("rest"))
    both = pod_of(labels={"a": "x", "b": "x"})
    assert denied(policy, both) == ["a"]
    assert denied(policy, pod_of(labels={"b": "x"})) == ["b"]
    assert denied(policy, pod_of()) == ["rest"]
    assert denied({**policy, "spec": {**policy["spec"], "applyRules": "All"}}, both) == [
        "a", "b", "rest",
    ]  # fmt: skip


def test_a_rule_that_passes_ends_the_list_too() -> None:
    named_web = pattern({"metadata": {"name": "web"}}, name="pattern")
    policy = one_of(named_web, denying("second", label="a"))
    found = imported(policy)
    assert denied(policy, pod_of("web", labels={"a": "x"})) == []
    [message] = denied(policy, pod_of("db", labels={"a": "x"}))
    assert message.startswith("no")
    assert [each.message for each in found.remarks] == [
        "the rule second is left out: it never applies: a rule before it applies to all that it "
        "matches"
    ]


def test_a_rule_may_select_more_than_those_before_it() -> None:
    selected = matching({"any": [resources(selector={"matchLabels": {"b": "x"}})]}, name="b")
    policy = one_of(denying("a", label="a"), selected)
    assert denied(policy, pod_of(labels={"b": "x"})) == ["no"]
    assert denied(policy, pod_of(labels={"a": "x", "b": "x"})) == ["a"]


def test_rules_for_other_kinds_are_apart() -> None:
    policy = one_of(denying("a", "Secret"), denying("b", "ConfigMap"))
    assert denied(policy, thing("ConfigMap")) == ["b"]
    assert imported(policy).remarks == ()


def test_one_rule_is_always_the_first() -> None:
    assert denied(one_of(denying("a")), pod_of()) == ["a"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pattern({"spec": {"(hostNetwork)": True, "hostPID": False}}, name="a"), denying("b")),
        (denying("a"), denying("b", "Pod", "Secret")),
        (denying("a", label="a"), denying("b", "*")),
        (
            rule_of(
                {"message": "a", "foreach": [{"list": "request.object.spec.volumes", "deny": {}}]},
                name="a",
            ),
            denying("b"),
        ),
        (
            {
                **matching({"any": [resources()]}, validate=None),
                "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}},
            },
            {
                **matching({"any": [resources()]}, validate=None),
                "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"b": "b"}}}},
            },
        ),
    ],
)
def test_what_a_request_does_not_show_is_refused(first: JSONObject, second: JSONObject) -> None:
    assert reason(one_of(first, second)).startswith("spec.applyRules: a request does not show")


def test_rules_depend_on_those_that_are_missing() -> None:
    missing = {**denying("a"), "generate": {"kind": "Secret"}}
    [first, second] = imported(one_of(missing, denying("b"))).reasons
    assert (first.path, second.path) == ("spec.rules[0].generate", "spec.applyRules")
