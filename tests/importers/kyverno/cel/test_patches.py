"""A patch finds the empty map or list that the patch before it added, as in Kyverno."""

import pytest

from policyd.importers.kyverno.cel.cel_policies import convert
from policyd.importers.kyverno.cel.patches import joined_patches
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import PODS, apply_configuration, document, json_patch
from tests.importers.converting import changed, converted

EMPTY = json_patch(
    "has(object.metadata.annotations) ? []"
    " : [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]"
)
# Made twice, it would add two tolerations.
MORE = json_patch(
    "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}},"
    " JSONPatch{op: 'add', path: '/spec/tolerations/-', value: {'key': 'a'}}]"
)
NOTE = json_patch("[JSONPatch{op: 'add', path: '/metadata/annotations/a', value: object.spec.x}]")


@pytest.mark.parametrize(
    ("second", "variables"),
    [
        (NOTE, {}),
        (json_patch("variables.names.map(n, JSONPatch{op: 'test', path: n})"), {"names": "['a']"}),
        (json_patch("has(object.metadata.labels) ? [] : [JSONPatch{}]"), {}),
    ],
)
def test_patches_become_one(second: JSONObject, variables: dict[str, str]) -> None:
    assert len(joined_patches([EMPTY, second], variables)) == 1


@pytest.mark.parametrize(
    ("first", "second", "variables"),
    [
        (MORE, json_patch("has(object.metadata.annotations.a) ? [] : [JSONPatch{}]"), {}),
        (MORE, json_patch("[JSONPatch{value: object.metadata}]"), {}),
        (MORE, json_patch("[JSONPatch{value: object[variables.x]}]"), {"x": "'metadata'"}),
        (MORE, json_patch("variables.all"), {"all": "object.metadata.annotations"}),
        (MORE, json_patch("variables[request.name]"), {}),
        (EMPTY, apply_configuration("Object{}"), {}),
        (apply_configuration("Object{}"), NOTE, {}),
        (json_patch("[JSONPatch{op: 'add', path: '/a', value: {'b': 1}}]"), NOTE, {}),
    ],
)
def test_patches_stay_apart(
    first: JSONObject, second: JSONObject, variables: dict[str, str]
) -> None:
    assert joined_patches([first, second], variables) == [first, second]


@pytest.mark.parametrize(
    "note",
    [
        "[JSONPatch{op: 'add', path: '/metadata/annotations/a', value: object.metadata.name}]",
        # It reads what the patch before adds.
        "object.metadata.?annotations[?'a'].hasValue() ? [] : "
        "[JSONPatch{op: 'add', path: '/metadata/annotations/a', value: 'web'}]",
    ],
)
def test_the_annotation_is_added(note: str) -> None:
    constraints = {"resourceRules": [PODS]}
    spec = {"matchConstraints": constraints, "mutations": [EMPTY, json_patch(note)]}
    source = document("policies.kyverno.io/v1", "MutatingPolicy", "sample", spec)
    found = converted(convert, source)
    assert changed(found, pod())["metadata"]["annotations"] == {"a": "web"}
    assert changed(found, pod(annotations={"b": "c"}))["metadata"]["annotations"] == {
        "a": "web",
        "b": "c",
    }


def test_lists_of_items_are_made_before_items_are_added() -> None:
    index = "object.spec.containers.map(c, object.spec.containers.indexOf(c))"
    path = "'/spec/containers/' + string(i) + '/env"
    made = f"{index}.filter(i, !has(object.spec.containers[i].env))"
    first = f"{made}.map(i, JSONPatch{{op: 'add', path: {path}', value: []}})"
    entry = "{'name': 'A', 'value': 'a'}"
    second = f"{index}.map(i, JSONPatch{{op: 'add', path: {path}/-', value: {entry}}})"
    patches = [json_patch(first), json_patch(second)]
    spec = {"matchConstraints": {"resourceRules": [PODS]}, "mutations": patches}
    source = document("policies.kyverno.io/v1", "MutatingPolicy", "sample", spec)
    found = changed(converted(convert, source), pod())
    assert found["spec"]["containers"][0]["env"] == [{"name": "A", "value": "a"}]
