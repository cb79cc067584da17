"""``policyd lint --fix``, ``--fail-on`` and ``--explain``."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli.lint import command
from policyd.policy.lint.lint_rules import RULES

WRONG = """\
# policies of the platform team
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: yes}  # short
spec:
  failurePolicy: fail
  matchConstraints:
    resourceRules:
    - apiGroups: ["core"]
      apiVersions: [v1]
      operations: [Create, "update"]   # both
      resources:
      - pod
  variables: [{name: unused, expression: "1"}]
  validations:
  - message: a
    expression: 'object.spec.restartPolicy != ''always'''
  - message: b
    expression: >-
      object.spec.containers.all(c,
        c.imagePullPolicy != "always")
  - message: c
    expression: "object.kind != \\"pod\\" || !has(object.spec.os)"
  - message: d
    pattern: {metadata: {=(labels): {=(a): yes, =(b): 1.20}}}
"""
CORRECTED = """\
# policies of the platform team
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: "yes"}  # short
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, "UPDATE"]   # both
      resources:
      - pods
  variables: [{name: unused, expression: "1"}]
  validations:
  - message: a
    expression: 'object.spec.restartPolicy != ''Always'''
  - message: b
    expression: >-
      object.spec.containers.all(c,
        c.imagePullPolicy != "Always")
  - message: c
    expression: "object.kind != \\"Pod\\" || !has(object.spec.os)"
  - message: d
    pattern: {metadata: {=(labels): {=(a): "yes", =(b): "1.20"}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policies" / "policy.yaml"
    path.parent.mkdir()
    path.write_text(WRONG)
    return path


def test_everything_that_is_certain_is_corrected_and_printed(file: Path) -> None:
    file.chmod(0o640)
    result = CliRunner().invoke(command, ["--fix", str(file.parent)])
    assert file.read_text() == CORRECTED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [each.name for each in file.parent.iterdir()] == ["policy.yaml"]
    assert f'{file}:4:18: fixed: yes is now "yes" [invalid]\n' in result.stdout
    assert f"{file}:11:20: fixed: Create is now CREATE [invalid]\n" in result.stdout
    assert f"{file}:13:9: fixed: pod is now pods [no-such-resource]\n" in result.stdout
    assert f"{file}:17:47: fixed: always is now Always [impossible-value]\n" in result.stdout
    assert result.stdout.count(": fixed: ") == 11
    assert "unused-variable" in result.stdout  # what remains
    assert "1 document: 0 errors, 1 advice" in result.stderr
    assert result.exit_code == 0
    again = CliRunner().invoke(command, ["--fix", str(file.parent)])
    assert ": fixed: " not in again.stdout


def test_diff_writes_nothing_and_patch_accepts_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent.parent)
    result = CliRunner().invoke(command, ["--fix", "--diff", "policies"])
    assert file.read_text() == WRONG
    assert result.exit_code == 1  # nothing is corrected: the errors are still there
    assert result.stdout.startswith("--- a/policies/policy.yaml\n+++ b/policies/policy.yaml\n@@ ")
    program = shutil.which("git")
    assert program is not None
    applied = subprocess.run(
        [program, "apply", "-"], input=result.stdout, text=True, check=False, capture_output=True
    )
    assert (applied.returncode, applied.stderr) == (0, "")
    assert file.read_text() == CORRECTED


def test_what_remains_decides_the_exit_status(file: Path) -> None:
    file.write_text(f"{WRONG}  - expression: nowhere == 1\n    message: e\n")
    result = CliRunner().invoke(command, ["--fix", str(file)])
    assert result.exit_code == 1
    assert "undeclared reference to 'nowhere'" in result.stdout
    assert "operations: [CREATE" in file.read_text()


def test_other_formats_print_the_corrections_to_stderr(file: Path) -> None:
    result = CliRunner().invoke(command, ["--fix", "--format", "json", str(file)])
    assert [each["rule"] for each in orjson.loads(result.stdout_bytes)] == ["unused-variable"]
    assert result.stderr.count(": fixed: ") == 11


def test_disabled_advice_is_not_corrected(file: Path) -> None:
    CliRunner().invoke(command, ["--fix", "--disable", "no-such-resource", str(file)])
    assert '["core"]' in file.read_text()
    assert "- pod\n" in file.read_text()


def test_a_link_stays_a_link_and_the_byte_order_mark_stays(file: Path) -> None:
    target = file.parent.parent / "target.yaml"
    target.write_bytes(b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").encode())
    file.unlink()
    file.symlink_to(target)
    CliRunner().invoke(command, ["--fix", str(file)])
    assert file.is_symlink()
    assert target.read_bytes() == b"\xef\xbb\xbf" + CORRECTED.replace("\n", "\r\n").encode()


def test_files_without_a_correction_are_not_written(file: Path) -> None:
    CliRunner().invoke(command, ["--fix", str(file)])
    before = file.stat()
    os.utime(file, ns=(before.st_atime_ns, 1))
    CliRunner().invoke(command, ["--fix", str(file)])
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (1, before.st_ino)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--fix", "-"], "--fix corrects files: save standard input to a file first"),
        (["--diff", "x.yaml"], "--diff needs --fix"),
        (
            ["--explain", "unknown-valu"],
            "did you mean unknown-value or unknown-field or unquoted-value?",
        ),
        (["--explain", "zzz"], "policyd lint --rules lists the rules"),
        (["--fail-on", "warning", "x.yaml"], "'warning' is not one of 'error', 'advice'"),
    ],
)
def test_wrong_options(arguments: list[str], reason: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


@pytest.mark.parametrize(("severity", "status"), [("error", 0), ("advice", 1)])
def test_advice_fails_a_run_if_that_is_wanted(file: Path, severity: str, status: int) -> None:
    file.write_text(CORRECTED)
    result = CliRunner().invoke(command, ["--fail-on", severity, str(file)])
    assert "[unused-variable]" in result.stdout
    assert result.exit_code == status


def test_nothing_found_is_no_failure(file: Path) -> None:
    file.write_text(CORRECTED)
    arguments = ["--fail-on", "advice", "--disable", "unused-variable", str(file)]
    assert CliRunner().invoke(command, arguments).exit_code == 0


def test_a_rule_is_explained_with_both_examples() -> None:
    result = CliRunner().invoke(command, ["--explain", "unguarded-field"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"unguarded-field (advice): {RULES['unguarded-field'].about}")
    assert "Wrong:\n  validations:" in result.stdout
    assert "Right:\n  validations:" in result.stdout
    assert "# policyd-lint: disable=unguarded-field" in result.stdout
