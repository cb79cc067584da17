"""Edits of YAML: in each style of new values the text has exactly what was meant, or none is made."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.json_types import JSON, JSONObject
from policyd.policy.source.splitting import split
from policyd.policy.source.yaml_edit.chunks import edited_chunk, with_chunks
from policyd.policy.source.yaml_edit.edits import CannotEdit
from policyd.policy.source.yaml_edit.strings import NewString, with_strings
from policyd.policy.source.yaml_edit.values import PLAIN, Style
from policyd.policy.source.yaml_output import dump
from policyd.policy.suite.rendering import STYLE
from tests.sampling import examples

HEAD: JSONObject = {"apiVersion": "v1", "kind": "Pod"}
WORDS = st.sampled_from(["a", "b", "name", "yes", "1", "a b", "#x", "x: y", "é", "", "a\nb\n", "~"])
VALUES = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(-3, 3), st.just(1.5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=4)


def edited(text: str, after: JSONObject, style: Style, index: int = 0) -> str:
    documents, _ = split("a.yaml", text.encode())
    chunk = documents[index].origin.chunk
    members = [
        (each, after if each.index == index else each.raw)
        for each in documents
        if each.origin.chunk is chunk
    ]
    return with_chunks(text, [(chunk, edited_chunk(chunk, members, style))])


@pytest.mark.parametrize("style", [PLAIN, STYLE], ids=["plain", "suite"])
@settings(max_examples=examples(300), deadline=None)
@given(before=OBJECTS, after=OBJECTS, flow=st.booleans())
def test_text_has_the_new_value_or_is_not_edited(
    style: Style, before: JSONObject, after: JSONObject, flow: bool
) -> None:
    text = f"# kept\n{dump({**HEAD, **before}, flow=flow)}---\n{dump(HEAD)}# the end\n"
    try:
        result = edited(text, {**HEAD, **after}, style)
    except CannotEdit:
        return
    found, problems = split("a.yaml", result.encode())
    assert (problems, [each.raw for each in found]) == ([], [{**HEAD, **after}, HEAD])
    assert result.startswith("# kept\n") and result.endswith("# the end\n")


def changed(value: Any, path: str, new: JSON) -> Any:
    result = copy.deepcopy(value)
    *parents, last = path.split("/")
    place = result
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    place[last] = new
    return result


ALIASES = "apiVersion: v1\nkind: Pod\na: &x\n  b: 1\nc: *x\nd:\n- &y {e: 1}\n- *y\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("c", "c: comes from an alias; write it out"),
        ("c/b", "c: comes from an alias; write it out"),
        ("d/1/e", r"\[1\]: comes from an alias; write it out"),
        ("a/b", "this would change another place too, such as an alias"),
    ],
)
def test_no_value_of_another_place_is_changed(path: str, message: str) -> None:
    documents, _ = split("a.yaml", ALIASES.encode())
    with pytest.raises(CannotEdit, match=message):
        edited(ALIASES, changed(documents[0].raw, path, 2), STYLE)


def test_entries_are_added_after_an_alias() -> None:
    text = "apiVersion: v1\nkind: Pod\na: &x {b: 1}\nc: *x  # the same\n\n# the end\n"
    documents, _ = split("a.yaml", text.encode())
    result = edited(text, {**documents[0].raw, "d": ["e"]}, STYLE)
    assert result == text.replace("the same\n", "the same\nd: [e]\n")


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("a: pod", [NewString(3, "pod", "pods", False), NewString(3, "po", "xx", False)]),
        ("a: pod # x", [NewString(9, "x", "y", False)]),
        ("a: pod", [NewString(3, "pod", "yes", False)]),
        ("a: pod", [NewString(0, "a", "a: b\nc", False)]),
    ],
)
def test_strings_are_replaced_only_if_they_are_what_changes(
    text: str, edits: list[NewString]
) -> None:
    with pytest.raises(CannotEdit):
        with_strings("a.yaml", text, edits)
