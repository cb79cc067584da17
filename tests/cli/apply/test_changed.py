"""``policyd apply --changed``: only manifests that differ from a commit are checked."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builders.policies import policy, rule
from tests.cli.within import answered

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(GIT is None, reason="there is no git")
GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgetry.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Gadget", "plural": "gadgetry"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True, "storage": True,
                      "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}  # fmt: skip


def git(*arguments: str) -> None:
    identity = [
        f"{role}_{part}" for role in ("GIT_AUTHOR", "GIT_COMMITTER") for part in ("NAME", "EMAIL")
    ]
    settings = {"HOME": str(Path.cwd()), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    subprocess.run(
        [str(GIT), *arguments],
        check=True,
        capture_output=True,
        env=settings | dict.fromkeys(identity, "a@example.com"),
    )


def pod_text(name: str) -> str:
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}
    )


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, the second of which adds second.yaml, then changes of each kind."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (top := tmp_path / "top").mkdir()
    monkeypatch.chdir(top)
    told = {"expression": "false", "messageExpression": "'seen: ' + object.metadata.name"}
    prod = policy("p", rule("pods"), validations=[told])
    prod["spec"]["matchConstraints"]["namespaceSelector"] = {"matchLabels": {"env": "prod"}}
    write("policies/policy.json", json.dumps(prod))
    write(".gitignore", "ignored.yaml\n")
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"env": "prod"}},
    }
    write("deploy/namespace.yaml", json.dumps(namespace))
    for name in ("same", "edited", "staged", "moved", "deleted", "ü edited"):
        write(f"deploy/{name}.yaml", pod_text(name))
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    write("deploy/second.yaml", pod_text("second"))
    git("add", ".")
    git("commit", "-qm", "second")
    git("mv", "deploy/moved.yaml", "deploy/to.yaml")
    Path("deploy/deleted.yaml").unlink()
    for name in ("edited", "staged", "ü edited"):
        write(f"deploy/{name}.yaml", pod_text(f"new-{name[-6:]}"))
    git("add", "deploy/staged.yaml")
    for name in ("untracked", "ignored"):
        write(f"deploy/{name}.yaml", pod_text(name))
    write("deploy/values.yaml", "replicas: 1\n")
    write("deploy/sub/untracked.yaml", pod_text("below"))
    return top


def seen(*words: str) -> tuple[int, set[str]]:
    """The names of the Pods that were checked."""
    status, output = answered("apply", *words, "--format", "json")
    return status, {
        line.rpartition("seen: ")[2].strip('",') for line in output.splitlines() if "seen: " in line
    }


HERE = {"new-edited", "new-staged", "moved", "untracked", "below"}
CASES = {
    "HEAD": (".", ("deploy", "--changed"), HERE),
    "without PATHS": (".", ("--changed",), HERE),
    "another commit": (".", ("--changed", "HEAD~1", "deploy"), HERE | {"second"}),
    "a branch": (".", ("--changed=main", "deploy"), HERE),
    "a directory": (".", ("--changed", "HEAD", "deploy/sub", "deploy/namespace.yaml"), {"below"}),
    "files": (
        ".",
        ("--changed", "HEAD", "deploy/same.yaml", "deploy/edited.yaml", "deploy/namespace.yaml"),
        {"new-edited"},
    ),
    "from below": ("deploy/sub", ("--changed", "HEAD", ".."), HERE),
    "an absolute path": ("deploy", ("--changed", "HEAD", "{top}/deploy"), HERE),
    "excluded": (".", ("--changed", "--exclude", "untracked.yaml"), HERE - {"untracked", "below"}),
    "values that are named": (
        ".",
        ("--changed", "HEAD", "deploy/values.yaml", "--skip-no-objects"),
        set(),
    ),
    "nothing": (".", ("--changed", "HEAD", "deploy/same.yaml"), set()),
}


@pytest.mark.parametrize(("folder", "words", "checked"), CASES.values(), ids=CASES)
def test_only_what_differs_is_checked(
    folder: str,
    words: tuple[str, ...],
    checked: set[str],
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository / folder)
    given = [word.format(top=repository) for word in words]
    assert seen("-p", str(repository / "policies"), *given) == (int(bool(checked)), checked)


def test_settings_of_git_change_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("config", "diff.relative", "true")
    git("config", "diff.noprefix", "true")
    monkeypatch.chdir(repository / "deploy/sub")
    assert seen("-p", "../../policies", "--changed", "HEAD", "..") == (1, HERE)


def test_definitions_that_have_not_changed_are_used() -> None:
    write("crds.json", json.dumps(GADGETS))
    write("gadget.yaml", "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}}")
    git("add", "crds.json")
    git("commit", "-qm", "crds")
    status, output = answered(
        "apply", "-p", "policies", "--changed", "HEAD", "gadget.yaml", "crds.json"
    )
    assert (status, "warning" in output) == (0, False), output
    assert "1 object: 1 admitted" in output


def test_problems_of_what_has_not_changed_are_not_reported() -> None:
    write("broken.yaml", "a: [")
    git("add", "broken.yaml")
    git("commit", "-qm", "broken", "--", "broken.yaml")
    assert seen("-p", "policies", "--changed") == (1, HERE)
    write("broken.yaml", "a: [[")
    assert answered("apply", "-p", "policies", "--changed")[0] == 2


REFUSED = {
    "a directory for REF": (
        ("--changed", "deploy"),
        "--changed deploy: no such commit\n  hint: --changed HEAD deploy",
    ),
    "no commit": (("--changed", "nowhere"), "--changed nowhere: no such commit\n"),
    "a file of a commit": (("--changed", "HEAD:deploy"), "--changed HEAD:deploy: no such commit"),
    "outside": (
        ("--changed", "HEAD", "deploy", "../x"),
        "--changed: ../x is outside of the working tree",
    ),
    "standard input": (("--changed", "HEAD", "-"), "it cannot read standard input"),
    "a cluster": (("--changed", "HEAD", "--cluster"), "--changed, --resource, --namespace-labels"),
}


@pytest.mark.parametrize(("words", "told"), REFUSED.values(), ids=REFUSED)
def test_what_git_cannot_answer_is_an_error(words: tuple[str, ...], told: str) -> None:
    status, output = answered("apply", "-p", "policies", *words)
    assert (status, told in output) == (2, True), output


def test_a_commit_of_the_project_file_is_no_option() -> None:
    write("policyd.yaml", "policies: [policies]\napply: {changed: --since=yesterday}\n")
    status, output = answered("apply", "deploy")
    assert (status, "--changed --since=yesterday: no such commit" in output) == (2, True), output


@pytest.mark.parametrize(("folder", "path", "told"), {
    "not in a repository": ("..", None, "--changed: not a git repository"),
    "in .git": (".git", None, "--changed: this operation must be run in a work tree"),
    "no git": (".", "", "--changed needs git, which is not installed"),
}.values())  # fmt: skip
def test_without_a_working_tree_or_git(
    folder: str, path: str | None, told: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / folder)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repository.parent.parent))
    if path is not None:
        monkeypatch.setenv("PATH", path)
    status, output = answered("apply", "-p", str(repository / "policies"), "--changed")
    assert (status, told in output) == (2, True), output
