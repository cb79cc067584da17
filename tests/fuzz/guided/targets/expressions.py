"""CEL expressions: a string is refused with a position, or planned; what is planned has a value or an
error, the same one each time, within the budget.
"""

from functools import cache
from time import perf_counter_ns
from typing import Any

import orjson

from policyd._core.eval.program import Program, render
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.unparse import unparse
from policyd.errors import BudgetExceeded, CelCompileError, CelSyntaxError, Problem
from tests import authorizers, shared
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import reviews

SECOND = 1_000_000_000
LONGEST = 2_000
WORDS = (
    "object",
    "oldObject",
    "params",
    "request",
    "authorizer",
    "namespaceObject",
    "true",
    "null",
    "1u",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    "has(",
    ".?",
    "[?",
    "dyn(",
    "type(",
    " in ",
    "&&",
    "||",
    "==",
    "!=",
    ".size()",
    ".matches('",
    "quantity('1Ki')",
    "ip('::1')",
    "cidr('10.0.0.0/8')",
    "timestamp('2024-01-01T00:00:00Z')",
    "duration('1h')",
    "semver('1.2.3')",
    "url('https://a')",
    "optional.of(",
    ".orValue(",
    ".format([",
    "'%s'",
    "r'\\d+'",
    "b'\\xff'",
    "Object{",
    "JSONPatch{op:",
    ".split(',')",
    ".substring(",
    ".sort()",
    ".flatten()",
    "lists.range(",
    "9223372036854775807",
    "1e309",
    "object.metadata.labels",
    "object.spec.containers",
    "[0]",
    "{'a': 1}",
    "? 1 : ",
    "cel.bind(x, 1, ",
)


@cache
def environment() -> Environment:
    return Environment.kubernetes()


@cache
def variables() -> dict[str, Any]:
    request = orjson.loads(reviews.seeds()[0])["request"]
    return {
        "object": request["object"],
        "oldObject": None,
        "params": {"data": {"a": "1", "b": [1, 2.5, None, True]}},
        "request": authorizers.REQUEST,
        "namespaceObject": {"metadata": {"name": "shop", "labels": {"a": "b"}}},
        **authorizers.variables(),
    }


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")  # neither files nor reviews have half surrogates
    try:
        program = environment().compile(text)
    except CelCompileError as error:
        assert error.text and error.problems
        for problem in error.problems:
            positioned(problem, text)
        return
    printed(text)
    first = outcome(program)
    assert outcome(program) == first, "not the same twice"


def positioned(problem: Problem, text: str) -> None:
    assert problem.message
    # Programs that cannot be created have no place in Kubernetes' text, and none here.
    place = problem.line >= 1 and problem.column >= 1
    assert place or problem.message.startswith("program instantiation failed: "), problem
    str(problem)


def printed(text: str) -> None:
    """What is printed of a syntax tree has the same tree, or its printing is stable at least."""
    with deep_recursion():
        once = unparse(parse(text))
        try:
            assert unparse(parse(once)) == once, "printed differently the second time"
        except CelSyntaxError as error:
            raise AssertionError(f"what is printed does not parse: {once!r}") from error


def outcome(program: Program) -> object:
    """The printed value, or the error."""
    try:
        value, cost = program.evaluate_with_cost(
            variables(), deadline=perf_counter_ns() + 2 * SECOND
        )
    except BudgetExceeded as error:
        return type(error)
    assert cost >= 0
    return value.message if isinstance(value, CelError) else render(value), cost


def seeds() -> list[bytes]:
    rows = [*shared.rows(shared.ROOT / "tests/core/rows/language.jsonl")]
    rows += [*shared.rows(shared.ROOT / "tests/core/rows/differential.jsonl")]
    found = dict.fromkeys(str(row.get("expr") or row.get("expression")) for row in rows)
    return [each.encode() for each in found if len(each) < LONGEST][::4]


TARGET = FuzzTarget(check, seeds, mutating.text_mutation(WORDS))
