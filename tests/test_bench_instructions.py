"""Counters of instructions: those that there are, or an error that says how to get one."""

import shutil
from pathlib import Path

import pytest

from policyd.errors import ConfigError
from tools.bench_compare.instructions import CALLGRIND, Counter, counter


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    found = tmp_path / "bin"
    found.mkdir()
    monkeypatch.setenv("PATH", str(found))
    return found


def test_without_a_counter_the_error_has_the_remedy(path: Path) -> None:
    with pytest.raises(ConfigError, match="apt-get install valgrind"):
        counter()


def test_perf_is_preferred_where_it_counts(path: Path) -> None:
    program(path, "valgrind", "exit 0")
    program(
        path,
        "perf",
        'while [ "$1" != -o ]; do shift; done; echo "123,,instructions:u,1,100.00,," > "$2"',
    )
    found = counter()
    assert (found.name, found.count(["true"])) == ("perf", 123)


def test_valgrind_counts_where_perf_cannot(path: Path) -> None:
    program(path, "valgrind", "exit 0")
    program(
        path,
        "perf",
        'while [ "$1" != -o ]; do shift; done; echo "<not supported>,,instructions:u,0,100.00,," > "$2"',
    )
    assert counter().name == "callgrind"


def test_a_program_that_fails_is_an_error_with_its_words() -> None:
    using = Counter("sh", ("sh", "-c", "echo out of memory >&2; exit 3", "FILE"))
    with pytest.raises(ConfigError, match="sh did not count: out of memory"):
        using.count(["true"])


@pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed: nothing is counted"
)
def test_valgrind_counts_the_same_again_and_more_for_more() -> None:
    def counted(passes: int) -> int:
        return CALLGRIND.count(["sh", "-c", f"i=0; while [ $i -lt {passes} ]; do i=$((i+1)); done"])

    first, again, more = counted(100), counted(100), counted(2100)
    assert again == pytest.approx(first, rel=0.001)
    assert more > first + 2000 * 100
