"""Maps, lists and marks: what a pattern holds for, and what it says where it does not; and the idioms of
people who know Kyverno.
"""

from typing import Any

import pytest

from policyd.pattern import compile_any_pattern, compile_pattern
from tests.builders.objects import pod
from tests.pattern.idioms import NGINX, NON_ROOT, ROWS
from tests.pattern.rows import ANY, CONDITIONS, GLOBALS, KEYS, LISTS, MAPS, MARKS


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


@pytest.mark.parametrize(("trees", "value", "said"), ANY)
def test_any_pattern_says_why_each_failed(
    trees: list[object], value: object, said: str | None
) -> None:
    assert compile_any_pattern(trees).check(value) == said


@pytest.mark.parametrize(("pattern", "obj", "admitted"), ROWS)
def test_an_idiom_admits_and_denies_what_its_author_means(
    pattern: Any, obj: Any, admitted: bool
) -> None:
    assert (compile_pattern(pattern).check(obj) is None) is admitted


YES: dict[str, Any]
NO: dict[str, Any]
YES, NO = {"securityContext": {"runAsNonRoot": True}}, {"securityContext": {"runAsNonRoot": False}}


@pytest.mark.parametrize(
    ("obj", "admitted"),
    [
        (pod(NGINX, **YES), True),
        (pod(YES, YES), True),
        (pod(YES, NGINX), False),
        (pod(NO, **YES), False),
        (pod(NGINX), False),
    ],
)
def test_one_of_several_patterns_suffices(obj: Any, admitted: bool) -> None:
    assert (compile_any_pattern(NON_ROOT).check(obj) is None) is admitted
