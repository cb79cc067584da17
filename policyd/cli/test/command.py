"""``policyd test``: runs the suites (PolicyTest) in files and directories, much like go test."""

import re
from pathlib import Path

import click

from policyd.cli.shared.version import version_option
from policyd.cli.test.output import FORMATS, write
from policyd.cli.test.run import Options, run, suites_of
from policyd.errors import ConfigError
from policyd.policy.source.loader import load, require
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd test policies/
  policyd test policies/require-limits --run 'limits/no limit'
  policyd test policies/ --require-tests --coverage --coverage-min 95
  policyd test policies/require-limits --watch
  policyd test policies/ --format junit > report.xml
  policyd test policies/ --format json | jq '.[] | select(.passed | not)'

\b
How to read a failure:
  --- FAIL: limits/no limit is denied (0.00s)       the suite and the case
      suite.yaml:9: allowed                         where it stands, what differs
                   expected  found
          allowed  false     true
        admits: Policy require-limits  policy.yaml:4     what the policies did, as
            match: resourceRules[0] fits                 policyd explain tells it

\b
Coverage counts, over all cases that ran: each validation, matchCondition and selector that was true
and that was false, each rule, binding, mutation, exception and audit annotation that applied. What
never happened is listed. An error is neither true nor false.

Exit status: 0 when all cases pass, 1 when one fails, a policy has no test (--require-tests) or too
little is covered (--coverage-min), 2 when policies or suites are broken.
"""


@click.command("test", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--run", "pattern", metavar="REGEX", help="Only cases whose SUITE/CASE it finds.")
@click.option("-v", "--verbose", is_flag=True, help="Name the cases that pass, too.")
@click.option(
    "--explain/--no-explain",
    default=True,
    help="Below a failure, tell what the policies did.  [default: explain]",
)
@click.option(
    "--require-tests",
    is_flag=True,
    help="A policy that no suite tests, or that no case concerns, is an error.",
)
@click.option("--coverage", is_flag=True, help="Tell what no case brought about.")
@click.option(
    "--coverage-min",
    "least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail if less is covered; implies --coverage.",
)
@click.option("--watch", is_flag=True, help="Go on, and run again what a change concerns.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="text: for people; json: a list of one object a case (with --coverage: under cases); "
    "the others are for CI.",
)
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    pattern: str | None,
    verbose: bool,
    explain: bool,
    require_tests: bool,
    coverage: bool,
    least: float | None,
    watch: bool,
    form: str,
    version: KubernetesVersion,
) -> None:
    """Run the suites in PATHS: requests, and what the policies must answer.

    A suite (kind PolicyTest) lies beside its policy and names it under policies:; without that it
    tests all policies in PATHS together.
    """
    observed = coverage or least is not None
    options = Options(_pattern(pattern), explain, require_tests, observed, least or 0.0, version)
    if require_tests and pattern is not None:
        raise click.UsageError("--require-tests asks for all cases: leave out --run")
    if watch:
        if form != "text":
            raise click.UsageError(f"--watch is for people: it has no --format {form}")
        from policyd.cli.test.watch import Watch  # what it needs takes a while to load

        raise SystemExit(Watch(paths, options, verbose).run())
    sources = require(load(paths, version=options.version))
    tested = run(sources, suites_of(sources, paths, options), options)
    if pattern is not None and not any(each.cases for each in tested.suites):
        raise ConfigError(f"--run {pattern!r} finds no case")
    write(form, tested, verbose)
    if not tested.passed:
        raise SystemExit(1)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"{error}", param_hint="--run") from None
