"""How commands print: problems as text or JSON, and colours. Finds no problems."""

import difflib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.shared.settings import AddOption, option
from policyd.cli.shared.terminal.color import preferred
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.errors import Problem
from policyd.json_types import JSON, JSONObject
from policyd.policy.model.base import camel
from policyd.policy.source.json_text.encoding import json_bytes


def styled(text: str, **style: Any) -> str:
    """Color a string unless NO_COLOR is set; ``--color always`` overrides it, and ``click.echo``
    drops the color where ``terminal/color`` decided so.
    """
    context = click.get_current_context(silent=True)
    if preferred() is False and not (context and context.color):
        return text
    return click.style(text, **style)


def problem_text(problem: Problem) -> str:
    """Format a problem as compilers do: place, message, its details."""
    advice = problem.severity == "advice"
    word = styled("advice" if advice else "error", fg="yellow" if advice else "red")
    path = f"{problem.path}: " if problem.path else ""
    rule = f" [{problem.rule}]" if advice else ""  # the name by which it is disabled
    place = styled(problem.place, bold=True)
    line = f"{place}: {word}: {path}{problem.summary or problem.message}{rule}"
    return "\n".join((line, *problem_details(problem)))


def problem_details(problem: Problem) -> Iterator[str]:
    """Yield the lines below a problem: the source with a caret, a hint, the parser's words."""
    if problem.excerpt:
        yield problem.excerpt
    if problem.hint:
        yield f"  {styled('hint', fg='cyan')}: {problem.hint}"
    if problem.summary:
        yield styled(f"  parser: {problem.message}", dim=True)


def echo_problems(problems: Iterable[Problem], *, err: bool = False) -> None:
    """Print each problem as text."""
    for problem in problems:
        echo_wrapped(problem_text(problem), err=err)


def within(paths: Iterable[Path | str]) -> str:
    """Name where nothing was found: ``in a, b``, ``on standard input``."""
    names = list(map(str, paths))
    files = ", ".join(each for each in names if each != "-")
    parts = [f"in {files}"] if files else []
    return " and ".join([*parts, "on standard input"] if "-" in names else parts)


def warn(text: str, place: str = "") -> None:
    """Print a warning on standard error; ``place``: of what it is about."""
    where = f"{styled(place, bold=True)}: " if place else ""
    echo_wrapped(f"{where}{styled('warning', fg='yellow')}: {text}", err=True)


def echo_warning(problem: Problem) -> None:
    """Print a problem that ends nothing, on standard error."""
    path = f"{problem.path}: " if problem.path else ""
    warn("\n".join((f"{path}{problem.message}", *problem_details(problem))), problem.place)


def echo_skipped(problems: Iterable[Problem]) -> None:
    """Print a warning on standard error for each document that is not a Kubernetes object."""
    for problem in problems:
        warn(f"skipped: {problem.message.removeprefix('Required value: ')}", problem.place)


def diff_lines(
    before: Sequence[str], after: Sequence[str], old: str = "", new: str = "", *, context: int = 3
) -> Iterator[str]:
    """Yield the lines of a unified diff; ``old``, ``new``: the names of the two versions."""
    return difflib.unified_diff(before, after, old, new, n=context, lineterm="")


def colored_diff(lines: Iterable[str], removed: str = "red", added: str = "green") -> Iterator[str]:
    """Yield the lines of a diff in colors."""
    colors = {"-": removed, "+": added, "@": "cyan"}
    for line in lines:
        color = colors.get(line[:1])
        yield styled(line, fg=color) if color else line


def echo_json(value: Any, *, err: bool = False) -> None:
    """Print a JSON value, indented."""
    click.echo(json_bytes(value, indent=2), err=err)


def echo_objects(objects: Sequence[JSONObject], texts: Iterable[str], form: str) -> None:
    """Print objects: a List of them as JSON, or their texts as YAML documents."""
    if form == "json":
        echo_json({"apiVersion": "v1", "kind": "List", "items": objects})
    else:
        click.echo("---\n".join(texts), nl=False)


def answer_lines(lines: Iterable[bytes], answered: Callable[[bytes], JSON]) -> None:
    """Print the answer to each line as a line, and flush it: another program may wait for it."""
    for line in lines:
        if line.strip():
            sys.stdout.buffer.write(json_bytes(answered(line)) + b"\n")
            sys.stdout.buffer.flush()


def fields_json(of: object, *names: str) -> JSONObject:
    """Return attributes as the fields of a JSON object, whose names are in camel case."""
    return {camel(name): getattr(of, name) for name in names}


def shortest(file: str) -> str:
    """Return the shorter form of a path: as it was given, or relative to the working directory."""
    if file in ("", "-"):
        return file
    relative = os.path.relpath(file)
    return relative if len(relative) < len(file) else file


def one_line(text: str) -> str:
    """Return a text without line breaks and repeated blanks."""
    return " ".join(text.split())


def counted(number: int, noun: str, several: str = "") -> str:
    """Return ``1 error`` or ``2 errors``; ``several``: a plural that is not the noun and s."""
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def format_option(*forms: str, help: str = "Choose the output format.") -> AddOption:
    """Return the option ``--format``, passed on as ``form``; the first form is the default."""
    return option("--format", help, to="form", type=click.Choice(forms), default=forms[0])
