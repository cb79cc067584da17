"""Maps, lists and marks: what a pattern holds for, and what it says where it does not."""

from typing import Any

import pytest

from policyd.pattern import compile_any_pattern, compile_pattern

EMPTY: dict[str, Any] = {}

# pattern, object, what is said (None: it fits or does not apply)
MAPS = [
    ({}, {"a": 1}, None),
    ({"a": {}}, {"a": {"b": 1}}, None),
    ({"a": {}}, {"a": "x"}, 'a: expected an object, found "x"'),
    ({"a": {}}, {}, "a: expected an object, found nothing"),
    ({"a": "?*"}, {}, "a: expected ?*, found nothing"),
    ({"a": "?*"}, {"a": None}, "a: expected ?*, found nothing"),
    ({"a": {"b": {"c": 1}}}, {}, "a.b.c: expected 1, found nothing"),
    ({"a": {"b": 1, "c": 2}}, {}, "a.b: expected 1, found nothing; a.c: expected 2, found nothing"),
    ({"a": {"b": 1}}, {"a": []}, "a: expected {b: 1}, found an empty list"),
    ({"a": {"=(b)": 1}}, {}, "a: expected {=(b): 1}, found nothing"),
    ({"a": {"(b)": 1}}, {}, "a: expected {(b): 1}, found nothing"),
    ({"a": None}, {}, None),
    ({"a": None}, {"a": 1}, "a: expected nothing, found 1"),
]
KEYS = [
    ({"app.*/name": "?*"}, {"app.example.com/name": "x"}, None),
    ({"app.*/name": "y"}, {"app.a/name": "x", "app.b/name": "y"}, None),
    ({"app.*/name": "?*"}, {"app": "x"}, "[app.*/name]: expected ?*, found nothing"),
    ({"a?": "x"}, {"ab": "y", "ac": "z"}, 'ab: expected x, found "y"; ac: expected x, found "z"'),
    ({"=(a?)": "x"}, {"ab": "x", "ac": "z", "d": 1}, 'ac: expected x, found "z"'),
    ({"=(a?)": "x"}, {}, None),
    ({"X(a?)": None}, {"d": 1}, None),
    ({"X(a?)": None}, {"ab": 1}, "ab: expected nothing, found 1"),
    ({"(a*)": "x", "b": 1}, {"ab": "y"}, None),
    ({"(a*)": "x", "b": 1}, {"ab": "x"}, "b: expected 1, found nothing"),
]
LISTS = [
    ({"a": [{"b": 1}]}, {"a": []}, None),
    ({"a": [{"b": 1}]}, {}, "a: expected [{b: 1}], found nothing"),
    ({"a": [{"b": 1}]}, {"a": {"b": 1}}, "a: expected [{b: 1}], found an object"),
    ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}, 3]}, "a[1].b: expected 1, found 2; "
     "a[2]: expected {b: 1}, found 3"),
    ({"a": ["x*"]}, {"a": ["xy", "z"]}, 'a[1]: expected x*, found "z"'),
    ({"a": ["x", "y"]}, {"a": ["y", "x", "y"]}, None),
    ({"a": ["x", "y"]}, {"a": ["z"]}, 'a[0]: expected x or y, found "z"'),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 2}, {"b": 1}]}, None),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 3}]}, "a[0]: expected {b: 1} or {b: 2}, "
     "found an object"),
    ({"a": [{"(n)": "x", "b": 1}, {"(n)": "y", "b": 2}]},
     {"a": [{"n": "x", "b": 1}, {"n": "y", "b": 1}, {"n": "z"}]}, "a[1].b: expected 2, found 1"),
    ({"a": []}, {"a": []}, None),
    ({"a": []}, {"a": [1]}, "a: expected an empty list, found a list of 1"),
    ({"a": []}, {}, "a: expected an empty list, found nothing"),
    ({"a": [["x"]]}, {"a": [["x"], ["x", "y"]]}, 'a[1][1]: expected x, found "y"'),
    ({"a": "!x"}, {"a": ["y", "x"]}, 'a[1]: expected !x, found "x"'),
    ({"a": "!x"}, {"a": ["y", None]}, "a[1]: expected !x, found nothing"),
]  # fmt: skip
MARKS = [
    ({"=(a)": {"b": 1}}, {}, None),
    ({"=(a)": {"b": 1}}, {"a": None}, None),
    ({"=(a)": {"b": 1}}, {"a": {}}, "a.b: expected 1, found nothing"),
    ({"X(a)": None}, {"a": None}, None),
    ({"X(a)": "null"}, {"a": "x"}, 'a: expected nothing, found "x"'),
    ({"^(a)": [{"n": "x"}]}, {"a": [{"n": "y"}, {"n": "x"}]}, None),
    ({"^(a)": [{"n": "x"}]}, {"a": []}, "a: expected at least one {n: x}, found an empty list"),
    ({"^(a)": [{"n": "x"}]}, {}, "a: expected a list with [{n: x}], found nothing"),
    ({"^(a)": [{"n": "x"}, {"n": "y"}]}, {"a": [{"n": "x"}]},
     "a: expected at least one {n: y}, found a list of 1"),
    ({"^(a)": ["x*"]}, {"a": ["y", "xy"]}, None),
    ({"^(a)": [{"(n)": "x", "b": 1}]}, {"a": [{"n": "y", "b": 1}]},
     "a: expected at least one {(n): x, b: 1}, found a list of 1"),
]  # fmt: skip
DOCKER = {"metadata": {"labels": {"ok": "true"}},
          "(spec)": {"(volumes)": [{"(hostPath)": {"path": "/docker.sock"}}]}}  # fmt: skip
