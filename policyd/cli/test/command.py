"""``policyd test``: runs test suites (PolicyTest), much like go test. Prints nothing itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from policyd.cli.shared.output import counted, format_option
from policyd.cli.shared.policy_options import documents, policy_paths
from policyd.cli.shared.request import DEFAULTS
from policyd.cli.shared.settings import EXISTING, PERCENT, OptionValue, grouped, option, percentage
from policyd.cli.shared.version import version_option
from policyd.cli.test.foreign import load_tested, run_foreign
from policyd.cli.test.last_failed import failed_before, note_failures
from policyd.cli.test.output import FORMATS, write
from policyd.cli.test.remarks import echo_remarks
from policyd.cli.test.run import NOT_RUN, RunOptions, SuiteResults, run, suites_of
from policyd.cli.test.update import drafted
from policyd.cli.test.update import update as write_expectations
from policyd.errors import ConfigError, PolicyError
from policyd.importers.reading import read_tests
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.loader import load, require
from policyd.policy.suite.runner import selected

_SHOWN_CASES = 10  # of those that --run may name
_EPILOG = """\b
Examples:
  policyd test
  policyd test policies/
  policyd test policies/require-limits --run 'limits/no limit'
  policyd test policies/ --last-failed
  policyd test policies/require-limits --update
  policyd test policies/ --require-tests --coverage --coverage-min 95
  policyd test policies/require-limits --watch
  policyd test policies/ --format junit > report.xml
  policyd test policies/ kyverno/disallow-latest-tag/  # tests of Kyverno
  policyd test policies/ --format json | jq '.[] | select(.passed | not)'

\b
How to read a failure:
  --- FAIL: limits/no limit is denied (0.00s)        the suite and the case
      suite.yaml:9: allowed                          the place, what differs
                   expected  found
          allowed  false     true
        admits: Policy require-limits  policy.yaml:4 what the policies did,
            match: resourceRules[0] matches          as explain shows it

Coverage counts outcomes over all cases that ran: each validation, matchCondition and selector that
was true and that was false, and each resource rule, binding, mutation, exception and audit
annotation that applied. Outcomes that never occurred are listed. An error is neither true nor
false.

--update changes only expect:, keeps comments and the rest of the file, and prints the differences:
review them, since the observed result may be wrong. A case in which a policy errs gets
error: true and a warning. Then the cases run again, which decides the exit status.

Exit status: 0 if all cases pass, 1 if a case fails, a policy has no test (--require-tests) or the
coverage is too low (--coverage-min), 2 if a policy or suite is invalid.
"""


def _cases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return a pattern of each case for a shell that completes words."""
    found = []
    # If this is the value of an option without =, click has left PATHS among the other words.
    for each in documents(context.args or context.params.get("paths") or ()):
        cases = each.raw.get("cases") if each.kind == "PolicyTest" else None
        for case in cases if isinstance(cases, list) else ():
            if isinstance(case, dict):
                name = f"{each.name}/{case.get('name')}"
                # Without characters that mean something to a shell or in a pattern.
                found.append("".join(s if s.isalnum() or s in "_-/" else "." for s in name))
    return [each for each in found if each.startswith(incomplete)]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"{error}", param_hint="--run") from None


def _coverage(text: str) -> float:
    """Parse a percentage; raises ValueError, also for a fraction of 1."""
    percent = percentage(text)
    if 0 < percent < 1 or percent > 100:
        raise ValueError("a percentage from 1 to 100, such as 90")
    return percent


