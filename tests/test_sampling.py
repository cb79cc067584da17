"""Properties explore where they are told to, and a counterexample can be found again."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.sampling import EXPLORE, SEED
from tests.shared import ROOT

PROPERTY = """
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_it(number):
    print("tried", number)
    assert number < 1000 or number % 7
"""


def tried(folder: Path, **variables: str) -> tuple[list[str], str]:
    """The numbers that a run tried, and what it printed."""
    (folder / "test_it.py").write_text(PROPERTY)
    options = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_it.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return re.findall(r"^tried (\d+)$", done.stdout, re.MULTILINE), done.stdout


def test_a_counterexample_is_found_again_with_the_seed_that_is_printed(tmp_path: Path) -> None:
    folders = [tmp_path / each for each in ("first", "other", "again")]
    for each in folders:
        each.mkdir()
    first, printed = tried(folders[0], **{EXPLORE: "1", SEED: "7"})
    assert f"repeat: {EXPLORE}=1 {SEED}=7 python -m pytest 'test_it.py::test_it'" in printed
    assert "@reproduce_failure" in printed
    assert tried(folders[1], **{EXPLORE: "1", SEED: "8"})[0] != first
    assert tried(folders[2], **{EXPLORE: "1", SEED: "7"})[0] == first
