"""``patchStrategicMerge`` of Kyverno as overlays."""

from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.importers.kyverno.mutate.builders import changed, imported, overlay, refusal

# (what Kyverno merges below spec of a Pod, what the overlay has there)
TREES: list[tuple[str, str]] = [
    ("{priorityClassName: high}", "{priorityClassName: high}"),
    ("{+(priorityClassName): high}", "{+(priorityClassName): high}"),
    ("{hostNetwork: null}", "{hostNetwork: null}"),
    ("{(hostNetwork): true, dnsPolicy: X}", "{(hostNetwork): true, dnsPolicy: X}"),
    ("{nodeSelector: {a: b}}", "{nodeSelector: {a: b}}"),
    # New items go first.
    ("{imagePullSecrets: [{name: a}]}", "{imagePullSecrets: [{$patch: prepend}, {name: a}]}"),
    ("{volumes: [{name: a, $patch: delete}]}", "{volumes: [{name: a, $patch: delete}]}"),
    # A list without keys is replaced.
    ("{tolerations: [{key: a}]}", "{tolerations: [{$patch: replace}, {key: a}]}"),
    ("{tolerations: []}", "{tolerations: []}"),
    ("{+(tolerations): [{key: a}]}", "{+(tolerations): [{key: a}]}"),
    # Items with anchors.
    ('{containers: [{(name): "*", tty: true}]}', '{containers: [{(name): "*", tty: true}]}'),
    ("{containers: [{+(tty): true}]}", '{containers: [{(name): "*", +(tty): true}]}'),
    (
        '{containers: [{(name): "*", env: [{name: A, value: a}]}]}',
        '{containers: [{(name): "*", env: [{$patch: prepend}, {name: A, value: a}]}]}',
    ),
    (
        "{containers: [{name: new, image: i, env: [{name: A, value: a}]}]}",
        "{containers: [{$patch: prepend}, {name: new, image: i, env: [{name: A, value: a}]}]}",
    ),
    ('{containers: [{<(image): "x/*"}], dnsPolicy: X}',) * 2,
    (
        "{(securityContext): {+(runAsUser): 1}}",
        '{(securityContext): "*", securityContext: {+(runAsUser): 1}}',
    ),
    (
        "{containers: [{(securityContext): {+(privileged): false}}]}",
        '{containers: [{(securityContext): "*", securityContext: {+(privileged): false}}]}',
    ),
    ("{containers: [{(securityContext): {X(privileged): null}, tty: true}]}",) * 2,
    # Variables.
    ("{hostname: '{{request.namespace}}'}", "{hostname: '${request.namespace}'}"),
    ("{hostname: 'a-{{ request.namespace }}.b'}", "{hostname: 'a-${request.namespace}.b'}"),
    ("{hostname: 'a${b}'}", "{hostname: 'a$${b}'}"),
]


@pytest.mark.parametrize(("tree", "want"), TREES)
def test_overlay(tree: str, want: str) -> None:
    found = overlay(f"patchStrategicMerge: {{spec: {tree}}}")
    assert found == {"spec": yaml.safe_load(want)}


def test_a_key_with_a_variable() -> None:
    found = overlay(
        "patchStrategicMerge: {metadata: {labels: {'x-{{request.operation}}': '{{request.uid}}'}}}"
    )
    assert found == {"metadata": {"labels": "${{'x-' + request.operation: request.uid}}"}}


REMARKS = [
    ("{containers: [{name: a, +(tty): true}]}", "whatever its name"),
    ("{containers: [{(name): a, env: [{(name): A}]}]}", "only conditions"),
    ('{containers: [{<(image): "x/*", tty: true}]}', "beside a global anchor"),
    ('{containers: [{(name): "*", ports: [{(name): a, hostPort: 1}]}]}', "only by a name"),
]


@pytest.mark.parametrize(("tree", "message"), REMARKS)
def test_remarks(tree: str, message: str) -> None:
    (remark,) = imported(f"patchStrategicMerge: {{spec: {tree}}}").notes.remarks
    assert message in remark.message
    assert remark.path.startswith("spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]")


