"""A type checker sees the public names, and finds the mistakes in ``fail``."""

import re
import subprocess
import sys

import policyd
from tests.shared import ROOT

FAIL = ROOT / "tests/typing/fail/api.py"
ERROR = re.compile(r"^\S+:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)


def test_every_public_name_is_in_the_module_that_is_checked() -> None:
    text = (ROOT / "tests/typing/api.py").read_text()
    missing = [name for name in policyd.__all__ if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def test_mistakes_are_found_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-pretty", "--no-error-summary", str(FAIL)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    lines = FAIL.read_text().splitlines()
    wanted = {
        (number, line.partition("# want: ")[2])
        for number, line in enumerate(lines, 1)
        if "# want: " in line
    }
    assert done.stderr == ""
    assert {(int(line), code) for line, code in ERROR.findall(done.stdout)} == wanted
