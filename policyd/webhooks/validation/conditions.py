"""Check the matchConditions of a webhook, and compile them."""

from collections.abc import Iterator
from functools import lru_cache

from policyd._core.eval.program import Program
from policyd._core.match.labels import key_errors
from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL
from policyd.errors import CelCompileError
from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.validation.field_problems import (
    FieldProblem,
    duplicate,
    internal,
    invalid,
    required,
    too_many,
)

MAX_CONDITIONS = 64
# What Go's strings.TrimSpace removes: unlike Python's, not the separators U+001C to U+001F.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@lru_cache(maxsize=1024)
def compiled(expression: str, version: KubernetesVersion) -> Program:
    """Return the program of an expression; raises CelCompileError."""
    environment = Environment.admission(authorizer=True, version=version)
    return environment.compile(expression, expect=(BOOL,))


def trimmed(expression: str) -> str:
    """Return an expression as the API server compiles it."""
    return expression.strip(_SPACE)


def check_conditions(
    conditions: list[JSONObject], path: str, version: KubernetesVersion
) -> Iterator[FieldProblem]:
    """Check the conditions of one webhook."""
    if len(conditions) > MAX_CONDITIONS:
        yield too_many(path, len(conditions), MAX_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        at = f"{path}[{index}]"
        yield from _check_expression(condition.get("expression", ""), f"{at}.expression", version)
        name = condition.get("name", "")
        if not name:
            yield required(f"{at}.name")
            continue
        yield from invalid(f"{at}.name", name, key_errors(name))
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)


def _check_expression(
    expression: str, path: str, version: KubernetesVersion
) -> Iterator[FieldProblem]:
    text = trimmed(expression)
    if not text:
        yield required(path)
        return
    try:
        compiled(text, version)
    except CelCompileError as error:
        if error.text.startswith("program instantiation failed: "):
            yield internal(path, error.text)
        else:
            yield from invalid(path, text, [error.text])
