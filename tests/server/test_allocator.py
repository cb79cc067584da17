"""The allocator's parameters: set unless the operator sets them, and in every server."""

import subprocess
import sys
from pathlib import Path

import pytest

from policyd._core.system import libc
from policyd.server.allocator import PARAMETERS, Parameter, keep_memory
from tests.builders.reviews import body
from tests.server.process import Process, fake_server, write_sources

VARIABLES = [each.variable for each in PARAMETERS]
GLIBC = pytest.mark.skipif(not libc.IS_GLIBC, reason="not glibc: nothing is set")


class FakeLibrary:
    """A C library that records what is set."""

    def __init__(self) -> None:
        self.calls: dict[int, int] = {}

    def mallopt(self, number: int, value: int) -> bool:
        self.calls[number] = value
        return True


def test_all_parameters_are_set_by_default() -> None:
    library = FakeLibrary()
    assert keep_memory({"MALLOC_ARENA_MAX": "2"}, library.mallopt) == VARIABLES
    assert library.calls == {each.number: each.value for each in PARAMETERS}


@pytest.mark.parametrize("own", PARAMETERS, ids=VARIABLES)
def test_what_the_operator_sets_is_not_touched(own: Parameter) -> None:
    for environment in (
        {own.variable: "1"},
        {"GLIBC_TUNABLES": f"glibc.malloc.arena_max=1:{own.tunable}=1"},
    ):
        library = FakeLibrary()
        assert own.variable not in keep_memory(environment, library.mallopt)
        assert own.number not in library.calls
        assert len(library.calls) == len(PARAMETERS) - 1


def test_other_libraries_are_left_alone() -> None:
    assert keep_memory({}, None) == []


@GLIBC
def test_free_memory_is_kept_in_this_process() -> None:
    """32 MiB are freed: by default glibc unmaps them at once."""
    program = """
import sys
from policyd.server.allocator import keep_memory
if sys.argv[1:]:
    keep_memory({})
def resident():
    return next(int(row.split()[1]) for row in open("/proc/self/status") if row.startswith("VmRSS"))
blocks = [bytes(b"x") * 2**20 for _ in range(32)]
full = resident()
del blocks
print(full - resident() < 8 * 2**10)
"""

    def kept(*arguments: str) -> str:
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert (kept(), kept("keep")) == ("False", "True")


def faults(server: Process) -> int:
    """Pages that the server had to be given so far."""
    status = Path(f"/proc/{server.child.pid}/stat").read_text().rpartition(")")[2].split()
    return int(status[7])


def faults_of_answers(folder: Path) -> int:
    """How many pages thirty answers of 0.5 MB take after the first ones."""
    folder.mkdir()
    sources = write_sources(folder / "sources", a="patch 500000")
    with fake_server(folder, sources) as server:
        for _ in range(5):
            assert server.post("/mutate", body())[0] == 200
        before = faults(server)
        for _ in range(30):
            assert server.post("/mutate", body())[0] == 200
        return faults(server) - before


@GLIBC
def test_server_reuses_memory_unless_the_operator_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = faults_of_answers(tmp_path / "default")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    mapped = faults_of_answers(tmp_path / "mapped")
    print(f"{kept} pages, {mapped} if the operator maps large blocks")
    assert mapped > 1.5 * kept
