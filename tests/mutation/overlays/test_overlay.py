"""What an overlay makes of an object: how things merge, null, $patch and marks."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from policyd.mutation import MutationError
from tests.mutation.builders import DEPLOYMENT, POD, SCHEMAS, SERVICE, WIDGET, two_containers
from tests.mutation.overlays.builders import merged, read

Target = tuple[str, str, str]


def live_pod() -> JSONObject:
    labels = {"app": "web", "tier": "front"}
    return two_containers("a:latest", labels=labels, nodeSelector={"disk": "ssd"})


def widget(**spec: Any) -> JSONObject:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}


MERGES = yaml.safe_load((Path(__file__).parent / "merges.yaml").read_text())


@pytest.mark.parametrize(
    ("overlay", "path", "want"),
    [pytest.param(row["overlay"], row["at"], row["want"], id=row["name"]) for row in MERGES],
)
def test_what_becomes_of_a_pod(overlay: JSONObject, path: str, want: Any) -> None:
    before = live_pod()
    after = merged(overlay, before, POD)
    assert looked_up(after, path) == want
    assert before == live_pod()
    assert merged(overlay, after, POD) == after


WIDGETS: list[tuple[str, str, JSONObject, JSONObject]] = [
    ("a set", "spec: {tags: [b, c]}", {"tags": ["a", "b"]}, {"tags": ["a", "b", "c"]}),
    ("a new set", "spec: {tags: [b]}", {}, {"tags": ["b"]}),
    ("a plain list", "spec: {plain: [b]}", {"plain": ["a"]}, {"plain": ["b"]}),
    ("free form", "spec: {free: {l: [9], n: {o: 1}}}", {"free": {"l": [1], "m": 1}}, {"free": {"l": [9], "m": 1, "n": {"o": 1}}}),
    ("free form, null", "spec: {free: {m: null}}", {"free": {"l": [1], "m": 1}}, {"free": {"l": [1]}}),
    ("a value that is null", "spec: {+(nullable): x}", {"nullable": None}, {"nullable": "x"}),
    ("two keys", "spec: {endpoints: [{port: 1, comment: c}]}", {"endpoints": [{"port": 1, "protocol": "UDP"}, {"port": 1}]}, {"endpoints": [{"port": 1, "protocol": "UDP"}, {"port": 1, "comment": "c"}]}),
    ("conditions in a list without keys", "spec: {free: {l: [{(a): 1, b: 2}]}}", {"free": {"l": [{"a": 1}, {"a": 3}]}}, {"free": {"l": [{"a": 1, "b": 2}, {"a": 3}]}}),
    ("another form than the schema's", "spec: {labels: {a: b}}", {"labels": "x"}, {"labels": {"a": "b"}}),
    ("a default that is no string", "spec: {strange: [{(name): '*', comment: {a: b}}]}", {"strange": [{"name": "x", "comment": {}}]}, {"strange": [{"name": "x", "comment": {"a": "b"}}]}),
    ("an empty map", "spec: {labels: {}}", {}, {"labels": {}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("overlay", "spec", "want"), [row[1:] for row in WIDGETS], ids=[r[0] for r in WIDGETS]
)
def test_what_becomes_of_a_custom_resource(
    overlay: str, spec: JSONObject, want: JSONObject
) -> None:
    after = merged(overlay, widget(**spec), WIDGET)
    assert after == widget(**want)
    assert merged(overlay, after, WIDGET) == after


UNCHANGED = [
    row["overlay"]
    for row in MERGES
    if row["name"] in ("X() fails", "+() leaves", "null of nothing")
]


@pytest.mark.parametrize(
    "overlay",
    [
        *UNCHANGED,
        "metadata: {labels: {app: web}}",
        "spec: {containers: [{name: app, image: a:latest}]}",
    ],
)
def test_no_change_is_the_same_object(overlay: JSONObject | str) -> None:
    before = live_pod()
    assert merged(overlay, before, POD) is before


def test_what_stays_is_shared() -> None:
    before = live_pod()
    after = merged("spec: {containers: [{name: side, image: s:2}]}", before, POD)
    assert after["metadata"] is before["metadata"]
    assert after["spec"]["containers"][0] is before["spec"]["containers"][0]


def test_duplicates_of_the_live_object_give_way() -> None:
    before = live_pod()
    before["spec"]["containers"][1]["env"] = [{"name": "A", "value": v} for v in "xy"]
    after = merged("spec: {containers: [{name: side, env: [{name: A, value: z}]}]}", before, POD)
    assert after["spec"]["containers"][1]["env"] == [{"name": "A", "value": "z"}]


def test_kinds_are_bound_when_they_come() -> None:
    overlay = read(yaml.safe_load("spec: {replicas: 2}"))
    assert overlay.bound(SCHEMAS.target(DEPLOYMENT)).apply({"spec": {}}) == {
        "spec": {"replicas": 2}
    }
    with pytest.raises(
        MutationError, match=r'spec.replicas: unknown field "replicas" in a /v1, Kind=Service'
    ):
        overlay.bound(SCHEMAS.target(SERVICE))
    with pytest.raises(
        MutationError, match=r"overlay: no schema of other.io/v1, Kind=Thing is known"
    ):
        overlay.bound(SCHEMAS.target(("other.io", "v1", "Thing")))


def looked_up(value: Any, path: str) -> Any:
    """What is at a path: ``*`` looks into every item, numbers are indexes; None for nothing."""
    steps = path.split(".")
    for index, step in enumerate(steps):
        if step == "*":
            rest = ".".join(steps[index + 1 :])
            return [looked_up(item, rest) for item in value]
        if value is None:
            return None
        value = value[int(step)] if step.isdigit() else value.get(step)
    return value
