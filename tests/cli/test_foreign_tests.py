"""``policyd test`` with tests of Kyverno and Gatekeeper, for policies that were imported before."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from tests.importers.sources import DATA, write

NODE_PORT = DATA / "kyverno" / "best-practices-vpol" / "restrict-node-port"
MUTATED = DATA / "kyverno" / "other" / "add-default-resources"
LABELS = DATA / "gatekeeper" / "general" / "requiredlabels"


def run(command: str, *arguments: str | Path) -> Result:
    return CliRunner().invoke(policyd, [command, *map(str, arguments)])


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """Imported policies, without their suites."""
    for source in (NODE_PORT, LABELS):
        assert run("import", source, "-o", tmp_path / "out").exit_code == 0
    for suite in (tmp_path / "out").rglob("*-suite.yaml"):
        suite.unlink()
    return tmp_path / "out"


@pytest.mark.parametrize("folder", [NODE_PORT / ".kyverno-test", NODE_PORT, LABELS])
def test_they_run_against_the_imported_policies(policies: Path, folder: Path) -> None:
    done = run("test", policies, folder, "-v", "--format", "json")
    assert done.exit_code == 0, done.output
    cases = json.loads(done.stdout)
    assert len(cases) > 2
    assert all(each["passed"] for each in cases)


def test_policies_in_shadow_are_tested_as_they_will_be_enforced(tmp_path: Path) -> None:
    done = run("import", MUTATED, "--shadow", "--verify", "-o", tmp_path)
    assert done.exit_code == 0, done.stdout
    assert "3 of 3 rows of the tests of imported policies agree" in done.stdout
    later = run("test", tmp_path, MUTATED)
    assert later.exit_code == 0, later.stdout


def test_a_row_that_differs_fails(policies: Path, tmp_path: Path) -> None:
    tests = write(tmp_path / "copy", {})
    for each in (NODE_PORT / ".kyverno-test").iterdir():
        text = each.read_text().replace("result: fail", "result: pass")
        write(tests, {f".kyverno-test/{each.name}": text})
    done = run("test", policies, tests)
    assert done.exit_code == 1
    assert "expected pass, found fail" in done.output


def test_a_policy_that_was_not_imported_fails(policies: Path) -> None:
    (found,) = (each for each in policies.rglob("restrict-nodeport.yaml"))
    found.unlink()
    done = run("test", policies, NODE_PORT / ".kyverno-test")
    assert done.exit_code == 1
    assert "the sources have no policy restrict-nodeport" in done.output


def test_cases_are_selected_by_name(policies: Path) -> None:
    done = run("test", policies, LABELS, "--run", "example-allowed", "--format", "json")
    assert done.exit_code == 0
    assert {each["name"].rpartition(": ")[2] for each in json.loads(done.stdout)} == {
        "example-allowed"
    }


@pytest.mark.parametrize(
    "option", ["--update", "--last-failed", "--require-tests", "--coverage", "--watch"]
)
def test_options_for_suites_are_refused(policies: Path, option: str) -> None:
    done = run("test", policies, NODE_PORT / ".kyverno-test", option)
    assert done.exit_code == 2
    assert f"{option} needs suites of policyd" in done.output
