"""docs/develop/faults.md and the tests belong together: each row has its test, each test its row."""

import ast
import re
from pathlib import Path

import pytest

from tests.shared import ROOT

PAGE = ROOT / "docs" / "develop" / "faults.md"
ALERTS = ROOT / "deploy" / "chart" / "files" / "alerts.yaml"
METRICS = ROOT / "docs" / "reference" / "metrics.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TEXT = PAGE.read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """The cells of all rows, without those of heads."""
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [each for each in cells if each[-1] != "test"]


def names_in(file: Path) -> set[str]:
    """The names of the tests in a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (each.name for each in tree.body if isinstance(each, ast.FunctionDef))
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:40])
def test_each_row_has_a_test_that_exists(row: list[str]) -> None:
    fault, does, seen, tests = row
    assert fault and does and seen
    named = NAMED.findall(tests)
    assert named
    assert [each for each in named if each[1] not in names_in(ROOT / each[0])] == []


def test_each_test_of_this_folder_has_a_row() -> None:
    ours = {
        (f"tests/faults/{file.name}", name)
        for file in Path(__file__).parent.glob("test_*.py")
        if file != Path(__file__)
        for name in names_in(file)
    }
    assert ours - set(NAMED.findall(TEXT)) == set()


def test_alerts_and_metrics_of_the_page_exist() -> None:
    alerts = set(re.findall(r"alert: (\w+)", ALERTS.read_text(encoding="utf-8")))
    assert set(re.findall(r"\bPolicyd[A-Z]\w+", TEXT)) - alerts == set()
    metrics = set(re.findall(r"policyd_\w+", METRICS.read_text(encoding="utf-8")))
    assert set(re.findall(r"policyd_\w+", TEXT)) - metrics == set()