UNLABELLED = "metadata.labels.ok: expected true, found nothing"
CONDITIONS = [
    ({"(a)": 1, "b": 2}, {"a": 1}, "b: expected 2, found nothing"),
    ({"(a)": 1, "b": 2}, {"a": 2}, None),
    ({"(a)": 1, "b": 2}, {}, None),
    ({"(a)": None, "b": 2}, {}, "b: expected 2, found nothing"),
    ({"(a)": 1, "(b)": 2, "c": 3}, {"a": 1, "b": 3}, None),
    # a condition skips its own map, and nothing beside it
    ({"a": {"(b)": 1, "c": 2}, "d": 1}, {"a": {"b": 3}}, "d: expected 1, found nothing"),
    ({"a": [{"(n)": "x", "b": 1}]}, {"a": [{"n": "x", "b": 2}, {"n": "y"}]},
     "a[0].b: expected 1, found 2"),
    # a condition that asks for a list wants an item that its own conditions let through
    (DOCKER, {"spec": {"volumes": [{"emptyDir": {}}]}}, None),
    (DOCKER, {"spec": {"volumes": []}}, None),
    (DOCKER, {"spec": {}}, None),
    (DOCKER, {"spec": {"volumes": [{"hostPath": {"path": "/x"}}]}}, None),
    (DOCKER, {"spec": {"volumes": [{"a": 1}, {"hostPath": {"path": "/docker.sock"}}]}}, UNLABELLED),
]  # fmt: skip
REGISTRY = {"spec": {"containers": [{"<(image)": "corp/*"}], "pull": "?*"}, "x": 1}
GLOBALS = [
    (REGISTRY, {"spec": {"containers": [{"image": "other"}]}}, None),
    (REGISTRY, {"spec": {"containers": []}}, None),
    (REGISTRY, {}, None),
    (REGISTRY, {"spec": {"containers": [{"image": "other"}, {"image": "corp/a"}]}},
     "spec.pull: expected ?*, found nothing; x: expected 1, found nothing"),
    ({"<(a)": 1, "b": 2}, {"a": 1}, "b: expected 2, found nothing"),
    ({"c": {"<(a)": 1}, "b": 2}, {"c": {"a": 2}}, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "value", "said"), [*MAPS, *KEYS, *LISTS, *MARKS, *CONDITIONS, *GLOBALS]
)
def test_a_pattern_says_every_place_that_does_not_fit(
    tree: object, value: object, said: str | None
) -> None:
    assert compile_pattern(tree).check(value) == said


@pytest.mark.parametrize(
    ("tree", "value", "holds"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"(a)": 1, "b": 1}, {"a": 2, "b": 1}, False),
        ({"(a)": 1}, {"a": 1}, True),
        ("x*", "xy", True),
        ("x*", None, False),
        ({"<(a)": 1}, {}, False),
    ],
)
def test_a_condition_asks_more_than_that_nothing_fails(
    tree: object, value: object, holds: bool
) -> None:
    assert compile_pattern(tree).holds(value) is holds


ANY = [
    ([{"a": 1}, {"b": 1}], {"b": 1}, None),
    ([{"a": 1}, {"b": 1}], {"b": 2}, "pattern 1: a: expected 1, found nothing; "
     "pattern 2: b: expected 1, found 2"),
    ([{"(a)": 1, "b": 1}, {"(a)": 2, "b": 2}], {"a": 3}, None),
    ([{"(a)": 1, "b": 1}, {"b": 2}], {"a": 3}, "pattern 1: does not apply; "
     "pattern 2: b: expected 2, found nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("trees", "value", "said"), ANY)
def test_any_pattern_says_why_each_failed(
    trees: list[object], value: object, said: str | None
) -> None:
    assert compile_any_pattern(trees).check(value) == said
