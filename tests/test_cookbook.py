"""Each task of docs/write/cookbook has a policy and a suite that holds and covers the policy."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from tests.shared import ROOT

PAGES = sorted((ROOT / "docs/write/cookbook").glob("*.md"))
TASK = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
TASKS = [
    pytest.param(body, id=f"{page.stem}: {title}")
    for page in PAGES
    if page.stem != "README"
    for title, body in TASK.findall(page.read_text(encoding="utf-8"))
]


def test_there_are_thirty_tasks() -> None:
    assert len(TASKS) >= 30


@pytest.mark.parametrize("task", TASKS)
def test_the_suite_of_a_task_holds(task: str, tmp_path: Path) -> None:
    (text,) = BLOCK.findall(task)
    file = tmp_path / "task.yaml"
    file.write_text(text, encoding="utf-8")
    for command in (["test", str(file), "--coverage-min", "100"], ["lint", "--strict", str(file)]):
        done = CliRunner().invoke(policyd, command)
        assert done.exit_code == 0, done.output