REFUSALS = [
    ("patchStrategicMerge: {spec: {X(hostNetwork): null, dnsPolicy: X}}", "X(hostNetwork)"),
    ("patchStrategicMerge: {spec: {hostNet: true}}", "hostNet: `hostNet` is no field"),
    (
        "patchStrategicMerge: {spec: {(hostname): '{{request.namespace}}', dnsPolicy: X}}",
        "condition",
    ),
    ("patchStrategicMerge: {spec: {tolerations: [{(key): a, value: b}]}}", "tolerations: anchors"),
    ("patchStrategicMerge: {spec: {containers: [{image: a}]}}", "without its name"),
    ("patchStrategicMerge: {spec: {hostname: '$(./../x)'}}", "reference"),
    ("patchStrategicMerge: {spec: {hostname: '{{ random(''[a-z]'') }}'}}", "random"),
    ("{patchStrategicMerge: {metadata: {+labels: {a: b}}}}", "metadata.+labels: '+labels' has no"),
    ("{patchStrategicMerge: {metadata: {}}, targets: [{kind: Secret}]}", "targets: "),
    ("{patchStrategicMerge: {metadata: {}}, foreach: [{}]}", "one of"),
    ("{patchStrategicMerge: {metadata: {}}, other: 1}", "other: "),
]


@pytest.mark.parametrize(("mutate", "reason"), REFUSALS)
def test_refusals(mutate: str, reason: str) -> None:
    assert reason in refusal(mutate)


def test_new_items_go_first() -> None:
    mutate = (
        "patchStrategicMerge: {spec: {containers: [{name: n, image: i}, {name: b, tty: true}]}}"
    )
    found = changed(mutate, pod(container("a", "i"), container("b", "i")))
    assert [each["name"] for each in found["spec"]["containers"]] == ["n", "a", "b"]
    assert found["spec"]["containers"][2]["tty"] is True


def test_conditions_of_items_and_of_the_whole() -> None:
    mutate = """
    patchStrategicMerge:
      metadata: {annotations: {(team): "?*"}}
      spec:
        containers:
        - (image): "*:latest"
          imagePullPolicy: Always
    """
    obj = pod(container("a", "i:latest"), container("b", "i:1"))
    assert changed(mutate, obj) == obj
    obj["metadata"]["annotations"] = {"team": "a"}
    policies = [each.get("imagePullPolicy") for each in changed(mutate, obj)["spec"]["containers"]]
    assert policies == ["Always", None]


# (what Kyverno merges into a custom resource, the object before, its spec after)
WIDGETS: list[tuple[str, JSONObject, Any]] = [
    ("{a: {b: {c: 1}}}", {}, {"a": {"b": {"c": 1}}}),
    ("{a: {b: {c: 1}}}", {"a": {"x": 1}}, {"a": {"x": 1, "b": {"c": 1}}}),
    ("{a: {+(b): 1, +(c): 2}}", {"a": {"b": 5}}, {"a": {"b": 5, "c": 2}}),
    ("{a: null, x/y: 2}", {"a": 1}, {"x/y": 2}),
    ("{a: null}", {"b": 1}, {"b": 1}),
    ("{a: [1, 2], b: ['{{request.operation}}']}", {"a": [3]}, {"a": [1, 2], "b": ["CREATE"]}),
]


@pytest.mark.parametrize(("tree", "before", "after"), WIDGETS)
def test_custom_resources(tree: str, before: JSONObject, after: Any) -> None:
    obj: JSONObject = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": before}
    obj["metadata"] = {"name": "w", "namespace": "shop"}
    found = changed(f"patchStrategicMerge: {{spec: {tree}}}", obj, "example.com/v1/Widget")
    assert found["spec"] == after


def test_conditions_of_custom_resources_are_refused() -> None:
    mutate = "patchStrategicMerge: {spec: {(a): 1, b: 2}}"
    assert "schema" in refusal(mutate, "example.com/v1/Widget")
