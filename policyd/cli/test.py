"""``policyd test``: runs the suites (PolicyTest) in files and directories, much like go test."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from policyd.admission.api import PolicySet
from policyd.cli._output import counted, echo_json, styled
from policyd.errors import ConfigError
from policyd.policy import compiler, suite
from policyd.policy.documents import Document
from policyd.policy.loader import load, require

_EPILOG = """\b
Examples:
  policyd test policies/
  policyd test policies/require-limits --run 'limits/no limit'
  policyd test policies/ -v
  policyd test policies/ --format json | jq '.[] | select(.passed | not)'

Exit status: 0 when all cases pass, 1 when one fails, 2 when policies or suites are broken.
"""
JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _SuiteResult:
    file: str
    cases: list[suite.CaseResult]

    @property
    def failed(self) -> int:
        return sum(not case.passed for case in self.cases)

    @property
    def seconds(self) -> float:
        return sum(case.seconds for case in self.cases)


@click.command("test", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--run", "pattern", metavar="REGEX", help="Only cases whose SUITE/CASE it finds.")
@click.option("-v", "--verbose", is_flag=True, help="Name the cases that pass, too.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: a list of one object a case.",
)
def command(paths: tuple[Path, ...], pattern: str | None, verbose: bool, form: str) -> None:
    """Run the suites in PATHS: requests, and what the policies must answer.

    A suite (kind PolicyTest) lies beside its policy and names it under policies:; without that it
    tests all policies in PATHS together.
    """
    try:
        select = re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise click.BadParameter(f"{error}", param_hint="--run") from None
    sources = require(load(paths))
    suites = sources.of_kind("PolicyTest")
    if not suites:
        raise ConfigError(f"no suites (kind PolicyTest) in {', '.join(map(str, paths))}")
    policies = PolicySet(compiler.compile_strict(sources))
    results = [_run(document, policies, select) for document in suites]
    if form == "json":
        echo_json([_case_json(case) for result in results for case in result.cases])
    else:
        for result in results:
            if result.cases or select is None:
                click.echo("\n".join(_lines(result, verbose)))
    if not any(result.cases for result in results):
        raise ConfigError(f"--run {pattern!r} finds no case")
    if any(result.failed for result in results):
        raise SystemExit(1)


def _run(document: Document, whole: PolicySet, select: re.Pattern[str] | None) -> _SuiteResult:
    policies = whole.for_suite(document)
    if not policies.names:
        raise ConfigError(
            f"{document.file}: the suite has no policies: name them under policies:, "
            "or give their files too"
        )
    cases = suite.run(
        document, policies.review, with_namespace=policies.reviewing_in, select=select
    )
    return _SuiteResult(document.file, cases)


def _lines(result: _SuiteResult, verbose: bool) -> Iterator[str]:
    for case in result.cases:
        if case.passed and not verbose:
            continue
        word = styled("--- PASS", fg="green") if case.passed else styled("--- FAIL", fg="red")
        yield f"{word}: {case.suite}/{case.name} ({case.seconds:.2f}s)"
        if case.error:
            yield f"    {case.file}:{case.line}: {case.error}"
        for mismatch in case.mismatches:
            yield f"    {case.file}:{case.line}: {mismatch.key}"
            yield f"        expected: {_shown(mismatch.expected)}"
            yield f"        found:    {_shown(mismatch.found)}"
    time = f"{result.seconds:.2f}s"
    if result.failed:
        count = f"{result.failed} of {counted(len(result.cases), 'case')} failed"
        yield f"{styled('FAIL', fg='red')}  {result.file}  {count}  {time}"
    else:
        count = counted(len(result.cases), "case")
        yield f"{styled('ok', fg='green')}    {result.file}  {count}  {time}"


def _shown(value: Any) -> str:
    return orjson.dumps(value).decode()


def _case_json(case: suite.CaseResult) -> JSON:
    return {**asdict(case), "passed": case.passed}
