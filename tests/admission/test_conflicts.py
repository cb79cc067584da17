"""Two policies that write different values to one place: counted, and one line of the log."""

import io
from typing import Any

import orjson
import pytest

from policyd.admission import engine
from policyd.admission.mutating.conflicts import Conflict
from policyd.admission.review import decode
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod
from tests.builders.policies import apply_configuration, json_patch, policy
from tests.policy_sets import compiled

POD = pod(
    container("a", "a"),
    container("b", "b", args=["x"]),
    priority=1,
    nodeSelector={"disk": "ssd"},
)


def conflicts(
    *expressions: str, obj: JSONObject = POD, names: str = "abcdef", **spec: Any
) -> list[JSONObject]:
    """The lines of the log about one request; the policies are named a, b, c ..."""
    named = zip(names, expressions, strict=False)
    policies = compiled(
        *(policy(name, mutations=[mutation(expression)], **spec) for name, expression in named)
    )
    stream = io.BytesIO()
    recorder = PrometheusRecorder(Log(stream))
    request = decode(build_review(obj))
    response = engine.review(policies, request, webhook="mutate", recorder=recorder)
    assert response.allowed, response
    recorder.request("mutate", "CREATE", "allowed", 1)
    lines = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    assert sum(recorder.conflicts.values()) == len(lines)
    return lines


def mutation(text: str) -> JSONObject:
    return apply_configuration(text) if text.startswith("Object") else json_patch(f"[{text}]")


def add(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: '{path}', value: {value}}}"


def remove(path: str) -> str:
    return f"JSONPatch{{op: 'remove', path: '{path}'}}"


def image(name: str, value: str) -> str:
    container = f"Object.spec.containers{{name: '{name}', image: '{value}'}}"
    return f"Object{{spec: Object.spec{{containers: [{container}]}}}}"


FIRST_CONTAINER = "{'name': 'z', 'image': 'z'}"


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        (add("/spec/priority", "2"), add("/spec/priority", "3"), "spec.priority"),
        (add("/metadata/labels", "{'x/y': '1'}"), add("/metadata/labels/x~1y", "'2'"), "metadata.labels[x/y]"),
        (add("/spec/hostname", "'h'"), remove("/spec/hostname"), "spec.hostname"),
        (remove("/spec/priority"), add("/spec/priority", "3"), "spec.priority"),
        (remove("/spec/nodeSelector"), add("/spec/nodeSelector", "{}"), ""),
        (remove("/spec/nodeSelector"), add("/spec/nodeSelector", "{'disk': 'hdd', 'a': 'b'}"), "spec.nodeSelector.disk"),
        (add("/metadata/labels", "{'x': '1'}"), add("/metadata/labels", "{'y': '1'}"), "metadata.labels.x"),
        (image("b", "1"), image("b", "2"), "spec.containers[name=b].image"),
        (image("c", "1"), remove("/spec/containers/2"), "spec.containers[name=c]"),
        (add("/spec/containers/1/args", "['y']"), add("/spec/containers/1/args", "['z']"), "spec.containers[name=b].args"),
    ],
)  # fmt: skip
def test_a_place_that_two_policies_write(first: str, second: str, place: str) -> None:
    found = conflicts(first, second)
    assert [line["message"] for line in found] == (
        [f"changes {place}, written by policy 'a'"] if place else []
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (add("/metadata/labels", "{'x': '1'}"), add("/metadata/labels/y", "'2'")),
        (add("/spec/priority", "2"), add("/spec/priority", "2")),
        (image("a", "1"), image("b", "2")),
        # Both put an item before the others: the same path, but not the same place.
        (add("/spec/containers/0", FIRST_CONTAINER), add("/spec/containers/0", "{'name': 'y', 'image': 'y'}")),
        (add("/spec/containers/1/args/-", "'y'"), add("/spec/containers/1/args/0", "'z'")),
        (remove("/spec/priority"), add("/spec/hostname", "'h'")),
        # A map goes with its last key; another key in it is a new one.
        (remove("/spec/nodeSelector/disk"), add("/spec/nodeSelector", "{'a': 'b'}")),
        (remove("/spec/nodeSelector"), add("/spec/nodeSelector", "{'a': 'b'}")),
    ],
)  # fmt: skip
def test_what_is_no_conflict(first: str, second: str) -> None:
    assert conflicts(first, second) == []


def test_items_are_known_by_their_keys_when_others_came_before_them() -> None:
    found = conflicts(image("b", "1"), add("/spec/containers/0", FIRST_CONTAINER), image("b", "2"))
    assert [(line["policy"], line["message"]) for line in found] == [
        ("c", "changes spec.containers[name=b].image, written by policy 'a'")
    ]


def test_a_policy_may_change_its_own_work() -> None:
    append = add("/metadata/labels", "{'x': string(object.metadata.?labels.?x.hasValue())}")
    assert conflicts(append, reinvocationPolicy="IfNeeded") == []


def test_the_line_says_who_and_where_and_no_value() -> None:
    (line,) = conflicts(add("/metadata/labels", "{'x': 'old'}"), add("/metadata/labels/x", "'new'"))
    assert {key: line[key] for key in ("level", "event", "policy", "resource", "namespace")} == {
        "level": "warning",
        "event": "conflict",
        "policy": "b",
        "resource": "v1/pods",
        "namespace": "shop",
    }
    assert line["message"] == "changes metadata.labels.x, written by policy 'a'"


def test_many_places_are_one_line() -> None:
    places = tuple(f"data.k{i}" for i in range(9))
    assert Conflict(places, ("a", "b")).text == (
        "changes data.k0, data.k1, data.k2, data.k3, data.k4 and 4 more, "
        "written by policies 'a', 'b'"
    )


def test_template_of_a_controller() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "shop"},
        "spec": {"template": {"spec": POD["spec"]}},
    }
    found = conflicts(image("b", "1"), image("b", "2"), obj=deployment, podControllers=True)
    assert [line["message"] for line in found] == [
        "changes spec.template.spec.containers[name=b].image, written by policy 'a'"
    ]
