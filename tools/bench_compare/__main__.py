"""``python -m tools.bench_compare [--base REF] [--threshold PERCENT] [--no-instructions]``.

Builds the last tag (or REF) beside this tree, runs the same work in a process of each, in turns,
and prints how many times as long this tree takes: by CPU time with an interval, and by counted
instructions. Exit status: 0; 1 if anything is slower than the threshold allows; 2 if REF cannot be
compared. Without REF and without a tag there is nothing to do, which is no failure.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from policyd.benchmark.figures import interval
from policyd.errors import ConfigError
from tools.bench_compare.base import ROOT, NoBase, built, commit_of, last_tag
from tools.bench_compare.instructions import Counter, counter

ROUNDS = 31
_ROUND = 0.05  # seconds of CPU time
_COUNTED = 10  # passes over the reviews
_WORKER = Path(__file__).parent / "worker.py"
REVIEWS = "tools/bench/data/bodies.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Workload:
    """Policies that answer the reviews of the reference work at one webhook."""

    name: str
    webhook: str
    policies: str

    def command(self, passes: int) -> list[str]:
        """Return the command of a worker. Both trees get the policies and reviews of this one."""
        files = (str(ROOT / REVIEWS), str(passes), str(ROOT / self.policies))
        return [sys.executable, str(_WORKER), self.webhook, *files]


WORKLOADS = (
    Workload("16 validating policies", "validate", "tools/bench/data/vap"),
    Workload("Pod Security, restricted", "validate", "policies/pod-security/restricted"),
    Workload("50 mutating policies", "mutate", "tools/bench/data/map"),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """This tree divided by the other one."""

    value: float
    low: float
    high: float
    instructions: float | None

    def slower_than(self, threshold: float) -> bool:
        """Whether it takes more by this share: as counted, or else as timed, beyond doubt."""
        return (self.low if self.instructions is None else self.instructions) > 1 + threshold


class WorkerFailed(Exception):
    """Why a tree cannot do the work."""


class Worker:
    """A process of a tree."""

    def __init__(self, workload: Workload, tree: Path) -> None:
        self._child = subprocess.Popen(
            workload.command(0),
            env={**os.environ, **environment(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = self._line()
        number, _, found = first.partition(" ")
        if Path(found) != tree:
            self.close()
            raise WorkerFailed(f"policyd was imported from {found}, not from {tree}")
        self.reviews = int(number)

    def run(self, passes: int) -> float:
        """Return the microseconds of CPU time of one review."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{passes}\n")
        self._child.stdin.flush()
        return int(self._line()) / 1e3 / passes / self.reviews

    def close(self) -> None:
        """End the process."""
        self._child.communicate()

    def _line(self) -> str:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            _, errors = self._child.communicate()
            raise WorkerFailed(errors.strip().splitlines()[-1] if errors else "it ended")
        return line.strip()


def environment(tree: Path) -> dict[str, str]:
    """Return what makes Python import policyd from a tree."""
    return {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}


@contextmanager
def workers(workload: Workload, *trees: Path) -> Iterator[list[Worker]]:
    """Start a worker of each tree."""
    started: list[Worker] = []
    try:
        for tree in trees:
            started.append(Worker(workload, tree))
        yield started
    finally:
        for each in started:
            each.close()


def timed(workload: Workload, other: Path) -> tuple[float, float, float]:
    """Return the ratio of CPU time with its interval; the trees take turns."""
    with workers(workload, ROOT, other) as (mine, theirs):
        passes = max(1, round(_ROUND / (theirs.run(1) * theirs.reviews / 1e6)))
        ratios = []
        for number in range(ROUNDS):
            if number % 2:
                now, before = mine.run(passes), theirs.run(passes)
            else:
                before, now = theirs.run(passes), mine.run(passes)
            ratios.append(now / before)
    return (median(ratios), *interval(ratios))


def counted(workload: Workload, other: Path, using: Counter) -> float:
    """Return the ratio of instructions."""
    now, before = (
        using.count(workload.command(1 + _COUNTED), environment(tree))
        - using.count(workload.command(1), environment(tree))
        for tree in (ROOT, other)
    )
    return now / before


def main() -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_compare")
    parser.add_argument("--base", default="", metavar="REF", help="the commit to compare with")
    parser.add_argument("--threshold", type=float, default=10.0, metavar="PERCENT")
    parser.add_argument("--no-instructions", action="store_true")
    given = parser.parse_args()
    begin = time.monotonic()
    try:
        name = given.base or last_tag()
    except NoBase as reason:
        print(f"nothing to compare with: {reason}; name a commit with BASE=REF")
        return 0
    try:
        commit = commit_of(name)
        print(f"building {name} ({commit[:12]})", file=sys.stderr)
        other = built(commit)
    except NoBase as reason:
        print(f"Error: {reason}", file=sys.stderr)
        return 2
    using = None
    if not given.no_instructions:
        try:
            using = counter()
        except ConfigError as reason:
            print(f"instructions are not counted: {reason}", file=sys.stderr)
    status = 0
    print(f"this tree / {name}, more than 1 is slower; 98 % intervals")
    for each in WORKLOADS:
        try:
            times = timed(each, other)
            found = Ratio(*times, None if using is None else counted(each, other, using))
        except (WorkerFailed, ConfigError) as reason:
            print(f"  {each.name:<26} cannot be compared: {reason}")
            continue
        slower = found.slower_than(given.threshold / 100)
        status = max(status, int(slower))
        count = "" if found.instructions is None else f"  instructions {found.instructions:.3f}"
        print(
            f"  {each.name:<26} CPU time {found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
            f"{count}{'  SLOWER' if slower else ''}",
            flush=True,
        )
    print(f"took {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
