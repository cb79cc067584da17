"""What the command and a session of ``policyd eval`` share: the variables, and how errors and
estimates are printed for people; ``--jsonl`` prints the text of Kubernetes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from policyd._core.eval.estimates import MOST
from policyd.cel.env import Environment
from policyd.cel.types.types import DYN
from policyd.cli.shared.authorizer import UserAuthorizer
from policyd.cli.shared.output import problem_details, styled
from policyd.errors import CelCompileError

# These are null unless they are set.
ROOTS = ("object", "oldObject", "request", "namespaceObject", "params", "variables")


def declaring(environment: Environment, names: Iterable[str]) -> Environment:
    """Return an environment that declares these variables too."""
    return environment.extend(dict.fromkeys(sorted(set(names) - set(ROOTS)), DYN))


def values_of(given: Mapping[str, Any], authorizer: UserAuthorizer | None) -> dict[str, Any]:
    """Return the values of all variables."""
    values = {**dict.fromkeys(ROOTS), **given}
    return values if authorizer is None else values | authorizer.variables(values["request"])


def estimate_text(least: int, most: int) -> str:
    """Return an estimate of a cost."""
    return f"estimated {least:,} to {'unbounded' if most == MOST else f'{most:,}'}"


def error_text(message: str) -> str:
    """Return an error as a line."""
    return f"{styled('error', fg='red')}: {message}"


def compile_error(error: CelCompileError) -> str:
    """Return each problem with its place, the line with a caret, and a hint."""
    lines: list[str] = []
    for problem in error.problems:
        place = f"{problem.line}:{problem.column}: " if problem.excerpt else ""
        lines.append(error_text(f"{place}{problem.summary or problem.message}"))
        lines += problem_details(problem)
    return "\n".join(lines)
