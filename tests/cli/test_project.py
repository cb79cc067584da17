"""``policyd.yaml``: defaults of options, found from any folder of a project, overridden by flags."""

from pathlib import Path

import pytest

from tests.cli.within import answered as run

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: labelled}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ["*"], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "'team' in object.metadata.?labels.orValue({})", message: no team}
"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: labelled}
cases:
- name: no labels
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}}
  expect: {allowed: false}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n"
PROJECT = """\
policies: [policies]
lint:
  disable: [missing-update]
apply: {format: json, user: alice}
"""
ADVICE = "[missing-update]"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a policy, and a folder in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "policies").mkdir()
    (tmp_path / "deploy/prod").mkdir(parents=True)
    (tmp_path / "policies/policy.yaml").write_text(POLICY)
    (tmp_path / "deploy/pod.yaml").write_text(POD)
    (tmp_path / "policyd.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("folder", [".", "deploy", "deploy/prod"])
def test_its_defaults_hold_in_every_folder(
    folder: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / folder)
    status, output = run("lint")
    assert (status, ADVICE in output) == (0, False), output
    status, output = run("apply", str(project / "deploy/pod.yaml"))
    assert status == 1
    assert output.startswith("[\n"), output


def test_flags_override_it(project: Path) -> None:
    other = project / "other.yaml"
    other.write_text(POLICY.replace("labelled", "other"))
    assert "labelled" not in run("lint", "other.yaml", "--format", "json")[1]
    status, output = run("apply", "deploy", "-p", "other.yaml", "--format", "text")
    assert status == 1
    assert "other" in output
    assert "labelled" not in output


def test_another_file_or_none(project: Path) -> None:
    (project / "strict.yaml").write_text("policies: policies\n")
    assert ADVICE in run("--project", "strict.yaml", "lint")[1]
    assert ADVICE in run("--no-project", "lint")[1]


@pytest.mark.parametrize(
    ("policies", "wanted"),
    {
        "no project file": (None, {"lint": "3 documents", "test": "ok    ./policies/suite.yaml"}),
        "one that names no policies": (
            "", {"lint": "3 documents", "test": "ok    ./policies/suite.yaml"}),
        "one that does": (
            "policies: policies/policy.yaml", {"lint": "1 document:", "test": "no suites"}),
    }.values(),
)  # fmt: skip
def test_without_paths_the_policies_of_the_project_or_of_the_directory_are_read(
    policies: str | None, wanted: dict[str, str], project: Path
) -> None:
    (project / "policies/suite.yaml").write_text(SUITE)
    (project / "policyd.yaml").unlink()
    if policies is not None:
        (project / "policyd.yaml").write_text(policies)
    assert {name: text for name, text in wanted.items() if text in run(name)[1]} == wanted


def test_the_search_ends_at_the_root_of_the_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "deploy/.git").mkdir()
    monkeypatch.chdir(project / "deploy/prod")
    assert "no policies in .: found no documents" in run("lint")[1]


def test_help_and_unrelated_commands_read_what_concerns_them(project: Path) -> None:
    (project / "policyd.yaml").write_text("kubernetesVersion: '1.30'\npolicies: policies\n")
    assert run("eval", "1 + 1") == (0, "2\n")
    status, output = run("eval", "[1].first()")  # since 1.34
    assert status != 0, output


def test_a_folder_with_the_file_can_be_read_as_a_whole(project: Path) -> None:
    status, output = run("lint", str(project))
    assert status == 0, output
    assert "policyd.yaml" not in output


def test_policies_in_a_file_of_that_name_are_not_skipped(project: Path) -> None:
    (project / "policyd.yaml").write_text(POLICY)
    _, output = run("--no-project", "lint", str(project / "policyd.yaml"))
    assert ADVICE in output
    (project / "policyd.yaml").write_text("kind: Policy\nspec: {}\n")
    assert "apiVersion is missing" in run("--no-project", "lint", str(project))[1]


QUOTES = "put it in quotes"
WRONG = {
    "unknown command": ("lnt: {}", "policyd.yaml:1:1: lnt: unknown field", "did you mean lint?"),
    "unknown option": ("lint: {strct: true}", "1:8: lint.strct: unknown", "did you mean strict?"),
    "option of another command": (
        "lint: {owned: true}", "lint.owned: unknown field", "such as apply: {owned: true}"),
    "option of no command": ("lint: {zzz: 16}", "lint.zzz: unknown field", "known fields: "),
    "option that another command lacks": (
        "test: {coverageMn: 95}", "1:8: test.coverageMn: unknown field", "did you mean coverageMin?"),
    "command of a group": ("webhooks: {mach: {}}", "webhooks.mach: unknown field", "did you mean match?"),
    "option of a group's command": (
        "webhooks: {match: {frmat: json}}", "webhooks.match.frmat: unknown field", "did you mean format?"),
    "no section of another command": ("test: [1]", "test: expected an object of options", ""),
    "wrong choice": ("lint: {format: xml}", "1:16: lint.format: 'xml' is not one of", ""),
    "not a flag's value": ("lint: {strict: 1}", "lint.strict: expected true or false", ""),
    "not a list": ("lint: {format: [json]}", "lint.format: expected one value, not a list", ""),
    "an object": ("policies: {a: b}", "policies: expected a string or a number", ""),
    "no section": ("lint: strict", "lint: expected an object of options", ""),
    "no object": ("[]", "expected one object: options by command", ""),
    "syntax": ("lint: {", "policyd.yaml:", ""),
    "a path that does not exist": ("policies: nowhere\ntest: {}", "", ""),
    "settings of the server": ("serve: {}", "serve: unknown field", "see --config"),
    "version": ("kubernetesVersion: '1.3'", "kubernetesVersion: expected", ""),
    "version without quotes": ("kubernetesVersion: 1.30", "1:20: kubernetesVersion: expected", QUOTES),
    "option of lint without quotes": ("lint: {target: 1.30}", "lint.target: expected", QUOTES),
    "unknown rule": (
        "lint:\n  disable: [wildcrad]", "policyd.yaml:2:12: lint.disable: there is no rule 'wildcrad'",
        "did you mean wildcard?"),
    "rule that cannot be disabled": (
        "lint: {disable: 'wildcard,invalid'}", "1:18: lint.disable: invalid is an error", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), WRONG.values(), ids=WRONG)
def test_mistakes_have_a_place_and_a_remedy(
    text: str, message: str, hint: str, project: Path
) -> None:
    (project / "policyd.yaml").write_text(text)
    status, output = run("lint")
    assert status != 0, output
    assert message in output
    assert hint in output


def test_every_problem_is_reported(project: Path) -> None:
    (project / "policyd.yaml").write_text("a: 1\nlint: {b: 1, format: c}\n")
    output = run("lint")[1]
    assert [part in output for part in ("a: unknown", "lint.b: unknown", "lint.format")] == [
        True
    ] * 3
