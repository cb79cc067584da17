"""Paths without a policy are an error of every command that evaluates policies: nothing could be
denied, and the command would report success.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.shared.policy_options import without_policies
from policyd.errors import ConfigError, PolicyError
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load_text
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map, pod
from tests.builders.policies import map_, policy, suite, vap, vap_binding

COMMANDS = {
    "apply": ("-p", "POLICIES", "OBJECT"),
    "explain": ("-p", "POLICIES", "OBJECT"),
    "review": ("-p", "POLICIES", "REVIEW"),
    "replay": ("-p", "POLICIES", "REVIEW"),
    "test": ("POLICIES",),
    "test --require-tests": ("POLICIES",),
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "policies").mkdir()
    (tmp_path / "object.json").write_text(json.dumps(pod()))
    (tmp_path / "review.json").write_text(json.dumps(build_review(pod())))
    return {
        "POLICIES": str(tmp_path / "policies"),
        "OBJECT": str(tmp_path / "object.json"),
        "REVIEW": str(tmp_path / "review.json"),
    }


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([], "no documents"),
        ([config_map("a"), config_map("b"), vap_binding()], "2 × ConfigMap, 1 Val"),
    ],
)
def test_paths_without_policies_exit_with_2(
    command: str, documents: list[JSONObject], found: str, files: dict[str, str]
) -> None:
    source = Path(files["POLICIES"], "a.yaml")
    source.write_text("\n---\n".join(map(json.dumps, documents)))
    arguments = [files.get(each, each) for each in COMMANDS[command]]
    done = CliRunner().invoke(policyd, [*command.split(), *arguments])
    assert isinstance(done.exception, ConfigError) and done.exception.exit_code == 2
    text = str(done.exception)
    assert text.startswith(f"no policies in {files['POLICIES']}: found {found}")
    assert "\n  hint: a policy is a Policy of policyd.dev/v1, or a Validating" in text
    assert done.stdout == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_errors_of_the_sources_come_first(command: str, files: dict[str, str]) -> None:
    wrong = {**policy(), "apiVersion": "policyd.io/v1"}
    Path(files["POLICIES"], "a.yaml").write_text(json.dumps(wrong))
    arguments = [files.get(each, each) for each in COMMANDS[command]]
    done = CliRunner().invoke(policyd, [*command.split(), *arguments])
    assert isinstance(done.exception, PolicyError)
    assert "policyd does not read kind Policy of policyd.io/v1" in str(done.exception)


def test_lint_advises_and_succeeds(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(config_map()))
    done = CliRunner().invoke(policyd, ["lint", str(file)])
    assert done.exit_code == 0
    assert f"{file}: advice: no policies in {file}: found 1 ConfigMap [no-policies]" in done.stdout
    disabled = CliRunner().invoke(policyd, ["lint", str(file), "--disable", "no-policies"])
    assert disabled.stdout == ""


@pytest.mark.parametrize("document", [policy(), vap(), map_(), policy(validation=[])])
def test_any_kind_of_policy_is_one(document: JSONObject) -> None:
    assert without_policies(load_text(json.dumps([document])[1:-1]), [Path("a")]) == ""


def test_many_kinds_are_cut() -> None:
    kinds = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}} for kind in "ABCDEFG"]
    text = "\n---\n".join(map(json.dumps, [*kinds, suite()]))
    assert without_policies(load_text(text), [Path("a"), Path("b")]) == (
        "no policies in a, b: found 1 A, 1 B, 1 C, 1 D, 1 E, 3 other kinds"
    )
