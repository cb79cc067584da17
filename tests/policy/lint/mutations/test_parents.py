"""Advice on paths of JSON Patches that some objects do not have."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import (
    DEPLOYMENTS,
    EVERYTHING,
    apply_configuration,
    json_patch,
    map_,
    overlay,
    policy,
    rule,
)
from tests.policy_sets import loaded

LABEL = "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]"
NO_LABELS = "/metadata/labels may be missing, and then add fails"


def told(*texts: str, rules: tuple[JSONObject, ...] = (), **spec: Any) -> list[tuple[str, str]]:
    """The advice on a policy with these JSON Patches, and the hints."""
    mutations = [*spec.pop("before", []), *map(json_patch, texts)]
    sources = loaded(policy("p", *rules, mutations=mutations, **spec))
    assert sources.problems == ()
    found = list(in_policies(LintRun(sources), unguarded))
    assert all(each.severity == "advice" and each.line and "^" in each.excerpt for each in found)
    return [(each.message, each.hint) for each in found if each.rule == "fragile-mutation"]


MISSING = [
    (LABEL, NO_LABELS, "write (has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: "
     "'/metadata/labels', value: {}}]) + [JSONPatch{…}], or in a Policy an Overlay, which adds it"),
    ("[JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), value: 'b'}]",
     "/metadata/annotations may be missing, and then add fails", "write (has(object.metadata.annotations) ? []"),
    ("[JSONPatch{op: 'add', path: '/spec/volumes/-', value: {'name': 'x'}}]",
     "/spec/volumes may be missing, and then add fails", "path: '/spec/volumes', value: []}"),
    ("[JSONPatch{op: 'remove', path: '/spec/nodeName'}]", "/spec/nodeName may be missing, and then remove fails",
     "write has(object.spec.nodeName) ? [JSONPatch{…}] : []"),
    ("[JSONPatch{op: 'remove', path: '/metadata/labels/a'}]", "/metadata/labels may be missing, and then remove fails",
     "write 'a' in object.metadata.?labels.orValue({}) ? [JSONPatch{…}] : []"),
    ("has(object.metadata.labels) ? [JSONPatch{op: 'remove', path: '/metadata/labels/a'}] : []",
     "/metadata/labels/a may be missing, and then remove fails", "write 'a' in object.metadata.labels ? [JSONPatch{…}] : []"),
    ("[JSONPatch{op: 'replace', path: '/spec/securityContext/seLinuxOptions/level', value: 'x'}]",
     "/spec/securityContext/seLinuxOptions may be missing, and then replace fails",
     "write has(object.spec.securityContext.seLinuxOptions) ? [JSONPatch{…}] : []"),
    ("[JSONPatch{op: 'copy', path: '/spec/hostname', from: '/spec/nodeName'}]", "/spec/nodeName may be missing, and then copy fails",
     "write has(object.spec.nodeName) ? [JSONPatch{…}] : []"),
    ("object.spec.containers.transformList(i, c, JSONPatch{op: 'add', path: '/spec/containers/' + string(i) "
     "+ '/securityContext/privileged', value: false})",
     "/spec/containers/…/securityContext may be missing, and then add fails", "an Overlay, which adds it"),
    ("has(object.metadata.annotations) ? " + LABEL + " : []", NO_LABELS, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), MISSING)
def test_what_may_be_missing(text: str, message: str, hint: str) -> None:
    ((found, remedy),) = told(text)
    assert found == message
    assert hint in remedy


GUARDED = [
    "(has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]) + " + LABEL,
    "has(object.metadata.labels) ? " + LABEL + " : []",
    "!has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}] : " + LABEL,
    "object.metadata.?labels.orValue({}).size() > 0 ? " + LABEL + " : []",
    "'a' in object.metadata.?labels.orValue({}) ? [JSONPatch{op: 'remove', path: '/metadata/labels/a'}] : []",
    "has(object.metadata.labels) && 'a/b' in object.metadata.labels ? [JSONPatch{op: 'remove', path: '/metadata/labels/a~1b'}] : []",
    "object.metadata.?labels[?'a'].hasValue() ? [JSONPatch{op: 'remove', path: '/metadata/labels/a'}] : []",
    "object.metadata.?labels.?a.orValue('') == 'x' ? [JSONPatch{op: 'remove', path: '/metadata/labels/a'}] : []",
    "object.metadata.?annotations.orValue({}).exists(k, k == 'a') ? [JSONPatch{op: 'remove', path: '/metadata/annotations/a'}] : []",
    "object.metadata.?annotations.orValue({}).filter(k, k.startsWith('x/')).map(k, "
    "JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)})",
    "object.metadata.?annotations.orValue({}).map(k, JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)})",
    "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]",
    "[JSONPatch{op: 'replace', path: '/spec/nodeName', value: 'x'}]",
    "[JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: 'x'}]",
    "[JSONPatch{op: 'remove', path: '/spec/containers/0'}]",
    "[JSONPatch{op: 'add', path: '/spec/securityContext/runAsNonRoot', value: true}]",
    "lists.range(size(object.spec.containers)).filter(i, has(object.spec.containers[i].securityContext)).map(i, "
    "JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/securityContext/privileged', value: false})",
    "object.spec.containers.transformList(i, c, has(c.securityContext), JSONPatch{op: 'add', "
    "path: '/spec/containers/' + string(i) + '/securityContext/privileged', value: false})",
    "object.spec.containers.transformList(i, c, has(c.securityContext) ? JSONPatch{op: 'add', path: '/spec/containers/' "
    "+ string(i) + '/securityContext/privileged', value: false} : JSONPatch{op: 'add', path: '/spec/containers/' "
    "+ string(i) + '/securityContext', value: {'privileged': false}})",
    "lists.range(size(object.spec.containers)).map(i, JSONPatch{op: 'replace', path: '/spec/containers/' + string(i) + '/image', value: 'x'})",
    "object.spec.?volumes.orValue([]).size() > 0 ? [JSONPatch{op: 'add', path: '/spec/volumes/-', value: {'name': 'x'}}] : []",
    "object.spec.?volumes.orValue([]).exists(v, v.name == 'x') ? [JSONPatch{op: 'remove', path: '/spec/volumes/0'}] : []",
]  # fmt: skip


@pytest.mark.parametrize("text", GUARDED)
def test_what_is_guarded(text: str) -> None:
    assert told(text) == []


def test_guards_outside_the_expression() -> None:
    condition = [{"name": "c", "expression": "has(object.metadata.labels)"}]
    assert told(LABEL, matchConditions=condition) == []
    assert told(LABEL, match={"objectSelector": {"matchLabels": {"a": "b"}}}) == []
    variable = [{"name": "labels", "expression": "object.metadata.?labels.orValue({})"}]
    text = "'a' in variables.labels ? [JSONPatch{op: 'remove', path: '/metadata/labels/a'}] : []"
    assert told(text, variables=variable) == []


def test_earlier_mutations_add_what_is_missing() -> None:
    first = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]"
    assert told(first, LABEL) == []
    for mutation in (
        overlay({"metadata": {"labels": {"x": "y"}}}),
        apply_configuration("Object{metadata: Object.metadata{labels: {'x': request.name}}}"),
    ):
        assert told(LABEL, before=[mutation]) == []


def test_each_part_is_reported_once_for_an_expression() -> None:
    assert [message for message, _ in told(f"{LABEL} + {LABEL}")] == [NO_LABELS]
    assert [message for message, _ in told(LABEL, LABEL)] == [NO_LABELS, NO_LABELS]


def test_labels_of_any_kind_may_be_missing() -> None:
    assert [message for message, _ in told(LABEL, rules=(EVERYTHING,))] == [NO_LABELS]
    assert told("[JSONPatch{op: 'remove', path: '/spec/x'}]", rules=(EVERYTHING,)) == []
    template = "[JSONPatch{op: 'add', path: '/spec/template/metadata/labels/a', value: 'b'}]"
    assert [message for message, _ in told(template, rules=(DEPLOYMENTS,))] == [
        "/spec/template/metadata/labels may be missing, and then add fails"
    ]


def test_lists_that_may_be_null() -> None:
    """has() is true for null."""
    roles = (rule("clusterroles", group="rbac.authorization.k8s.io"),)
    add = "[JSONPatch{op: 'add', path: '/rules/-', value: {'verbs': ['get']}}]"
    expected = (
        "/rules may be null, and then add fails",
        "write object.rules != null ? [JSONPatch{…}] : [], or in a Policy an Overlay",
    )
    assert told(add, rules=roles) == [expected]
    assert told(f"has(object.rules) ? {add} : []", rules=roles) == [expected]
    assert told(f"object.rules != null ? {add} : []", rules=roles) == []
    assert told("[JSONPatch{op: 'add', path: '/rules', value: []}]", rules=roles) == []


def test_mutating_admission_policies() -> None:
    found = list(in_policies(LintRun(loaded(map_("m", mutations=[json_patch(LABEL)]))), unguarded))
    assert [each.message for each in found] == [NO_LABELS]


def test_long_paths_end() -> None:
    path = "/spec" + "/volumes" * 1_000
    assert told(f"[JSONPatch{{op: 'add', path: '{path}', value: 1}}]") == [
        (
            "/spec/volumes may be missing, and then add fails",
            "write (has(object.spec.volumes) ? [] : [JSONPatch{op: 'add', path: '/spec/volumes', "
            "value: []}]) + [JSONPatch{…}], or in a Policy an Overlay, which adds it",
        )
    ]
