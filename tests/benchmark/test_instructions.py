"""Instructions per request: by programs that count, or by an error that says how to get one."""

import shutil
import sys
from pathlib import Path

import pytest

from policyd.benchmark.instructions import CALLGRIND, Counter, counter, instructions
from policyd.benchmark.requests import Review, WebhookRequest, requests_of
from policyd.benchmark.work import Job
from policyd.errors import ConfigError
from policyd.policy.compile import compiler
from policyd.policy.source.loader import load
from policyd.policy.suite.reviews import build_review
from policyd.versions import NEWEST
from tests.builders.objects import pod
from tests.builders.policies import demand, policy
from tests.e2e.webhook import write
from tests.sampling import share

CHEAP = "object.metadata.name != 'x'"
DEAR = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, a + b != size(object.metadata.name) + 100))"


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


def job(folder: Path, expression: str) -> Job:
    sources = write(folder, [policy(validations=[demand(expression, "x")])])
    policies = compiler.compile_strict(load([sources]))
    requests: list[WebhookRequest] = requests_of(policies, [Review("r", build_review(pod()))])
    return Job((str(sources),), str(NEWEST), (), None, tuple(requests))


def quiet(doing: str, done: int, total: int) -> None:
    """No progress."""


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


def test_what_starts_and_warms_up_is_subtracted(tmp_path: Path) -> None:
    # Counts 7 million, and 5000 for each pass, which is the last argument.
    script = "for last; do :; done; echo totals: $((7000000 + 5000 * last)) > FILE"
    using = Counter("fake", ("sh", "-c", script, "sh"))
    (found,) = instructions(job(tmp_path / "p", CHEAP), using, quiet)
    assert (found.name, found.rounds) == ("validate/instructions (fake)", (5000.0,))


needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed: nothing is counted"
)


@needs_valgrind
def test_valgrind_counts_the_same_again_and_more_for_more() -> None:
    def counted(passes: int) -> int:
        return CALLGRIND.count(["sh", "-c", f"i=0; while [ $i -lt {passes} ]; do i=$((i+1)); done"])

    first, again, more = counted(100), counted(100), counted(2100)
    assert again == pytest.approx(first, rel=0.001)
    assert more > first + 2000 * 100


@needs_valgrind
@pytest.mark.skipif(share() < 1, reason="it takes a minute: only where everything is checked")
@pytest.mark.slow
@pytest.mark.timeout(1800)  # six runs, each some fifty times as long as without Valgrind
def test_valgrind_counts_requests(tmp_path: Path) -> None:
    cheap, dear = (job(tmp_path / str(size), each) for size, each in ((1, CHEAP), (2, DEAR)))
    (first,), (again,) = (instructions(cheap, CALLGRIND, quiet) for _ in range(2))
    assert again.median == pytest.approx(first.median, rel=0.01)
    (more,) = instructions(dear, CALLGRIND, quiet)
    assert more.median > 1.2 * first.median


def test_a_job_runs_by_itself(tmp_path: Path) -> None:
    # What is counted is this interpreter with the module that answers the requests.
    seen = tmp_path / "seen"
    script = f'"$@" || exit 1; echo "$@" >> {seen}; echo totals: 1 > FILE'
    using = Counter("fake", ("sh", "-c", script, "sh"))
    instructions(job(tmp_path / "p", CHEAP), using, quiet)
    base, more = seen.read_text().splitlines()
    assert base.startswith(f"{sys.executable} -m policyd.benchmark.work ")
    assert (base.split()[-2:], more.split()[-2:]) == (["validate", "0"], ["validate", "1000"])
