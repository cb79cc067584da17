"""Patterns as people who know Kyverno write them: the idioms of its documentation and policies."""

from typing import Any

import pytest

from policyd.pattern import compile_any_pattern, compile_pattern
from tests.builders.objects import pod
from tests.pattern.idioms import NGINX, NON_ROOT, ROWS


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
