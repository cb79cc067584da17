"""Patterns of Kyverno mean the same after the import, also where policyd reads them differently."""

import pytest

from policyd.json_types import JSON, JSONObject
from tests.importers.kyverno.classic import (
    CONTAINER,
    allows,
    cluster_policy,
    imported,
    pattern,
    pod_of,
    reason,
    rule_of,
    spec_of,
    thing,
)


def service(**spec: JSON) -> JSONObject:
    return thing("Service", metadata={"namespace": "default"}, spec=spec)


# What Kyverno decides: pkg/engine/validate/validate_test.go and pkg/engine/pattern.
@pytest.mark.parametrize(
    ("tree", "spec", "allowed"),
    [
        ({"type": "!NodePort"}, {"type": "ClusterIP"}, True),
        ({"type": "!NodePort"}, {"type": "NodePort"}, False),
        ({"type": "!NodePort"}, {}, False),
        ({"=(type)": "!NodePort"}, {}, True),
        ({"X(type)": "anything"}, {}, True),
        ({"X(type)": "anything"}, {"type": "ClusterIP"}, False),
        # an absent field counts as 0 for numbers
        ({"sessionAffinityTimeout": "<=5"}, {}, True),
        ({"sessionAffinityTimeout": "<=5"}, {"sessionAffinityTimeout": 6}, False),
        ({"sessionAffinityTimeout": ">0"}, {}, False),
        ({"sessionAffinityTimeout": "0-5"}, {}, True),
        ({"sessionAffinityTimeout": "1-5"}, {}, False),
        ({"sessionAffinityTimeout": "!5"}, {}, True),
        ({"sessionAffinityTimeout": "<1h"}, {}, True),
        # a condition outside of lists skips the whole pattern
        ({"a": {"(b)": "x", "c": "y"}, "d": "z"}, {"a": {"b": "other"}}, True),
        ({"a": {"(b)": "x", "c": "y"}, "d": "z"}, {"a": {"b": "x", "c": "y"}}, False),
        ({"a": {"(b)": "x", "c": "y"}, "d": "z"}, {"a": {"b": "x", "c": "y"}, "d": "z"}, True),
        # and so does one in a list that holds for no item
        ({"l": [{"(n)": "x", "v": 1}], "d": "z"}, {"l": [{"n": "a"}, {"n": "b"}]}, True),
        ({"l": [{"(n)": "x", "v": 1}], "d": "z"}, {"l": [{"n": "x", "v": 1}, {"n": "b"}]}, False),
        ({"l": [{"(n)": "x", "v": 1}]}, {"l": [{"n": "x", "v": 2}, {"n": "b"}]}, False),
        ({"l": [{"(n)": "x", "v": 1}]}, {"l": [{"n": "a", "v": 2}]}, True),
        # only the first item of a list in a pattern counts
        ({"l": [{"v": 1}, {"v": 2}]}, {"l": [{"v": 1}]}, True),
        ({"l": [{"v": 1}, {"v": 2}]}, {"l": [{"v": 2}]}, False),
        ({"^(l)": [{"v": 1}, {"v": 2}]}, {"l": [{"v": 2}, {"v": 1}]}, True),
        ({"^(l)": [{"v": 1}, {"v": 2}]}, {"l": [{"v": 2}]}, False),
    ],
)
def test_a_pattern_decides_as_in_kyverno(tree: JSON, spec: JSONObject, allowed: bool) -> None:
    policy = cluster_policy(pattern({"spec": tree}, "Service"))
    assert allows(policy, service(**spec)) is allowed


def test_any_of_several_patterns() -> None:
    trees = [{"spec": {"type": "ClusterIP"}}, {"spec": {"externalName": "?*"}}]
    policy = cluster_policy(rule_of({"message": "no", "anyPattern": trees}, "Service"))
    assert allows(policy, service(type="ClusterIP"))
    assert allows(policy, service(type="X", externalName="a"))
    assert not allows(policy, service(type="X"))


def test_a_pattern_that_means_the_same_stays_as_it_is() -> None:
    tree = {"spec": {"=(volumes)": [{"=(hostPath)": {"path": "!/var/run/docker.sock"}}]}}
    spec = spec_of(cluster_policy(pattern(tree)))
    assert spec["validations"] == [{"pattern": tree, "message": "no"}]


def test_left_out_items_are_a_remark() -> None:
    found = imported(cluster_policy(pattern({"spec": {"l": [{"a": 1}, {"b": 2}]}}, "Service")))
    assert found.state == "with remarks"
    assert [each.path for each in found.remarks] == ["spec.rules[0].validate.pattern.spec.l"]


@pytest.mark.parametrize(
    ("tree", "place", "why"),
    [
        ({"spec": {"a": "{{ request.userInfo.username }}"}}, "pattern.spec.a", "no variables"),
        ({"spec": {"+(a)": 1}}, "pattern.spec.+(a)", "only overlays"),
        ({"spec": {"+a": 1}}, "pattern.spec.+a", "no brackets"),
        ({"spec": {" ": "<5"}}, "pattern.spec", "no name"),
        ({"spec": {"l": []}}, "pattern.spec.l", "empty list"),
        ({"spec": {"a": ">= many"}}, "pattern.spec.a", "cannot compare"),
    ],
)
def test_what_a_pattern_cannot_say_is_refused(tree: JSON, place: str, why: str) -> None:
    found = reason(cluster_policy(pattern(tree)))
    assert found.startswith(f"spec.rules[0].validate.{place}:")
    assert why in found


def test_the_message_names_the_field() -> None:
    tree = {"spec": {"containers": [{"image": "!*:latest"}]}}
    spec = spec_of(cluster_policy(pattern(tree)))
    assert spec["validations"][0]["message"] == "no"
    latest = pod_of(containers=[{**CONTAINER, "image": "nginx:latest"}])
    assert not allows(cluster_policy(pattern(tree)), latest)
