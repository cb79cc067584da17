"""There is no advice about the library, and none about the policies of the bench."""

from datetime import date

from click.testing import CliRunner

from policyd.cli.lint import command
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.lint_rules import faults, suppress
from policyd.policy.lint.run import LintRun
from policyd.policy.source.loader import load
from tests.shared import ROOT

TODAY = date(2026, 11, 21)  # advice on exceptions hangs on the day


def advice_on(*parts: str) -> list[str]:
    sources = load([ROOT.joinpath(*parts)])
    assert sources.problems == ()
    assert list(faults(sources.lint_comments)) == []
    kept, unused = suppress(all_advice(LintRun(sources, TODAY)), sources.lint_comments, frozenset())
    return [f"{each.file}:{each.line}: {each.rule}: {each.message}" for each in kept] + [
        f"{each.file}:{each.line}: disables nothing" for each in unused
    ]


def test_the_library_is_clean() -> None:
    assert advice_on("policies") == []


def test_the_policies_of_the_bench_are_clean() -> None:
    """They match Pods only, without subresources: the figures are those of such policies."""
    found = advice_on("tools", "bench", "data")
    assert [each for each in found if ": subresource-not-covered: " not in each] == []


def test_the_command_says_so_too() -> None:
    result = CliRunner().invoke(command, [str(ROOT / "policies")])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 errors, 0 advice" in result.stderr
