"""``policyd test --last-failed``: runs the cases that failed when they ran last."""

import re
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import demand, policy, suite

NONE = "no case failed in the last run: running all cases\n"
NOT_X = policy("p", validations=[demand("object.metadata.name != 'x'", "x is taken")])


def case(name: str, allowed: bool = True, named: str = "a") -> JSONObject:
    expect = {"allowed": allowed}
    return {"name": name, "request": {"object": pod(name=named)}, "expect": expect}


def write(folder: Path, name: str, *cases: JSONObject) -> None:
    (folder / "policy.json").write_bytes(orjson.dumps(NOT_X))
    (folder / f"{name}.json").write_bytes(orjson.dumps(suite(name, cases=list(cases))))


def run(folder: Path, *arguments: str) -> tuple[str, list[str]]:
    """What is said on stderr, and the cases that ran."""
    result = CliRunner().invoke(policyd, ["test", str(folder), "-v", *arguments])
    return result.stderr, re.findall(r"--- (?:PASS|FAIL): (\S+) ", result.stdout)


def test_failed_cases_run_until_they_pass(tmp_path: Path) -> None:
    write(tmp_path, "s", case("one"), case("two", False), case("three", False))
    assert run(tmp_path, "--last-failed") == (NONE, ["s/one", "s/two", "s/three"])
    both = "running 2 cases that failed in the last run\n"
    assert run(tmp_path, "--last-failed") == (both, ["s/two", "s/three"])
    write(tmp_path, "s", case("one", False), case("two"), case("three", False))
    assert run(tmp_path, "--last-failed") == (both, ["s/two", "s/three"])
    one = "running 1 case that failed in the last run\n"
    assert run(tmp_path, "--last-failed") == (one, ["s/three"])
    assert run(tmp_path) == ("", ["s/one", "s/two", "s/three"])
    assert run(tmp_path, "--last-failed")[1] == ["s/one", "s/three"]


def test_a_selected_run_leaves_the_others_remembered(tmp_path: Path) -> None:
    write(tmp_path, "s", case("one", False), case("two", False))
    run(tmp_path)
    write(tmp_path, "s", case("one"), case("two", False))
    run(tmp_path, "--run", "one")
    assert run(tmp_path, "--last-failed")[1] == ["s/two"]
    assert run(tmp_path, "--last-failed", "--run", "one") == (NONE, ["s/one"])


def test_suites_are_remembered_apart_and_by_their_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "s", case("one"))
    write(tmp_path, "t", case("one", False))
    run(tmp_path)
    assert run(tmp_path, "--last-failed")[1] == ["t/one"]
    monkeypatch.chdir(tmp_path)
    assert run(Path(), "--last-failed")[1] == ["t/one"]
    assert run(Path("s.json"), "policy.json", "--last-failed") == (NONE, ["s/one"])


def test_a_case_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    write(tmp_path, "s", case("one", False), case("two"))
    run(tmp_path)
    write(tmp_path, "s", case("other"), case("two"))
    assert run(tmp_path, "--last-failed") == (NONE, ["s/other", "s/two"])


def test_a_row_that_failed(tmp_path: Path) -> None:
    rows = [{"name": "x", "set": {"metadata.name": "x"}}, {"name": "y"}]
    write(tmp_path, "s", {**case("t"), "table": rows})
    run(tmp_path)
    assert run(tmp_path, "--last-failed")[1] == ["s/t/x"]


def test_nothing_is_written_while_nothing_fails(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, "s", case("one"))
    assert run(tmp_path) == ("", ["s/one"])
    assert list(cache.iterdir()) == []
    write(tmp_path, "s", case("one", False))
    run(tmp_path)
    (file,) = (cache / "policyd" / "last-failed").iterdir()
    assert orjson.loads(file.read_bytes())["failed"] == ["s/one"]
    write(tmp_path, "s", case("one"))
    run(tmp_path)
    assert list((cache / "policyd" / "last-failed").iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"failed": 1}', "\x00"])
def test_a_broken_memory_is_none(tmp_path: Path, cache: Path, content: str) -> None:
    write(tmp_path, "s", case("one", False))
    run(tmp_path)
    (file,) = (cache / "policyd" / "last-failed").iterdir()
    file.write_text(content)
    assert run(tmp_path, "--last-failed") == (NONE, ["s/one"])
    assert run(tmp_path, "--last-failed")[0] != NONE


def test_a_cache_that_cannot_be_written_is_a_warning(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    write(tmp_path, "s", case("one", False))
    said, ran = run(tmp_path)
    assert said.startswith("warning: the failed cases are not remembered: ")
    assert ran == ["s/one"]


@pytest.mark.parametrize("option", ["--watch", "--require-tests"])
def test_options_that_exclude_it(tmp_path: Path, option: str) -> None:
    write(tmp_path, "s", case("one"))
    result = CliRunner().invoke(policyd, ["test", str(tmp_path), "--last-failed", option])
    assert result.exit_code == 2
    assert "--last-failed" in result.output


def test_it_updates_only_what_failed(tmp_path: Path) -> None:
    write(tmp_path, "s", case("one", False), case("two"))
    run(tmp_path)
    write(tmp_path, "s", case("one", False), case("two", False))
    _, ran = run(tmp_path, "--last-failed", "--update")
    assert ran == ["s/one"]
    cases = orjson.loads((tmp_path / "s.json").read_bytes())["cases"]
    assert [each["expect"]["allowed"] for each in cases] == [True, False]
