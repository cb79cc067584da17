"""Laws of patterns over any JSON: an object's own leaves fit it, and told places exist in it."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policyd.pattern import compile_pattern

KEYS = st.text("abcXY", min_size=1, max_size=3)
WORDS = st.text("abc*? :/.", min_size=1, max_size=6)
NAMES = st.text("abc :/.", min_size=1, max_size=6)


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.dictionaries(KEYS, inner, max_size=4)
            | st.lists(inner, max_size=3)
            | st.lists(st.dictionaries(KEYS, inner, max_size=3), max_size=3)
        ),
        max_leaves=12,
    )


SCALARS = st.one_of(st.integers(), st.booleans(), WORDS, st.none())
OBJECTS = st.dictionaries(KEYS, trees(SCALARS), max_size=4)
MARKED = st.one_of(KEYS, st.builds("{}({})".format, st.sampled_from(["", "=", "<"]), KEYS))


@given(OBJECTS)
def test_a_pattern_of_an_objects_own_leaves_fits_it(value: dict[str, Any]) -> None:
    assert compile_pattern(value).holds(value)


def without_marks(tree: Any) -> Any:
    """The tree with at most one mark on each name."""
    if isinstance(tree, dict):
        names = {re.sub(r"^.?\((.*)\)$", r"\1", key): key for key in tree}
        return {key: without_marks(tree[key]) for key in names.values()}
    return [without_marks(item) for item in tree] if isinstance(tree, list) else tree


PATTERNS = st.dictionaries(
    MARKED,
    st.recursive(
        st.one_of(st.integers(0, 3), st.booleans(), NAMES, st.sampled_from(["*", "?*", "!a", "a|b"])),
        lambda inner: st.dictionaries(MARKED, inner, max_size=3) | st.lists(inner, max_size=2),
        max_leaves=8,
    ),
    max_size=4,
).map(without_marks)  # fmt: skip
STEP = re.compile(r"\.?([A-Za-z]+)|\[([0-9]+)\]")


def reached(value: Any, path: str) -> Any:
    """What stands at a path; None from where on there is nothing."""
    for name, index in STEP.findall(path):
        if name and isinstance(value, dict):
            value = value.get(name)
        elif index and isinstance(value, list):
            value = value[int(index)]
        else:
            assert value is None
            return None
    return value


@given(PATTERNS, OBJECTS)
def test_what_is_said_to_be_found_is_there(tree: Any, value: dict[str, Any]) -> None:
    pattern = compile_pattern(tree)
    said = pattern.check(value)
    if said is None:
        return
    assert said and not pattern.holds(value)
    for place in said.split("; "):
        if place.startswith("and "):
            continue
        path, _, rest = place.partition(": expected ")
        found = reached(value, path)
        assert rest.endswith(", found nothing") is (found is None)


@given(OBJECTS, st.lists(KEYS, min_size=1, max_size=4))
def test_null_and_missing_are_the_same(value: dict[str, Any], keys: list[str]) -> None:
    pattern = compile_pattern(dict.fromkeys(keys, "?*"))
    nulls = {**dict.fromkeys(keys), **value}
    assert pattern.check(value) == pattern.check(nulls)
