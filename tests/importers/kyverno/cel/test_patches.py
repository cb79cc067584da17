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
        (EMPTY, json_patch("has(object.metadata.annotations.a) ? [] : [JSONPatch{}]"), {}),
        (EMPTY, json_patch("[JSONPatch{value: object.metadata}]"), {}),
        (EMPTY, json_patch("[JSONPatch{value: object[variables.x]}]"), {"x": "'metadata'"}),
        (EMPTY, json_patch("variables.all"), {"all": "object.metadata.annotations"}),
        (EMPTY, json_patch("variables[request.name]"), {}),
        (EMPTY, apply_configuration("Object{}"), {}),
        (apply_configuration("Object{}"), NOTE, {}),
        (json_patch("[JSONPatch{op: 'add', path: '/a', value: {'b': 1}}]"), NOTE, {}),
    ],
)
def test_patches_stay_apart(
    first: JSONObject, second: JSONObject, variables: dict[str, str]
) -> None:
    assert joined_patches([first, second], variables) == [first, second]


def test_the_annotation_is_added() -> None:
    note = "[JSONPatch{op: 'add', path: '/metadata/annotations/a', value: object.metadata.name}]"
    constraints = {"resourceRules": [PODS]}
    spec = {"matchConstraints": constraints, "mutations": [EMPTY, json_patch(note)]}
    source = document("policies.kyverno.io/v1", "MutatingPolicy", "sample", spec)
    found = converted(convert, source)
    assert changed(found, pod())["metadata"]["annotations"] == {"a": "web"}
    assert changed(found, pod(annotations={"b": "c"}))["metadata"]["annotations"] == {
        "a": "web",
        "b": "c",
    }
