"""How commands write: problems for people and for tools, colours only where they are wanted."""

import os
from collections.abc import Iterable
from typing import Any

import click
import orjson

from policyd.errors import Problem


def styled(text: str, **style: Any) -> str:
    """The text in colour, unless NO_COLOR is set; ``click.echo`` drops it again in a pipe."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)


def problem_text(problem: Problem) -> str:
    """A problem in the form of compilers: place, what is wrong, the line with a caret, a hint."""
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    advice = problem.severity == "advice"
    word = styled("advice" if advice else "error", fg="yellow" if advice else "red")
    path = f"{problem.path}: " if problem.path else ""
    rule = f" [{problem.rule}]" if advice else ""  # the name by which it is disabled
    lines = [f"{styled(place, bold=True)}: {word}: {path}{problem.message}{rule}"]
    if problem.excerpt:
        lines.append(problem.excerpt)
    if problem.hint:
        lines.append(f"  {styled('hint', fg='cyan')}: {problem.hint}")
    return "\n".join(lines)


def echo_problems(problems: Iterable[Problem], *, err: bool = False) -> None:
    """Each problem as text."""
    for problem in problems:
        click.echo(problem_text(problem), err=err)


def echo_json(value: Any) -> None:
    """One JSON value, indented for people who look at it all the same."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    click.echo(text)


def counted(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
