"""Functions on long texts take memory in proportion to the text, not an object for each part of it."""

import tracemalloc
from contextlib import suppress

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import STRING
from policyd.errors import BudgetExceeded

LENGTH = 1_000_000
TIMES = 8


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("format.dns1123Label().validate(text).hasValue()", "a."),
        ("format.dns1123Subdomain().validate(text).hasValue()", "a."),
        ("format.qualifiedName().validate(text).hasValue()", "a."),
        ("format.labelValue().validate(text).hasValue()", "a-"),
        ("format.uri().validate(text).hasValue()", "/%41"),
        ("isURL('/' + text)", "%41"),
        ("url('https://example.com/' + text).getEscapedPath().size() > 0", "%41"),
        ("url('https://example.com/?a=' + text).getQuery().size() > 0", "%41"),
        ("authorizer.serviceAccount(text, 'a').path('/').check('get').allowed()", "a."),
    ],
)
def test_memory_is_bounded_by_the_text(expression: str, text: str) -> None:
    given = text * (LENGTH // len(text)) + "!"
    environment = Environment.admission(authorizer=True).extend({"text": STRING})
    program = environment.compile(expression)
    tracemalloc.start()
    try:
        with suppress(BudgetExceeded):
            program.evaluate_with_cost({"text": given, "authorizer": None})
        assert tracemalloc.get_traced_memory()[1] < TIMES * LENGTH
    finally:
        tracemalloc.stop()
