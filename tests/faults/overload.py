"""Four times what one core can do: what a server does with it, measured by its CPU time.

``python -m tests.faults.overload`` prints a table for requests of three sizes of work, in a minute
each. The server and the load run on cores of their own where there are two. Shares of CPU time are
compared instead of times, because a busy machine hurts the phases differently. No tests here.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.builders.reviews import body
from tests.faults.open_load import Answers, Client, OpenLoad
from tests.server.announcing import whole
from tests.server.process import PATIENCE, Process
from tests.server.serve import serving, write_policy
from tools.bench.server import cpu_seconds

FACTOR = 4
ADDRESSES = 4
CONNECTIONS = 60  # of each address
# How much the server may work after the end of the load before it answers as fast as before.
RECOVERED_SECONDS = 2.0


@dataclass(frozen=True)
class Phase:
    """What came back during a time, and the CPU that the server used for it."""

    answers: Answers
    seconds: float
    cpu: float
    timeout: float

    @property
    def in_time(self) -> int:
        """Requests that were evaluated, and answered before their timeout."""
        return sum(each < self.timeout for each in self.answers.good)

    @property
    def goodput(self) -> float:
        """The same for each second of the server's CPU."""
        return self.in_time / max(self.cpu, 0.01)


@dataclass(frozen=True)
class Overload:
    """One run."""

    peak: Phase
    load: Phase
    recovery: (
        float  # seconds of the server's CPU from the end of the load to answers as fast as before
    )
    grown: int  # bytes of memory

    @property
    def ratio(self) -> float:
        """Goodput under overload beside that at the peak."""
        return self.load.goodput / self.peak.goodput


def work(units: int) -> str:
    """A policy that admits after so many expressions of a millisecond."""
    numbers = ",".join(map(str, range(100)))
    expression = f"[{numbers}].all(i, [{numbers}].all(j, i + j + object.data.size() >= 0))"
    each = [{"expression": expression}] * units or [{"expression": "true"}]
    return f"validations: {json.dumps(each)}"


@contextmanager
def server_of(folder: Path, units: int) -> Iterator[Process]:
    """A server of this work, on the first core if there are more."""
    policies = write_policy(folder / "policies", "p", work(units)).parent
    cores = sorted(os.sched_getaffinity(0))
    with serving(folder, policies) as server:
        if len(cores) > 1:
            for task in Path(f"/proc/{server.child.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), cores[:1])
            os.sched_setaffinity(0, cores[1:])
        try:
            yield server
        finally:
            os.sched_setaffinity(0, cores)


def measured(server: Process, load: OpenLoad, seconds: float, clients: list[Client]) -> Phase:
    """Requests for some seconds: at FACTOR times the peak from several clients, or the peak, from
    a few connections of one client.
    """
    start, before = perf_counter(), cpu_seconds(server.child.pid)
    if len(clients) == 1:
        load.saturate(seconds, clients[0], 8)
    else:
        load.offer(seconds)
    cpu, taken = cpu_seconds(server.child.pid) - before, perf_counter() - start
    load.settle(PATIENCE)
    return Phase(load.take(), taken, cpu, load.patience)


def overload(folder: Path, units: int, seconds: float, timeout: float) -> Overload:
    """Find the peak, overload, and see how fast the server is itself again."""
    with server_of(folder, units) as server:
        load = OpenLoad(server.port, timeout)
        request = whole(f"/validate?timeout={timeout}s", body())
        clients = [
            load.client(f"127.0.0.{2 + number}", request, CONNECTIONS)
            for number in range(ADDRESSES)
        ]
        measured(server, load, seconds / 8, clients[:1])
        peak = measured(server, load, seconds / 4, clients[:1])
        started = server.resident()
        for client in clients:
            client.rate = FACTOR / ADDRESSES * peak.in_time / peak.seconds
        loaded = measured(server, load, seconds, clients)
        slowest = 3 * max(peak.answers.good)
        ended = cpu_seconds(server.child.pid)
        recovery = 0.0
        while recovery < 10 * RECOVERED_SECONDS:
            load.saturate(0.05, clients[0], 1)
            load.settle(PATIENCE)
            recovery = cpu_seconds(server.child.pid) - ended
            again = load.take()
            if again.good and median(again.seconds) < slowest:
                break
        grown = server.resident("VmHWM") - started
        load.close()
        return Overload(peak, loaded, recovery, grown)


def main(arguments: list[str]) -> None:
    """Print the table."""
    seconds = float(arguments[0]) if arguments else 60.0
    print(
        "| work of a request | peak | offered | evaluated | 503 | late | goodput | slowest | after |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for units in (0, 1, 12):
        with TemporaryDirectory() as folder:
            run = overload(Path(folder), units, seconds, 10.0)
        answers = run.load.answers
        print(
            f"| {1e3 / run.peak.goodput:.2f} ms | {run.peak.goodput:.0f}/s"
            f" | {(answers.sent + answers.dropped) / run.load.seconds:.0f}/s"
            f" | {run.load.in_time} | {len(answers.shed)} | {len(answers.seconds) - run.load.in_time - len(answers.shed)}"
            f" | {run.ratio:.0%} | {max(answers.seconds):.2f} s (median"
            f" {median(answers.good):.2f}) | {run.recovery:.2f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
