"""Results of suites as text (much like go test), JSON and reports for CI. Runs nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from textwrap import dedent
from typing import Any

import click

from policyd.cli.shared.output import counted, echo_json, fields_json, problem_text, styled
from policyd.cli.shared.reports import REPORTS, ReportEntry, ReportRule, echo_report
from policyd.cli.shared.terminal.wrapping import aligned, echo_wrapped
from policyd.cli.shared.tree import TreeStyle, readable_width
from policyd.cli.test.failure import compared, deciding
from policyd.cli.test.run import CaseRun, SuiteResults, SuiteRun
from policyd.json_types import JSONObject
from policyd.offline.coverage import Part, PolicyCoverage, percent
from policyd.policy.model.suite import SuiteRequest
from policyd.policy.suite.runner import CaseResult

_WIDEST = 140
_HEADS = ("PLACE", "POLICY", "COVERED", "NEVER")
_RULES = {
    "case": ReportRule(
        "Every case of a suite gets the answer it expects",
        "Correct the policy, or what the case expects. policyd explain shows why a policy acted.",
    ),
    "require-tests": ReportRule(
        "Every policy has a suite with a case that matches it",
        "Add a suite.yaml beside the policy.",
    ),
    "coverage": ReportRule(
        "The cases of the suites produce every outcome of a policy",
        "Add cases for the outcomes that the message names.",
        "note",
    ),
}


def write(form: str, results: SuiteResults, verbose: bool) -> None:
    """Print the run in one of FORMATS."""
    if form == "text":
        echo_wrapped("\n".join(text(results, verbose)))
    elif form == "json":
        echo_json(_json(results))
    else:
        entries = _entries(results, "" if form == "junit" else "case")
        echo_report(form, entries, _RULES, "policyd test")


FORMATS = ("text", "json", *REPORTS)


def text(results: SuiteResults, verbose: bool) -> Iterator[str]:
    """Yield the suites, a summary, the policies without tests and the coverage."""
    suites = [each for each in results.suites if each.cases]
    for each in suites:
        yield from _suite(each, verbose)
    if len(suites) > 1:
        yield _total(suites)
    for problem in results.untested:
        yield problem_text(problem)
    if results.coverage is not None:
        yield from _coverage(results, results.coverage, verbose)


def _suite(run: SuiteRun, verbose: bool) -> Iterator[str]:
    for case in run.cases:
        result = case.result
        if result.passed and not verbose:
            continue
        word = styled("--- PASS", fg="green") if result.passed else styled("--- FAIL", fg="red")
        yield f"{word}: {result.suite}/{result.name} ({result.seconds:.2f}s)"
        yield from failure_lines(case)
    yield _verdict(run.failed, len(run.cases), run.document.file, run.seconds)


def _verdict(failed: int, cases: int, what: str, seconds: float) -> str:
    count = f"{failed} of {counted(cases, 'case')} failed" if failed else counted(cases, "case")
    word = styled("FAIL", fg="red") + "  " if failed else styled("ok", fg="green") + "    "
    return f"{word}{what}  {count}  {seconds:.2f}s"


def _total(suites: Sequence[SuiteRun]) -> str:
    cases, failing = sum(len(each.cases) for each in suites), sum(bool(s.failed) for s in suites)
    what = f"{len(suites)} suites"
    if failing:
        what = f"{failing} of {what}"
    seconds = sum(each.seconds for each in suites)
    return _verdict(sum(each.failed for each in suites), cases, what, seconds)


def failure_lines(case: CaseRun) -> Iterator[str]:
    """Yield the explanation of a failed case: what differs, and what the policies did."""
    result = case.result
    if result.error:
        yield f"    {result.file}:{result.line}: {result.error}"
    if not result.mismatches:
        return
    width = readable_width(_WIDEST)
    keys = {each.key: None for each in result.mismatches}
    yield f"    {result.file}:{result.line}: {', '.join(keys)}"
    lines = compared(result.mismatches, width - 8, deletes=_deletes(case.case.request))
    yield from (f"        {line}" for line in lines)
    for head, stories in (("", case.stories), ("second run of the mutations:", case.again)):
        if stories and head:
            yield f"      {styled(head, dim=True)}"
        if stories:
            lines = deciding(stories, keys.keys(), TreeStyle(width - 6))
            yield from (f"      {line}".rstrip() for line in lines)


def _deletes(request: SuiteRequest) -> bool:
    """Whether the request of a case is a DELETE."""
    old = request.old_object is not None or request.old_object_file is not None
    new = request.object is not None or request.object_file is not None
    return request.operation == "DELETE" or (request.operation is None and old and not new)


def _coverage(
    results: SuiteResults, policies: Sequence[PolicyCoverage], verbose: bool
) -> Iterator[str]:
    rows = [row for each in policies for row in _rows(each, verbose)]
    if rows:
        yield from aligned([_HEADS, *rows], len(_HEADS))
    seen, wanted = sum(each.seen for each in policies), sum(each.wanted for each in policies)
    share = f"{_shown(percent(policies))} % ({seen} of {counted(wanted, 'outcome')})"
    line = f"coverage: {share} of {counted(len(policies), 'policy', 'policies')}"
    if results.covers_too_little:
        line += f", less than {_shown(results.least)} %"
    yield styled(line, fg="red" if results.covers_too_little else "green")


def _shown(value: float) -> str:
    """Format with one decimal; less than 100 is never rounded up to 100."""
    return "100" if value >= 100 else f"{min(value, 99.9):.1f}"


def _rows(each: PolicyCoverage, verbose: bool) -> Iterator[tuple[str, str, str, str]]:
    name, share = each.document.name, f"{each.seen}/{each.wanted}"
    for part in each.parts:
        if part.missing:
            never = f"{_named(part)}: {', '.join(part.missing)}"
            yield f"{part.file}:{part.line}", name, share, never
    if verbose and each.seen == each.wanted:
        yield f"{each.document.file}:{each.document.place('metadata.name')[0]}", name, share, ""


def _named(part: Part) -> str:
    return f"{part.path} {part.name}" if part.name else part.path


def _json(results: SuiteResults) -> Any:
    """Return the list of cases, or an object that also has coverage and untested policies."""
    cases = [_case(case.result) for each in results.suites for case in each.cases]
    if results.coverage is None and not results.untested:
        return cases
    whole: JSONObject = {"cases": cases, "untested": [asdict(each) for each in results.untested]}
    if results.coverage is not None:
        whole["coverage"] = {
            "percent": percent(results.coverage),
            "policies": [_covered(each) for each in results.coverage],
        }
    return whole


def _case(result: CaseResult) -> JSONObject:
    return {
        **fields_json(result, "suite", "name", "file", "line"),
        "mismatches": [asdict(each) for each in result.mismatches],
        **fields_json(result, "error", "seconds", "passed"),
    }


def _covered(each: PolicyCoverage) -> JSONObject:
    return {
        **fields_json(each.document, "name", "kind", "file"),
        **fields_json(each, "matched", "seen", "wanted"),
        "parts": [asdict(part) for part in each.parts],
    }


def _entries(results: SuiteResults, rule: str) -> Iterable[ReportEntry]:
    for run in results.suites:
        for case in run.cases:
            yield _entry(case, rule)
    for problem in results.untested:
        text = f"{problem.message}; {problem.hint}"
        place = (problem.file, problem.line, problem.column)
        yield ReportEntry("require-tests", "error", text, "", "require-tests", *place)
    for each in results.coverage or ():
        for part in each.parts:
            if part.missing:
                message = f"never {', '.join(part.missing)}"
                subject = f"{each.document.name} {_named(part)}"
                at = (part.file, part.line)
                yield ReportEntry("coverage", "note", message, subject, "coverage", *at)
    if results.covers_too_little and results.coverage is not None:
        message = f"{_shown(percent(results.coverage))} % is less than {_shown(results.least)} %"
        yield ReportEntry("coverage", "error", message, "all policies", "coverage")


def _entry(case: CaseRun, rule: str) -> ReportEntry:
    result = case.result
    message = result.error
    if not result.passed and not message:
        keys = ", ".join(each.key for each in result.mismatches)
        lines = "\n".join(click.unstyle(line) for line in list(failure_lines(case))[1:])
        message = f"not as expected: {keys}\n{dedent(lines)}"
    return ReportEntry(
        rule,
        "none" if result.passed else "error",
        message,
        f"{result.suite}/{result.name}" if rule else result.name,
        result.file,
        result.file,
        result.line,
        seconds=result.seconds,
    )
