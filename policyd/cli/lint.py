"""``policyd lint``: everything that is wrong with policy sources, and advice. Judges no request."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from policyd.admission.api import PolicySet
from policyd.cli._output import counted, echo_json, echo_problems
from policyd.errors import Problem
from policyd.policy import compiler, suite
from policyd.policy.advice import advise
from policyd.policy.constant import constant
from policyd.policy.documents import Sources
from policyd.policy.expense import expensive
from policyd.policy.loader import load
from policyd.policy.overlaps import overlapping
from policyd.policy.pattern_advice import misfitting
from policyd.policy.type_check import type_check

_EPILOG = """\b
Examples:
  policyd lint policies/
  policyd lint policy.yaml binding.yaml
  kustomize build overlays/prod | policyd lint -
  policyd lint --strict policies/
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
@click.option(
    "--strict",
    is_flag=True,
    help="Run the mutations of each suite's cases twice: a second patch is an error.",
)
def command(paths: tuple[Path, ...], form: str, strict: bool) -> None:
    """Check policies without a cluster: form, names, CEL, and what is probably not meant.

    Expressions are checked against the schemas of the kinds that rules name without wildcards
    (built-in ones, and those of CustomResourceDefinitions among PATHS).

    PATHS are files and directories of YAML or JSON; - is standard input. All problems are told at
    once, each with its place, and for CEL with a caret under it.
    """
    sources = load(paths)
    compiled = compiler.compile_sources(sources)
    errors = list(compiled.problems)
    if strict and not any(problem.severity == "error" for problem in errors):
        errors += not_idempotent(PolicySet(compiled), sources)
    today = datetime.now(UTC).date()
    advice = [
        *advise(sources, today),
        *type_check(sources),
        *misfitting(sources),
        *expensive(sources),
        *constant(sources),
        *overlapping(sources),
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


def not_idempotent(policies: PolicySet, sources: Sources) -> Iterator[Problem]:
    """The cases of suites whose mutations, run again over their own result, change it."""
    for document in sources.of_kind("PolicyTest"):
        chosen = policies.for_suite(document)
        for case in suite.run(document, chosen.review, with_namespace=chosen.reviewing_in):
            found = [each.found for each in case.mismatches if each.key == suite.IDEMPOTENT]
            if case.error:
                message = f"case {case.name!r} cannot be run: {case.error}"
            elif found and found[0] is True:
                message = f"case {case.name!r} says idempotent: false, and is"
            elif found:
                again = found[0] if isinstance(found[0], str) else orjson.dumps(found[0]).decode()
                message = f"case {case.name!r}: a second run of the mutations gives {again}"
            else:
                continue
            yield Problem(
                message,
                file=case.file,
                line=case.line,
                hint="mutate only what is not so already, or say idempotent: false in the case",
                rule="not-idempotent",
            )
