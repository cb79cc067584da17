"""What a run of ``policyd report`` says of its progress: a bar that moves with every object."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from policyd.cli.report import command
from policyd.cli.shared.terminal.progress import Advance
from tests.builders.policies import teams
from tests.cli.terminal import in_terminal
from tests.cluster.fake import ApiServer
from tests.reports.reporting import PODS, Reporter, Reporting


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    noted: list[tuple[str, int, int]] = []

    @contextmanager
    def counting() -> Iterator[Advance]:
        yield lambda doing, done, total: noted.append((doing, done, total))

    monkeypatch.setattr(command, "counting", counting)
    return noted


def test_each_object_moves_the_bar(
    contents: Reporting, report: Reporter, steps: list[tuple[str, int, int]]
) -> None:
    for number in range(4):
        contents.add(PODS, f"p{number}", "shop")
    contents.page = 2
    report(teams())
    assert steps == [("checking pods", number, 4) for number in (0, 1, 2, 2, 3, 4)]


def test_each_report_that_is_read_or_deleted_moves_the_bar(
    contents: Reporting, report: Reporter, steps: list[tuple[str, int, int]]
) -> None:
    for number in range(3):
        contents.stored("shop", f"gone-{number}", "x")
    report(teams())
    reads = [("reading reports", number, number + 1) for number in range(3)]
    deletions = [("deleting reports", number, 3) for number in (1, 2, 3)]
    assert steps == [*reads, ("checking pods", 0, 0), *deletions]


def test_what_a_dry_run_says_does_not_mix_with_the_bar(
    contents: Reporting, server: ApiServer, tmp_path: Path
) -> None:
    for number in range(20):
        contents.add(PODS, f"p{number}", "shop")
    (tmp_path / "policy.yaml").write_text(json.dumps(teams()))
    arguments = ["report", "-p", "policy.yaml", "--kubeconfig", str(server.kubeconfig())]
    shown = in_terminal(*arguments, "--dry-run", "--qps", "30", cwd=tmp_path, columns=200)
    before = re.findall(r"(.{3})would write", shown, re.DOTALL)
    assert len(before) == 20
    assert {each for each in before if not each.endswith("\n")} <= {"[2K"}, "erased, or a new line"