@click.command("test", epilog=_EPILOG)
@policy_paths(EXISTING)
@option(
    "--run REGEX",
    "Run only the cases whose SUITE/CASE matches.",
    to="select",
    read=_pattern,
    shell_complete=_cases,
)
@option(
    "--last-failed", "Run only the cases that failed when they ran last; all cases if none did."
)
@option(
    "--update",
    "Write the observed answers into the suites, as expect: of cases that fail or have none.",
)
@option("-v, --verbose", "List the cases that pass too.")
@option("--explain/--no-explain", "Explain below each failure what the policies did.", default=True)
@option("--require-tests", "Fail if a policy has no suite, or no case matches it.")
@option("--coverage", "Report the outcomes that no case produced.")
@option(
    "--coverage-min",
    "Fail if less than this is covered; implies --coverage.",
    to="least",
    type=OptionValue(PERCENT, _coverage),
)
@option("--watch", "Run the affected suites again when files change.")
@format_option(
    *FORMATS,
    help="Choose the output format. json is a list with one object per case (under the key cases "
    "with --coverage).",
)
@DEFAULTS
@version_option()
@grouped("options", RunOptions)
def command(
    *,
    paths: tuple[Path, ...],
    options: RunOptions,
    last_failed: bool,
    update: bool,
    verbose: bool,
    watch: bool,
    form: str,
) -> None:
    """Run the test suites in PATHS against your policies and explain each failed case.

    A suite (kind PolicyTest) lists requests and the expected answers. It names the files of its
    policies under policies:; without that field it tests all policies in PATHS together. Without
    PATHS, the policies of policyd.yaml are read, or else the current directory.

    PATHS may also hold tests of Kyverno (kyverno-test.yaml) and Gatekeeper (suite.yaml): they run
    against the policies in PATHS that policyd import made of those that they name.
    """
    if options.require_tests and (options.select is not None or last_failed):
        flag = "--last-failed" if options.select is None else "--run"
        raise click.UsageError(f"--require-tests needs every case: remove {flag}")
    if update and form != "text":
        raise click.UsageError(f"--update cannot be combined with --format {form}")
    if watch:
        _watch(paths, options, verbose, form, update=update, last_failed=last_failed)
    sources, foreign = load_tested(paths, options.version)
    given = {
        "--update": update,
        "--last-failed": last_failed,
        "--require-tests": options.require_tests,
        "--coverage": options.covers,
    }
    _require_plain(foreign, given)
    try:
        if update:
            options = _update(paths, sources, options, last_failed)
            sources, last_failed = load(paths, version=options.version), False
        sources = require(sources)
        suites = suites_of(sources, paths, options, foreign=bool(foreign))
        if last_failed:
            options = _only_failed(suites, options)
        results = _run(sources, suites, options, foreign)
    except PolicyError as error:
        error.add_note(NOT_RUN)
        raise
    note_failures(results)
    echo_remarks(results, sources)
    write(form, results, verbose)
    if not results.passed:
        raise SystemExit(1)


def _watch(
    paths: Sequence[Path],
    options: RunOptions,
    verbose: bool,
    form: str,
    *,
    update: bool,
    last_failed: bool,
) -> NoReturn:
    for flag, given in (
        (f"--format {form}", form != "text"),
        ("--update", update),
        ("--last-failed", last_failed),
    ):
        if given:
            raise click.UsageError(f"--watch cannot be combined with {flag}")
    _require_plain(read_tests(paths)[0], {"--watch": True})
    from policyd.cli.test.watch import SuiteWatcher  # slow to import

    raise SystemExit(SuiteWatcher(paths, options, verbose).run())


def _update(
    paths: Sequence[Path], sources: Sources, options: RunOptions, last_failed: bool
) -> RunOptions:
    """Run the suites and write what was observed; return the options to run the same cases."""
    sources, written = drafted(sources)
    suites = suites_of(require(sources), paths, options)
    if last_failed:
        options = _only_failed(suites, options)
    plain = replace(options, explain=False, require_tests=False, coverage=False, least=None)
    write_expectations(_run(sources, suites, plain).suites, written)
    return options


def _require_plain(foreign: Sequence[Document], given: Mapping[str, bool]) -> None:
    """Raise UsageError for options that only suites of policyd have a meaning for."""
    for flag, is_given in given.items():
        if is_given and foreign:
            test = foreign[0]
            raise click.UsageError(
                f"{flag} needs suites of policyd, and {test.file} is a {test.kind} of "
                f"{test.api_version}: leave out one of them"
            )


def _run(
    sources: Sources,
    suites: Sequence[Document],
    options: RunOptions,
    foreign: Sequence[Document] = (),
) -> SuiteResults:
    results = run(sources, suites, options)
    if foreign:
        ran = (*results.suites, *run_foreign(foreign, sources, options))
        results = replace(results, suites=ran)
    if options.select is not None and not any(each.cases for each in results.suites):
        known = [f"{each.name}/{case.name}" for each in suites for case in selected(each)]
        there = f"; there are: {', '.join(known[:_SHOWN_CASES])}" if known else ""
        more = ", …" if len(known) > _SHOWN_CASES else ""
        raise ConfigError(f"--run {options.select.pattern!r} matches no case{there}{more}")
    return results


def _only_failed(suites: Sequence[Document], options: RunOptions) -> RunOptions:
    """Restrict a run to the cases that failed when they ran last, unless there are none."""
    before = failed_before(suites)
    count = sum(
        f"{each.name}/{case.name}" in before[each.file]
        for each in suites
        for case in selected(each, options.select)
    )
    if not count:
        click.echo("no case failed in the last run: running all cases", err=True)
        return options
    click.echo(f"running {counted(count, 'case')} that failed in the last run", err=True)
    return replace(options, only=before)
