"""``make bench-released``: instructions beside those of the last release. A stub counts here."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.bench_compare import released
from tools.bench_compare.__main__ import WORKLOADS
from tools.bench_compare.instructions import Counter

NAMES = [each.name for each in WORKLOADS]
_START, _YARDSTICK, _WORK = 5_000_000, 1_000, 2_000


class Counts(Counter):
    """Counts what its table has for a pass over the reviews, after what each start takes."""

    factor = 1.0

    def count(self, program: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        if program[1].endswith("yardstick.py"):
            return _START + _YARDSTICK * int(program[3])
        more = self.factor if "tools/bench/data/map" in program[-1] else 1.0
        return round(_START + more * _WORK * int(program[4]))


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The figures of a release that this tree was."""
    file = tmp_path / "released.json"
    monkeypatch.setattr(released, "FILE", file)
    monkeypatch.setattr(released, "CALLGRIND", Counts("stub", ()))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert released.main(["--write"]) == 0
    assert json.loads(file.read_text()) == {released.python(): dict.fromkeys(NAMES, 2.0)}
    return file


@pytest.mark.parametrize(("factor", "status"), [(0.5, 0), (1.0, 0), (1.04, 0), (1.06, 1), (2.0, 1)])
def test_more_than_five_percent_fail(
    recorded: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    status: int,
) -> None:
    capsys.readouterr()
    monkeypatch.setattr(Counts, "factor", factor)
    assert released.main([]) == status
    slower = [line for line in capsys.readouterr().out.splitlines() if "SLOWER" in line]
    assert [line.strip().partition("  ")[0] for line in slower] == NAMES[2:] * status
    assert released.main(["--threshold", "150"]) == 0


def test_what_cannot_be_compared_is_said(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(released, "python", lambda: "Other 9.9")
    capsys.readouterr()
    assert released.main([]) == 0
    assert "has no figures of Other 9.9, only of CPython" in capsys.readouterr().out
    assert released.main(["--write"]) == 0  # beside those of the other one
    assert len(json.loads(recorded.read_text())) == 2
    monkeypatch.setattr(shutil, "which", lambda _: None)
    capsys.readouterr()
    assert (released.main([]), released.main(["--write"])) == (0, 1)
    assert "Valgrind, which is not installed" in capsys.readouterr().out


def test_a_workload_that_was_not_released_is_printed_and_fails_nothing() -> None:
    lines, slower = released.compared({"new": 3.0}, {}, 0.05)
    assert not slower
    assert "not released yet" in lines[0]


def test_the_figures_of_this_tree_are_of_its_workloads() -> None:
    figures = json.loads((ROOT / "tools/bench_compare/released.json").read_text())
    assert figures
    for each in figures.values():
        assert sorted(each) == sorted(NAMES)
