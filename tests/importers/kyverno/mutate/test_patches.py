"""``patchesJson6902`` of Kyverno: overlays where they say the same, else lenient JSON Patches."""

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.importers.kyverno.mutate.builders import changed, imported, overlay, refusal

# (operations, the overlay of a Pod)
OVERLAYS = [
    ("{op: add, path: /metadata/labels/a~1b, value: c}", "{metadata: {labels: {a/b: c}}}"),
    ("{op: remove, path: /metadata/labels/a}", "{metadata: {labels: {a: null}}}"),
    ("{op: add, path: /spec/hostNetwork, value: true}", "{spec: {hostNetwork: true}}"),
    (
        "{op: add, path: /spec/tolerations/-, value: {key: a}}",
        "{spec: {tolerations: [{$patch: append}, {key: a}]}}",
    ),
    ("{op: add, path: /spec/volumes/-, value: {name: a}}", "{spec: {volumes: [{name: a}]}}"),
    (
        "{op: add, path: /metadata/labels/a, value: 'x-{{request.namespace}}'}",
        "{metadata: {labels: {a: 'x-${request.namespace}'}}}",
    ),
]


@pytest.mark.parametrize(("operation", "want"), OVERLAYS)
def test_overlays(operation: str, want: str) -> None:
    assert overlay(f"patchesJson6902: '{_quoted(operation)}'") == yaml.safe_load(want)


NO_OVERLAYS = [
    "{op: replace, path: /metadata/labels/a, value: b}",
    "{op: add, path: /metadata/labels, value: {a: b}}",
    "{op: add, path: /spec/containers/0/tty, value: true}",
    "{op: add, path: /spec/unknown, value: 1}",
    "{op: test, path: /metadata/name, value: a}",
    "{op: add, path: '/metadata/labels/{{request.operation}}', value: a}",
]


@pytest.mark.parametrize("operation", NO_OVERLAYS)
def test_other_operations_are_a_json_patch(operation: str) -> None:
    (mutation,) = imported(f"patchesJson6902: '{_quoted(operation)}'").spec["mutations"]
    assert mutation["patchType"] == "JSONPatch"


def test_missing_parents_are_made() -> None:
    mutate = """
    patchesJson6902: |-
      - {op: replace, path: /spec/priority, value: 1}
      - {op: add, path: /metadata/annotations/a, value: b}
      - {op: add, path: /metadata/annotations/c, value: d}
      - {op: add, path: /spec/affinity/nodeAffinity/x, value: {}}
      - {op: add, path: /spec/containers/0/env/-, value: {name: A, value: a}}
      - {op: remove, path: /spec/containers/0/tty}
      - {op: remove, path: /spec/containers/7/tty}
      - {op: remove, path: /metadata/annotations/none}
    """.replace("/spec/affinity/nodeAffinity/x, value: {}", "/spec/dnsConfig/searches/-, value: x")
    found = changed(mutate, pod(container("a", "i", tty=True)))
    assert found["metadata"]["annotations"] == {"a": "b", "c": "d"}
    assert found["spec"]["dnsConfig"] == {"searches": ["x"]}
    assert found["spec"]["containers"] == [container("a", "i", env=[{"name": "A", "value": "a"}])]


def test_variables_without_quotes() -> None:
    found = overlay(
        """
        patchesJson6902: |-
          - op: add
            path: /metadata/labels/a
            value: {{ request.object.metadata.name || 'none' }}
          - op: add
            path: /spec/priority
            value: {{ length(request.object.spec.containers) }}
        """
    )
    assert found["metadata"]["labels"]["a"].startswith("${object.metadata.")
    assert found["spec"]["priority"] == "${size(object.spec.containers)}"


def test_an_item_that_is_added_at_the_end_has_a_comment() -> None:
    tolerations = "patchesJson6902: [{op: add, path: /spec/tolerations/-, value: {key: a}}]"
    assert "is not added again" in imported(tolerations).notes.comments["mutations", 0]
    assert not imported("patchesJson6902: [{op: remove, path: /spec/priority}]").notes.comments


AFFINITY = """
patchesJson6902: |-
  - op: add
    path: /spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/-1/matchExpressions/-1
    value: {key: zone, operator: Exists}
"""
ZONE: JSONObject = {"key": "zone", "operator": "Exists"}
DISK: JSONObject = {"key": "disk", "operator": "Exists"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, [{"matchExpressions": [ZONE]}]),
        ([{"matchExpressions": [DISK]}], [{"matchExpressions": [DISK, ZONE]}]),
        (
            [{"matchExpressions": [DISK]}, {"matchFields": [DISK]}],
            [{"matchExpressions": [DISK]}, {"matchFields": [DISK], "matchExpressions": [ZONE]}],
        ),
    ],
)
def test_indexes_from_the_end(before: object, after: object) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    obj = pod(container("a", "i"))
    if before is not None:
        obj["spec"]["affinity"] = {"nodeAffinity": {required: {"nodeSelectorTerms": before}}}
    found = changed(AFFINITY, obj)
    assert found["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"] == after


def test_a_list_is_also_understood() -> None:
    assert overlay("patchesJson6902: [{op: add, path: /metadata/labels/a, value: b}]")


REFUSALS = [
    ("{op: add, path: metadata/labels/a, value: b}", "path: `metadata/labels/a`"),
    ("{op: Add, path: /a, value: b}", "`Add` is no operation"),
    ("{op: add, path: /a}", "add without a value"),
    ("{op: add, path: /a, value: b, extra: c}", "`extra` is no field"),
    ("{op: add}", "op and path"),
    ("{op: add, path: '/a/{{ random(`[1]`) }}', value: b}", "random"),
]


@pytest.mark.parametrize(("operation", "reason"), REFUSALS)
def test_refusals(operation: str, reason: str) -> None:
    found = refusal(f"patchesJson6902: '{_quoted(operation)}'")
    assert found.startswith("patchesJson6902[0]")
    assert reason in found


def test_what_is_no_patch() -> None:
    assert "no YAML" in refusal("patchesJson6902: '{'")
    assert "a list of operations" in refusal("patchesJson6902: 'a: b'")


def _quoted(operation: str) -> str:
    return f"[{operation}]".replace("'", "''")
