"""What people write in Kyverno's patchStrategicMerge: the same here, or refused with what to write."""

import pytest
import yaml

from policyd.json_types import JSONObject
from policyd.mutation import overlay
from tests.builders.objects import container, pod
from tests.mutation.builders import POD, SCHEMAS
from tests.mutation.overlays.builders import Patterns, merged

CONTAINERS = (
    container("app", "registry.example.com/app:latest"),
    container("log", "log:1", resources={"limits": {"cpu": "50m"}}),
)
VOLUMES = [
    {"name": "cache", "emptyDir": {}},
    {"name": "run", "hostPath": {"path": "/var/run/docker.sock"}},
]


# (name, overlay, what the Pod has beside its containers, its metadata beside the name)
SAME: list[tuple[str, str, JSONObject, JSONObject]] = [
    (
        "an annotation where a volume is of one kind",
        'metadata: {annotations: {+(done): "true"}}\nspec: {volumes: [{<(emptyDir): {}}]}',
        {"volumes": VOLUMES},
        {"annotations": {"a": "1", "done": "true"}},
    ),
    (
        "the same where none is",
        'metadata: {annotations: {+(done): "true"}}\nspec: {volumes: [{<(emptyDir): {}}]}',
        {"volumes": VOLUMES[1:]},
        {"annotations": {"a": "1"}},
    ),
    (
        "the same where there are no volumes",
        'metadata: {annotations: {+(done): "true"}}\nspec: {volumes: [{<(emptyDir): {}}]}',
        {},
        {"annotations": {"a": "1"}},
    ),
    (
        "a pattern below a global condition",
        'metadata: {annotations: {+(done): "true"}}\nspec: {volumes: [{<(hostPath): {path: "*"}}]}',
        {"volumes": VOLUMES},
        {"annotations": {"a": "1", "done": "true"}},
    ),
    (
        "a condition deeper in an item",
        'metadata: {annotations: {done: "x"}}\nspec: {volumes: [{hostPath: {<(path): "*sock"}}]}',
        {"volumes": VOLUMES},
        {"annotations": {"a": "1", "done": "x"}},
    ),
    (
        "two conditions of one item",
        'metadata: {annotations: {done: "x"}}\nspec: {containers: [{(name): log, <(image): "*latest"}]}',
        {},
        {"annotations": {"a": "1"}},
    ),
    (
        "what is there stays",
        "metadata: {annotations: {+(a): '2', +(done): '2'}}",
        {},
        {"annotations": {"a": "1", "done": "2"}},
    ),
    (
        "a value is removed",
        "metadata: {annotations: {a: null, done: '2'}}",
        {},
        {"annotations": {"done": "2"}},
    ),
]


@pytest.mark.parametrize(("tree", "spec", "want"), [r[1:] for r in SAME], ids=[r[0] for r in SAME])
def test_annotations(tree: str, spec: JSONObject, want: JSONObject) -> None:
    after = merged(tree, pod(*CONTAINERS, namespace=None, annotations={"a": "1"}, **spec), POD)
    assert after["metadata"] == {"name": "web", **want}
    assert after["spec"] == pod(*CONTAINERS, namespace=None, annotations={"a": "1"}, **spec)["spec"]


def test_limits_are_added_to_every_container() -> None:
    tree = 'spec: {containers: [{(name): "*", resources: {limits: {+(memory): 300Mi, +(cpu): 1}}}]}'
    limits = [
        container["resources"]["limits"]
        for container in merged(tree, pod(*CONTAINERS), POD)["spec"]["containers"]
    ]
    assert limits == [{"memory": "300Mi", "cpu": "1"}, {"memory": "300Mi", "cpu": "50m"}]


def test_containers_of_a_pod_with_a_volume_of_the_host() -> None:
    tree = """
        spec:
          (volumes): [{(hostPath): {path: /var/run/docker.sock}}]
          containers: [{(image): "*:latest", command: [ls], imagePullPolicy: Always}]
    """
    only = merged(tree, pod(*CONTAINERS, volumes=VOLUMES[1:]), POD)["spec"]["containers"]
    assert only[0] == {**CONTAINERS[0], "command": ["ls"], "imagePullPolicy": "Always"}
    assert only[1] == CONTAINERS[1]


REFUSED = [
    ("metadata: {labels: {a: '{{request.object.metadata.name}}'}}", "Kyverno's variables", "${"),
    ("metadata: {labels: {a: 'x-{{ request.namespace }}'}}", "Kyverno's variables", "${"),
    ("spec: {containers: [{(name): '{{element.name}}', image: x}]}", "", ""),
    ("spec: {containers: [{resources: {limits: {+(memory): 1Gi}}}]}", "needs its name", "(name)"),
    ('spec: {containers: [{(image): "x"}]}', "changes nothing", "^(NAME)"),
    (
        "spec: {containers: [{name: x, $patch: merge}]}",
        "Unsupported value",
        "maps and items are merged",
    ),
]


@pytest.mark.parametrize(("tree", "message", "hint"), REFUSED)
def test_what_is_refused_says_what_to_write(tree: str, message: str, hint: str) -> None:
    patterns = Patterns()
    found, faults = overlay.read(yaml.safe_load(tree), (), patterns)
    schema = SCHEMAS.target(POD).schema
    assert schema is not None
    all_faults = [*faults, *found.bind(schema)]
    if not message:  # the pattern says so
        assert patterns.refused
        return
    assert any(message in fault.message and hint in fault.hint for fault in all_faults), all_faults


@pytest.mark.parametrize("text", ["{{ .Values.x }}", "{{- range }}", "${'{{request.x}}'}"])
def test_other_braces_are_texts(text: str) -> None:
    after = overlay.read({"data": {"a": text}}, (), Patterns())
    assert after[1] == []
