"""What an overlay makes of an object: how things merge, null, $patch and marks."""

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


# (name, overlay, where to look, what is there)
MERGES: list[tuple[str, str, str, Any]] = [
    ("a new key", "metadata: {annotations: {a: b}}", "metadata.annotations", {"a": "b"}),
    (
        "a key among others",
        "metadata: {labels: {team: x}}",
        "metadata.labels",
        {"app": "web", "tier": "front", "team": "x"},
    ),
    ("another value", "metadata: {labels: {app: x}}", "metadata.labels.app", "x"),
    (
        "null removes",
        "metadata: {labels: {app: null}}",
        "metadata.labels",
        {"tier": "front"},
    ),
    ("null of a whole map", "metadata: {labels: null}", "metadata", {"name": "web"}),
    ("null of nothing", "metadata: {annotations: {a: null}}", "metadata.annotations", None),
    (
        "null among new keys",
        "metadata: {annotations: {a: null, b: c}}",
        "metadata.annotations",
        {"b": "c"},
    ),
    (
        "an atomic map merges by key",
        "spec: {nodeSelector: {zone: a}}",
        "spec.nodeSelector",
        {"disk": "ssd", "zone": "a"},
    ),
    (
        "an atomic list is replaced",
        "spec: {tolerations: [{operator: Exists}]}",
        "spec.tolerations",
        [{"operator": "Exists"}],
    ),
    ("an empty list replaces too", "spec: {tolerations: []}", "spec.tolerations", None),
    (
        "null inside of a replaced list",
        "spec: {tolerations: [{operator: Exists, key: null}]}",
        "spec.tolerations",
        [{"operator": "Exists"}],
    ),
    ("a quantity as it is printed", "spec: {overhead: {cpu: 2}}", "spec.overhead", {"cpu": "2"}),
    (
        "an item by its key",
        "spec: {containers: [{name: side, image: s:2}]}",
        "spec.containers.1",
        {"name": "side", "image": "s:2", "env": [{"name": "A", "value": "1"}]},
    ),
    (
        "a new item",
        "spec: {containers: [{name: new, image: n}]}",
        "spec.containers.2",
        {"name": "new", "image": "n"},
    ),
    (
        "a list in an item",
        "spec: {containers: [{name: side, env: [{name: B, value: '2'}]}]}",
        "spec.containers.1.env",
        [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    ),
    (
        "a key with a default",
        "spec: {containers: [{name: app, ports: [{containerPort: 80, name: web}]}]}",
        "spec.containers.0.ports",
        [{"containerPort": 80, "protocol": "TCP", "name": "web"}],
    ),
    (
        "$patch: delete",
        "spec: {containers: [{name: side, $patch: delete}]}",
        "spec.containers.*.name",
        ["app"],
    ),
    (
        "$patch: delete of nothing",
        "spec: {containers: [{name: none, $patch: delete}]}",
        "spec.containers.*.name",
        ["app", "side"],
    ),
    (
        "deleted before others are added",
        "spec: {containers: [{name: new, image: n}, {name: app, $patch: delete}]}",
        "spec.containers.*.name",
        ["side", "new"],
    ),
    (
        "a condition that all fulfil",
        'spec: {containers: [{(name): "*", imagePullPolicy: Always}]}',
        "spec.containers.*.imagePullPolicy",
        ["Always", "Always"],
    ),
    (
        "a condition that one fulfils",
        'spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}',
        "spec.containers.*.imagePullPolicy",
        ["Always", None],
    ),
    (
        "a condition and a key",
        'spec: {containers: [{name: side, (image): "s:*", imagePullPolicy: Never}]}',
        "spec.containers.*.imagePullPolicy",
        [None, "Never"],
    ),
    (
        "a key whose condition fails is not added",
        'spec: {containers: [{name: new, (image): "s:*", imagePullPolicy: Never}]}',
        "spec.containers.*.name",
        ["app", "side"],
    ),
    (
        "$patch: delete of all that fulfil a condition",
        'spec: {containers: [{(name): "s*", $patch: delete}]}',
        "spec.containers.*.name",
        ["app"],
    ),
    (
        "conditions see what items with keys made",
        'spec: {containers: [{(name): "*", imagePullPolicy: Always}, {name: new, image: n}]}',
        "spec.containers.*.imagePullPolicy",
        ["Always", "Always", "Always"],
    ),
    (
        "a condition deeper in an item",
        'spec: {containers: [{resources: {(limits): {cpu: "*"}, requests: {cpu: 1}}}]}',
        "spec.containers.*.resources",
        [None, None],
    ),
    (
        "a condition of a map holds for all of the overlay",
        "metadata: {labels: {(app): web, tier: back}}\nspec: {hostNetwork: true}",
        "spec.hostNetwork",
        True,
    ),
    (
        "and fails for all of it",
        "metadata: {labels: {(app): other, tier: back}}\nspec: {hostNetwork: true}",
        "spec.hostNetwork",
        None,
    ),
    (
        "a condition on what is not there fails",
        "spec: {securityContext: {(runAsUser): 0, runAsNonRoot: true}}",
        "spec.securityContext",
        None,
    ),
    (
        "X() holds of what is not there",
        "spec: {securityContext: {X(runAsUser): null, runAsNonRoot: true}}",
        "spec.securityContext",
        {"runAsNonRoot": True},
    ),
    (
        "X() fails",
        "metadata: {labels: {X(app): null, tier: back}}",
        "metadata.labels.tier",
        "front",
    ),
    (
        "=() holds of what is not there",
        "metadata: {labels: {=(none): a, tier: back}}",
        "metadata.labels.tier",
        "back",
    ),
    (
        "=() fails",
        "metadata: {labels: {=(app): a, tier: back}}",
        "metadata.labels.tier",
        "front",
    ),
    (
        "^() holds if one item does",
        'spec: {^(containers): [{image: "*:latest"}], hostNetwork: true}',
        "spec.hostNetwork",
        True,
    ),
    (
        "^() fails if none does",
        'spec: {^(containers): [{image: "*:none"}], hostNetwork: true}',
        "spec.hostNetwork",
        None,
    ),
    (
        "() of a list asks for all of its items",
        'spec: {(containers): [{image: "*:latest"}], hostNetwork: true}',
        "spec.hostNetwork",
        None,
    ),
    (
        "<() is a condition of the whole overlay",
        'metadata: {labels: {tier: back}}\nspec: {containers: [{<(image): "*:latest"}]}',
        "metadata.labels.tier",
        "back",
    ),
    (
        "<() fails if no item fulfils it",
        'metadata: {labels: {tier: back}}\nspec: {containers: [{<(image): "*:none"}]}',
        "metadata.labels.tier",
        "front",
    ),
    (
        "+() adds",
        "metadata: {labels: {+(team): x}}",
        "metadata.labels.team",
        "x",
    ),
    ("+() leaves", "metadata: {labels: {+(app): x}}", "metadata.labels.app", "web"),
    (
        "+() of a map leaves all of it",
        "spec: {+(nodeSelector): {zone: a}}",
        "spec.nodeSelector",
        {"disk": "ssd"},
    ),
    (
        "+() below what is not there",
        "spec: {securityContext: {+(runAsNonRoot): true}}",
        "spec.securityContext",
        {"runAsNonRoot": True},
    ),
    (
        "+() in every item",
        'spec: {containers: [{(name): "*", +(env): [{name: B, value: "2"}]}]}',
        "spec.containers.*.env",
        [[{"name": "B", "value": "2"}], [{"name": "A", "value": "1"}]],
    ),
    (
        "items of a list that is not there",
        'spec: {initContainers: [{(name): "*", image: x}]}',
        "spec.initContainers",
        None,
    ),
]


@pytest.mark.parametrize(
    ("overlay", "path", "want"), [row[1:] for row in MERGES], ids=[r[0] for r in MERGES]
)
def test_what_becomes_of_a_pod(overlay: str, path: str, want: Any) -> None:
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


UNCHANGED = [row[1] for row in MERGES if row[0] in ("X() fails", "+() leaves", "null of nothing")]


@pytest.mark.parametrize(
    "overlay",
    [
        *UNCHANGED,
        "metadata: {labels: {app: web}}",
        "spec: {containers: [{name: app, image: a:latest}]}",
    ],
)
def test_no_change_is_the_same_object(overlay: str) -> None:
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
