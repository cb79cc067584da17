"""``make bench-compare``: two trees in turns. The other tree is this one here, which needs no build."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from policyd.errors import ConfigError
from tests.builders.policies import demand, policy
from tests.shared import ROOT
from tools.bench_compare import __main__ as tool
from tools.bench_compare import base
from tools.bench_compare.base import NoBase, built, commit_of, last_tag
from tools.bench_compare.instructions import Counter

SMALL = tool.Workload("small", "validate", "tools/bench/data/vap/pss-11-sysctls.yaml")


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base is this tree, and the work is small."""
    monkeypatch.setattr(tool, "built", lambda commit: ROOT)
    monkeypatch.setattr(tool, "WORKLOADS", (SMALL,))
    monkeypatch.setattr(tool, "ROUNDS", 7)
    monkeypatch.setattr(tool, "_ROUND", 0.005)
    monkeypatch.setattr(tool, "commit_of", lambda name: "0" * 40)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two commits; building writes one line into a file."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setattr(base, "ROOT", folder)
    monkeypatch.setattr(base, "FOLDER", folder / "build")
    (folder / "setup.py").write_text("open('built', 'a').write('x')")
    git(folder, "init", "-q")
    git(folder, "add", "setup.py")
    git(folder, "commit", "-qm", "One")
    (folder / "setup.py").write_text("raise SystemExit('no compiler')")
    git(folder, "commit", "-qam", "Two")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def test_a_commit_is_built_once(repository: Path) -> None:
    folder = built(commit_of("HEAD^"))
    assert built(commit_of("HEAD^")) == folder
    assert (folder / "built").read_text() == "x"
    assert not (repository / "built").exists()


def test_what_cannot_be_built_is_an_error_with_the_log(repository: Path) -> None:
    former = built(commit_of("HEAD^"))
    with pytest.raises(NoBase, match="cannot be built: no compiler"):
        built(commit_of("HEAD"))
    assert not former.exists()  # one commit at a time takes space


def test_the_last_tag_is_one_of_a_former_commit(repository: Path) -> None:
    git(repository, "tag", "v2", "HEAD")
    with pytest.raises(NoBase, match="there is no tag before this commit"):
        last_tag()
    git(repository, "tag", "v1", "HEAD^")
    assert last_tag() == "v1"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench_compare", *arguments])
    return tool.main()


def test_without_a_tag_there_is_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> str:
        raise NoBase("there is no tag before this commit")

    monkeypatch.setattr(tool, "last_tag", none)
    assert run(monkeypatch) == 0
    assert "nothing to compare with: there is no tag before this commit" in capsys.readouterr().out


def test_a_commit_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoBase, match="there is no commit 'nowhere'"):
        commit_of("nowhere")
    assert run(monkeypatch, "--base", "nowhere") == 2
    assert "Error: there is no commit 'nowhere'" in capsys.readouterr().err


@pytest.mark.usefixtures("same")
def test_instructions_decide_where_they_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # This tree, which is counted first, takes 1500 for a pass, the other one 1000.
    counts = iter([15_000, 0, 10_000, 0])
    monkeypatch.setattr(tool, "counter", lambda: Counter("fake", ()))
    monkeypatch.setattr(Counter, "count", lambda *given: next(counts))
    assert run(monkeypatch, "--base", "v0") == 1
    assert "instructions 1.500  SLOWER" in capsys.readouterr().out


@pytest.mark.usefixtures("same")
def test_without_a_counter_time_decides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> Counter:
        raise ConfigError("nothing here counts instructions")

    monkeypatch.setattr(tool, "counter", none)
    assert run(monkeypatch, "--base", "v0", "--threshold", "100") == 0
    out, err = capsys.readouterr()
    assert "nothing here counts instructions" in err
    found = re.search(r"small +CPU time (\S+) \((\S+) to (\S+)\)\n", out)
    assert found is not None, out
    low, value, high = float(found[2]), float(found[1]), float(found[3])
    assert 0.4 < low <= value <= high < 2.5  # both are the same tree


@pytest.mark.usefixtures("same")
def test_policies_that_a_tree_cannot_load_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(policy(validations=[demand("unknown()", "x")])))
    monkeypatch.setattr(tool, "WORKLOADS", (tool.Workload("new", "validate", str(file)), SMALL))
    assert run(monkeypatch, "--base", "v0", "--threshold", "100", "--no-instructions") == 0
    out = capsys.readouterr().out
    assert "new                        cannot be compared: " in out
    assert "small                      CPU time" in out


def test_a_worker_of_another_tree_is_not_taken_for_it(tmp_path: Path) -> None:
    with pytest.raises(tool.WorkerFailed, match="policyd was imported from"):
        tool.Worker(SMALL, tmp_path)
