"""The plugin of pytest, in runs of pytest of their own: as others have it who install policyd."""

import os
import re
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from policyd import errors
from policyd.testing.pytest_plugin import _matches as matches
from tests.cli.terminal import run as run_policyd
from tests.forking import popen

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: limits}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: object.spec.containers.all(c, c.?resources.?limits.?memory.hasValue())
    message: set a memory limit
"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: limits}
policies: [policy.yaml]
cases:
- name: without a limit
  request:
    object: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: web}]}}
  expect: {allowed: false, message: set a memory limit}
- name: limits
  request:
    object: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: web}]}}
  expect: {allowed: true}
  table:
  - {name: of memory, set: {"spec.containers[0].resources": {limits: {memory: 1Gi}}}}
"""
# A case that does not get what it expects.
FAILING = SUITE.replace("allowed: false, message: set a memory limit", "allowed: true")
# The policies are those of the run.
UNNAMED = SUITE.replace("policies: [policy.yaml]\n", "")
TOML = '[tool.pytest.ini_options]\npolicyd_suites = ["policies/**/suite.yaml"]\n'
INI = "[pytest]\npolicyd_suites = policies/**/suite.yaml\n"
CASES = (
    "policies/limits/suite.yaml::limits::without a limit",
    "policies/limits/suite.yaml::limits::limits/of memory",
)


POLICY_FILE, SUITE_FILE = "policies/limits/policy.yaml", "policies/limits/suite.yaml"


def project(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A project with a policy and its suite, and these files."""
    usual = {"pyproject.toml": TOML, POLICY_FILE: POLICY, SUITE_FILE: SUITE}
    for name, text in {**usual, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".git").mkdir()  # the project file is not looked for above
    return folder


# What pytest and the plugin import.
IMPORTED = ("pytest", "_pytest.doctest", "_pytest.junitxml", "xml.dom.minidom", "policyd.cli.test.command", "policyd.api.policy_set", "policyd.policy.suite.runner", "policyd.offline.suite_policies")  # fmt: skip


def ran(folder: Path, *arguments: str, installed: bool = False) -> tuple[int, str]:
    """The exit status of pytest, and what it prints. ``installed``: it finds its plugins itself."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200"}
    options = ["-p", "no:cacheprovider"]
    if not installed:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        # pytest would rewrite policyd if it was not imported.
        options += ["-p", "policyd", "-p", "xdist", "-W", "ignore:Module already imported"]
    with TemporaryFile() as output, Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), output.fileno(), output.fileno())
        imported = () if installed else IMPORTED
        child = popen(["pytest", *options, *arguments], folder, environment, streams, imported)
        status = child.wait(300)
        output.seek(0)
        return status, output.read().decode()


def summary(printed: str) -> str:
    """The last line of pytest, without its time."""
    last = printed.rstrip().splitlines()[-1]
    return re.sub(r" in [\d.]+s.*", "", last).strip("= ")


LISTING = """\
import pathlib, sys

def test_it():
    pathlib.Path("modules").write_text("\\n".join(sys.modules))
