"""``policyd lint``: everything that is wrong with policy sources, and advice. Judges no request."""

from datetime import UTC, datetime
from pathlib import Path

import click

from policyd.cli._output import counted, echo_json, echo_problems
from policyd.policy import compiler
from policyd.policy.advice import advise
from policyd.policy.constant import constant
from policyd.policy.expense import expensive
from policyd.policy.loader import load
from policyd.policy.type_check import type_check

_EPILOG = """\b
Examples:
  policyd lint policies/
  policyd lint policy.yaml binding.yaml
  kustomize build overlays/prod | policyd lint -
  policyd lint policies/ --format json | jq '.[] | select(.severity == "error")'

Exit status: 0 when there are no errors (advice is none), 1 when there are.
"""


@click.command("lint", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: a list of objects with file, line, column, path, message, hint, rule, severity.",
)
def command(paths: tuple[Path, ...], form: str) -> None:
    """Check policies without a cluster: form, names, CEL, and what is probably not meant.

    Expressions are checked against the schemas of the kinds that rules name without wildcards
    (built-in ones, and those of CustomResourceDefinitions among PATHS).

    PATHS are files and directories of YAML or JSON; - is standard input. All problems are told at
    once, each with its place, and for CEL with a caret under it.
    """
    sources = load(paths)
    errors = list(compiler.check(sources))
    today = datetime.now(UTC).date()
    advice = [
        *advise(sources, today),
        *type_check(sources),
        *expensive(sources),
        *constant(sources),
    ]
    found = sorted(
        [*errors, *advice], key=lambda problem: (problem.file, problem.line, problem.column)
    )
    if form == "json":
        echo_json(found)
    else:
        echo_problems(found)
        documents = counted(len(sources.documents), "document")
        summary = f"{documents}: {counted(len(errors), 'error')}, {len(advice)} advice"
        click.echo(summary, err=True)
    if any(problem.severity == "error" for problem in found):
        raise SystemExit(1)
