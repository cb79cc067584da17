"""What the command and a session of ``policyd eval`` share: the variables, and how errors and
estimates are printed for people; ``--jsonl`` prints the text of Kubernetes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policyd._core.eval.estimates import MOST
from policyd.cel.env import Environment
from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.source import Source
from policyd.cel.trace.steps import Step
from policyd.cel.types.types import DYN
from policyd.cli.shared.authorizer import UserAuthorizer
from policyd.cli.shared.output import problem_details, styled
from policyd.errors import CelCompileError

_NO_KEY = "no such key: "
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


def run_error(text: str, message: str, root: Step) -> Iterator[str]:
    """Yield a run-time error, the line with a caret below the part that failed, and a hint."""
    yield error_text(message)
    failed, values = _culprit(root)
    yield Source(text).marked(failed.fault)
    hint = _key_hint(message.removeprefix(_NO_KEY), values) if message.startswith(_NO_KEY) else ""
    if hint:
        yield f"  {styled('hint', fg='cyan')}: {hint}"


def _culprit(root: Step) -> tuple[Step, list[Step]]:
    """Return the innermost subexpression that is an error, and what it was evaluated with: the
    nearest value first.
    """
    step, around = root, list[Step]()
    while True:
        below = (
            each
            for each in step.children
            if each.failed or (each.round and any(part.failed for part in each.children))
        )
        failed = next(below, None)
        if failed is None:
            return step, [*reversed(step.children), *reversed(around)]
        around += [failed] if failed.round else []
        step = failed


def _key_hint(key: str, values: Iterable[Step]) -> str:
    """Return the remedy for a key that the nearest value does not have."""
    for each in values:
        held = each.value if each.round and isinstance(each.value, list) else [each.value]
        for value in held:
            if value is None:
                return f"{each.text} is null"
            if not isinstance(value, dict) or key in value:
                continue
            keys = [name for name in value if isinstance(name, str)]
            close = near(key, keys)
            if close:
                return f"did you mean {close}?"
            return f"the keys are {listed(keys)}" if keys else "the map is empty"
    return ""


def compile_error(error: CelCompileError) -> str:
    """Return each problem with its place, the line with a caret, and a hint."""
    lines: list[str] = []
    for problem in error.problems:
        place = f"{problem.line}:{problem.column}: " if problem.excerpt else ""
        lines.append(error_text(f"{place}{problem.summary or problem.message}"))
        lines += problem_details(problem)
    return "\n".join(lines)