"""


def test_a_run_without_suites_imports_nothing_but_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(LISTING)

    def imported(*options: str) -> set[str]:
        status, printed = ran(tmp_path, *options, installed=True)
        assert (status, summary(printed)) == (0, "1 passed"), printed
        assert "policyd:" not in printed
        return set((tmp_path / "modules").read_text().splitlines())

    assert imported() - imported("-p", "no:policyd") == {
        "policyd",
        "policyd.testing",
        "policyd.testing.pytest_plugin",
    }


def test_our_own_runs_have_no_plugin_and_policyd_as_it_is(pytestconfig: pytest.Config) -> None:
    assert not pytestconfig.pluginmanager.has_plugin("policyd")
    assert isinstance(errors.__loader__, SourceFileLoader)


def test_cases_are_tests(tmp_path: Path) -> None:
    status, printed = ran(project(tmp_path), "-v", installed=True)
    assert (status, summary(printed)) == (0, "2 passed"), printed
    assert "policyd: suites in policies/**/suite.yaml" in printed
    assert [each for each in CASES if f"{each} PASSED" not in printed] == []


SELECTIONS = [
    (("policies",), 2),
    ((CASES[0],), 1),
    ((CASES[1],), 1),
    (("policies/limits/suite.yaml::limits",), 2),
    (("-k", "memory"), 1),
    (("--policyd-suites", "policies/*/suite.yaml"), 2),
    (("--policyd-suites", "policies/*.yaml"), 0),
]


@pytest.mark.parametrize(("arguments", "number"), SELECTIONS)
def test_cases_are_selected_as_other_tests_are(
    arguments: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    _, printed = ran(project(tmp_path), "-q", "--collect-only", *arguments)
    assert printed.count("suite.yaml::") == number, printed


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_failure_is_explained_as_by_policyd_test(
    processes: tuple[str, ...], tmp_path: Path
) -> None:
    folder = project(tmp_path, {SUITE_FILE: FAILING})
    status, printed = ran(folder, *processes)
    assert (status, summary(printed)) == (1, "1 failed, 1 passed"), printed
    told = run_policyd("test", "policies", cwd=folder, COLUMNS="200").stdout.splitlines()
    first, *explanation = told[: next(i for i, line in enumerate(told) if line.startswith("FAIL"))]
    assert first.startswith("--- FAIL: limits/without a limit")
    assert "\n".join(explanation) in printed
    assert "set a memory limit" in printed and "Traceback" not in printed and "\x1b" not in printed
    assert f"FAILED {CASES[0]}" in printed


def test_a_failure_says_what_is_assumed_of_an_unknown_kind(tmp_path: Path) -> None:
    unknown = FAILING.replace(
        "apiVersion: v1, kind: Pod", "apiVersion: example.com/v1, kind: Gadget"
    )
    expected = unknown.replace("allowed: true}", "allowed: false}", 1)
    _, printed = ran(project(tmp_path, {SUITE_FILE: expected}))
    assert "Gadget of example.com/v1: no CustomResourceDefinition of it is known" in printed


BROKEN = [
    # What is broken, and what is reported of it.
    ({SUITE_FILE: "kind: PolicyTest\n"}, 2, "suite.yaml:1:1"),
    ({POLICY_FILE: POLICY.replace("all(c,", "any(c,")}, 1, "policy.yaml:9"),
    ({SUITE_FILE: SUITE.replace("policy.yaml", "none.yaml")}, 1, "none.yaml"),
    ({SUITE_FILE: UNNAMED}, 1, "the suite has no policies"),
    ({"policyd.yaml": "polices: [policies]\n"}, 2, "policyd.yaml:1:1"),
    (
        {"policyd.yaml": "policies: [missing]\n"},
        2,
        "policies[0]: missing: no such file or directory",
    ),
]


@pytest.mark.parametrize(("files", "status", "message"), BROKEN)
def test_what_is_broken_is_reported_without_a_traceback(
    files: dict[str, str], status: int, message: str, tmp_path: Path
) -> None:
    found, printed = ran(project(tmp_path, files))
    assert found == status and message in printed, printed
    assert "Traceback" not in printed and "pytest_plugin.py" not in printed, printed


PROJECT = "policies: [policies]\nkubernetesVersion: '1.30'\n"
OF_THE_RUN = [
    ({"policyd.yaml": PROJECT}, "2 passed"),
    ({"pyproject.toml": f"{TOML}policyd_policies = ['policies']\n"}, "2 passed"),
    ({"pytest.ini": f"{INI}policyd_policies = policies/limits/policy.yaml\n"}, "2 passed"),
    ({SUITE_FILE: f"{POLICY}---\n{UNNAMED}", POLICY_FILE: ""}, "2 passed"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "outcome"), OF_THE_RUN)
def test_suites_that_name_no_policies_test_those_of_the_run(
    files: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    folder = project(tmp_path, {SUITE_FILE: UNNAMED, **files})
    status, printed = ran(folder)
    assert (status, summary(printed)) == (0, outcome), printed


FIXTURE = """\
import os
import policyd

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": []}}

def test_before(tmp_path):
    os.chdir(tmp_path)

def test_policies(policyd_policies):
    assert policyd_policies.names == ("limits",)
    assert policyd_policies.kubernetes_version == "1.30"
    assert policyd_policies.evaluate(policyd.build_review(POD)).allowed
"""


def test_the_fixture_has_the_policies_of_the_project(tmp_path: Path) -> None:
    """Also after a test that left another working directory."""
    folder = project(tmp_path, {"test_it.py": FIXTURE, "policyd.yaml": PROJECT})
    status, printed = ran(folder, "test_it.py", "policies")
    assert (status, summary(printed)) == (0, "4 passed"), printed


def test_the_fixture_without_policies_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FIXTURE)
    status, printed = ran(tmp_path)
    assert (status, summary(printed)) == (1, "1 passed, 1 error"), printed
    assert "set policyd_policies in the configuration of pytest, or policies in" in printed
    assert "Traceback" not in printed


def test_suites_that_a_whole_run_never_visits_are_a_warning(tmp_path: Path) -> None:
    elsewhere = {"tests/test_it.py": "def test_it(): pass\n"}
    folder = project(tmp_path, {"pytest.ini": f"{INI}testpaths = tests\n", **elsewhere})
    assert "add their directory to testpaths" in ran(folder)[1]
    assert "testpaths" not in ran(folder, "tests/test_it.py", "-q")[1]


GLOBS = [
    ("policies/**/suite.yaml", "policies/suite.yaml", True),
    ("policies/**/suite.yaml", "policies/a/b/suite.yaml", True),
    ("policies/**/suite.yaml", "policies/a/other.yaml", False),
    ("policies/**/suite.yaml", "policies/asuite.yaml", False),
    ("policies/**/*.test.yaml", "policies/a/limits.test.yaml", True),
    ("policies/*/suite.yaml", "policies/suite.yaml", False),
    ("policies/*/suite.yaml", "policies/a/b/suite.yaml", False),
    ("**/suite.yaml", "suite.yaml", True),
    ("a/**/b/**/suite.yaml", "a/b/c/suite.yaml", True),
    ("policies/**", "policies/a/suite.yaml", True),
    ("suite.yaml", "policies/suite.yaml", False),
    ("policies/suite.y[a]ml", "policies/suite.yaml", True),
]


@pytest.mark.parametrize(("glob", "path", "want"), GLOBS)
def test_globs(glob: str, path: str, want: bool) -> None:
    assert matches(Path(path).parts, Path(glob).parts) is want
