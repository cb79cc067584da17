"""PATHS and ``-p`` taken for each other: the error shows the command that was meant."""

import shlex
from pathlib import Path

import pytest

from tests.cli.within import within

POLICY = "apiVersion: policyd.dev/v1\nkind: Policy\nmetadata: {name: a}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
# What is typed, the error, and the command of the hint; empty: no hint.
TYPED = {
    "-p of lint": ("lint -p pol", "No such option '-p'.", "lint pol"),
    "--policies of test": ("test --policies=pol -v", "No such option", "test pol -v"),
    "-p without a space": ("lint -ppol --strict", "No such option '-p'.", "lint pol --strict"),
    "-p twice": ("lint -p pol -p 'my pod.yaml'", "No such option", "lint pol 'my pod.yaml'"),
    "-p of configmap": ("configmap -p pol", "No such option '-p'.", "configmap pol"),
    "no -p": ("explain pol pod.yaml", "Is a directory", "explain -p pol pod.yaml"),
    "no -p, one file": ("apply pol/a.yaml pod.yaml", "Missing", "apply -p pol/a.yaml pod.yaml"),
    "no -p of apply": ("apply pol pod.yaml", "Missing option", "apply -p pol pod.yaml"),
    "policies behind manifests": ("apply pod.yaml pol", "Missing", "apply pod.yaml -p pol"),
    "policies only": ("export pol", "Missing option '-p'", "export -p pol"),
    "a group's command": ("webhooks render pol", "Missing", "webhooks render -p pol"),
    "the server": ("serve pol", "unexpected extra argument", "serve -p pol"),
    "policies twice": ("serve -p pol other", "unexpected extra", "serve -p pol -p other"),
    "manifests only": ("apply pod.yaml", "Missing option", "apply -p POLICIES pod.yaml"),
    "standard input": ("apply -", "Missing option '-p'", "apply -p POLICIES -"),
    "nothing": ("apply", "Missing option '-p'", ""),
    "another option": ("lint --plicies pol", "No such option '--plicies'", ""),
    "a wrong value": ("apply -p pol pod.yaml --fail-on x", "'x' is not one of", ""),
    "a surplus manifest": ("serve -p pol pod.yaml", "unexpected extra argument", ""),
    "a command without policies": ("eval -p pol x", "No such option '-p'", ""),
}


# What is typed of commands that take files by options only, and the hint.
FILES = {
    "captures": (
        "compare cap -p pol --against w.yaml",
        "captures are given with --captures: policyd compare --captures cap -p pol --against w.yaml",
    ),
    "captures and policies": (
        "compare cap pol --against w.yaml",
        "captures are given with --captures: policyd compare --captures cap -p pol --against w.yaml",
    ),
    "configurations": (
        "webhooks check -p pol w.yaml",
        "files are given with -f: policyd webhooks check -p pol -f w.yaml",
    ),
    "no file": ("webhooks check -p pol", ""),
    "policies alone": ("compare pol --against w.yaml", ""),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pol", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(POLICY)
    for name in ("pod.yaml", "my pod.yaml"):
        (tmp_path / name).write_text(POD)


@pytest.mark.parametrize(("typed", "message", "meant"), TYPED.values(), ids=TYPED)
def test_the_error_shows_the_command_that_was_meant(typed: str, message: str, meant: str) -> None:
    done = within(*shlex.split(typed))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    _, _, hint = done.stderr.partition("\n  hint: policies are given ")
    assert hint.rstrip().partition(": ")[2] == (meant and f"policyd {meant}")


@pytest.mark.parametrize(("typed", "hint"), FILES.values(), ids=FILES)
def test_the_error_shows_the_option_of_files(typed: str, hint: str) -> None:
    done = within(*shlex.split(typed))
    assert done.returncode == 2
    assert "Missing option" in done.stderr
    assert done.stderr.partition("\n  hint: ")[2].rstrip() == hint


def test_the_project_names_the_policies() -> None:
    Path("policyd.yaml").write_text("policies: [other]\n")
    assert "explain -p pol pod.yaml" in within("explain", "pol", "pod.yaml").stderr
    assert within("apply", "pod.yaml", "missing.yaml").stderr.count("hint: policies are") == 0
