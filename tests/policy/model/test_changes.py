"""Paths into objects: what they name, what is set and removed there, and what is no path."""

import copy
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.model.changes import PathError, changed, parts_of

OBJECT: JSONObject = {
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}, "annotations": None},
    "spec": {"containers": [{"image": "a"}, {"image": "b"}, {"image": "c"}], "replicas": 1},
}

PATHS: list[tuple[str, list[str]]] = [
    ("spec", ["spec"]),
    ("spec.containers[0].image", ["spec", "containers", "0", "image"]),
    ("spec.containers.0.image", ["spec", "containers", "0", "image"]),
    ("a[0][1]", ["a", "0", "1"]),
    ("spec.containers[+]", ["spec", "containers", "+"]),
    ("labels['app.kubernetes.io/name']", ["labels", "app.kubernetes.io/name"]),
    ('labels["a]b.c"].d', ["labels", "a]b.c", "d"]),
    ("['a.b']", ["a.b"]),
]


@pytest.mark.parametrize(("path", "parts"), PATHS)
def test_parts(path: str, parts: list[str]) -> None:
    assert parts_of(path) == parts


@pytest.mark.parametrize(
    "path", ["", ".", ".a", "a.", "a..b", "a[", "a[]", "a[0", "a[0]b", "a['x]", "a.[0]", "a['']"]
)
def test_texts_that_are_no_path(path: str) -> None:
    with pytest.raises(PathError, match="is not a path"):
        parts_of(path)


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/spec/containers/0/image", "spec.containers.0.image"),
        ("/metadata/labels/app.kubernetes.io~1name", "metadata.labels['app.kubernetes.io/name']"),
        ("/spec/containers/-", "spec.containers[+]"),
    ],
)
def test_a_json_pointer_is_written_as_a_path(pointer: str, path: str) -> None:
    with pytest.raises(PathError, match="is a path of a JSON Patch") as raised:
        parts_of(pointer)
    assert raised.value.hint == f"write {path}"


SET: list[tuple[str, Any, tuple[str | int, ...]]] = [
    ("spec.replicas", 3, ("spec", "replicas")),
    ("spec.containers[2].image", "z", ("spec", "containers", 2, "image")),
    ("spec.containers[+].image", "z", ("spec", "containers", 3, "image")),
    ("spec.new.deep", True, ("spec", "new", "deep")),
    ("spec.volumes[+]", {"name": "v"}, ("spec", "volumes", 0)),
    ("metadata.annotations.a", "b", ("metadata", "annotations", "a")),
    ("metadata.labels['app.kubernetes.io/name']", None,
     ("metadata", "labels", "app.kubernetes.io/name")),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "where"), SET)
def test_values_are_set_in_a_copy(path: str, value: Any, where: tuple[str | int, ...]) -> None:
    before = copy.deepcopy(OBJECT)
    found: Any = changed(OBJECT, {path: value}, [])
    for part in where:
        found = found[part]
    assert found == value
    assert before == OBJECT


def test_indexes_of_removals_are_those_before_them() -> None:
    paths = ["spec.containers[0]", "spec.containers[2]", "metadata.labels"]
    found = changed(OBJECT, {"spec.containers[1].image": "z"}, paths)
    assert found["spec"]["containers"] == [{"image": "z"}]
    assert found["metadata"] == {"annotations": None}


WRONG: list[tuple[str, str]] = [
    ("spec.containers[3].image", "[3]: the list has 3 items"),
    ("spec.containers.image", "image: a list has no fields"),
    ("spec.containers[0].image.tag", "tag: a string has no fields"),
    ("spec.replicas.x", "x: a number has no fields"),
    ("spec.volumes[0].name", "[0]: the object has no such list"),
]


@pytest.mark.parametrize(("path", "message"), WRONG)
def test_places_that_do_not_exist_cannot_be_set(path: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        changed(OBJECT, {path: 1}, [])
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.volumes", "volumes: the object has no such field"),
        ("spec.containers[+]", "+: a list has no fields"),
        ("metadata.annotations.a", "a: null has no fields"),
    ],
)
def test_what_is_not_there_cannot_be_removed(path: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        changed(OBJECT, {}, [path])
    assert caught.value.message == message
