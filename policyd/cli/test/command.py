"""``policyd test``: runs test suites (PolicyTest), much like go test. Prints nothing itself."""

import re
from pathlib import Path

import click

from policyd.cli.shared.version import version_option
from policyd.cli.test.output import FORMATS, write
from policyd.cli.test.run import RunOptions, run, suites_of
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
      suite.yaml:9: allowed                         the place, and the fields that differ
                   expected  found
          allowed  false     true
        admits: Policy require-limits  policy.yaml:4     what the policies did, as
            match: resourceRules[0] matches              policyd explain shows it

\b
Coverage counts outcomes over all cases that ran: each validation, matchCondition and selector that
was true and that was false, and each resource rule, binding, mutation, exception and audit
annotation that applied. Outcomes that never occurred are listed. An error is neither true nor
false.

Exit status: 0 if all cases pass, 1 if a case fails, a policy has no test (--require-tests) or the
coverage is too low (--coverage-min), 2 if a policy or suite is invalid.
"""


@click.command("test", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--run", "pattern", metavar="REGEX", help="Run only the cases whose SUITE/CASE matches."
)
@click.option("-v", "--verbose", is_flag=True, help="List the cases that pass too.")
@click.option(
    "--explain/--no-explain",
    default=True,
    help="Explain below each failure what the policies did.  [default: explain]",
)
@click.option(
    "--require-tests",
    is_flag=True,
    help="Fail if a policy has no suite, or no case matches it.",
)
@click.option("--coverage", is_flag=True, help="Report the outcomes that no case produced.")
@click.option(
    "--coverage-min",
    "least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail if less than this is covered; implies --coverage.",
)
@click.option("--watch", is_flag=True, help="Run the affected suites again when files change.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Choose the output format. json is a list with one object per case (under the key cases "
    "with --coverage).",
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
    """Run the test suites in PATHS against your policies.

    A suite (kind PolicyTest) lists requests and the expected answers. It names the files of its
    policies under policies:; without that field it tests all policies in PATHS together.
    """
    observed = coverage or least is not None
    options = RunOptions(_pattern(pattern), explain, require_tests, observed, least or 0.0, version)
    if require_tests and pattern is not None:
        raise click.UsageError("--require-tests needs every case: remove --run")
    if watch:
        if form != "text":
            raise click.UsageError(f"--watch cannot be combined with --format {form}")
        from policyd.cli.test.watch import SuiteWatcher  # slow to import

        raise SystemExit(SuiteWatcher(paths, options, verbose).run())
    sources = require(load(paths, version=options.version))
    results = run(sources, suites_of(sources, paths, options), options)
    if pattern is not None and not any(each.cases for each in results.suites):
        raise ConfigError(f"--run {pattern!r} matches no case")
    write(form, results, verbose)
    if not results.passed:
        raise SystemExit(1)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise click.BadParameter(f"{error}", param_hint="--run") from None
