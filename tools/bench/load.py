"""Requests that arrive at random, whatever the server answers (an open model): how long they take
at shares of the server's peak; and what a request costs with two workers.

For latencies the server and the load have a core each and, where that is permitted, the priority of
real-time processes: otherwise the figures are those of the neighbours. The kernel stops such
processes in each second of which they use 95 %: hence no share above 80 %.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import sleep

from tests.faults.open_load import OpenLoad
from tests.faults.overload import measured
from tests.server.process import PATIENCE, Process
from tests.server.serve import command
from tools.bench import core
from tools.bench.server import drive, request

Row = core.Row
SHARES = (0.1, 0.25, 0.5, 0.7, 0.8)
SECONDS, PEAK_SECONDS = 10.0, 2.0
CONNECTIONS = 256
ROUNDS = 7


def latency() -> Iterator[Row]:
    """p50, p99 and p99.9 at each share of the peak, with the 16 policies."""
    cores = sorted(os.sched_getaffinity(0))
    with TemporaryDirectory() as name:
        server = Process(command(core.VAP), Path(name) / "log")
        try:
            for task in Path(f"/proc/{server.child.pid}/task").iterdir():
                _precede(int(task.name), cores[:1])
            _precede(0, cores[1:] or cores)
            load = OpenLoad(server.port, 10.0)
            client = load.client("127.0.0.2", request(core.bodies()[0]), CONNECTIONS)
            measured(server, load, PEAK_SECONDS, [client])
            peak = measured(server, load, PEAK_SECONDS, [client])
            # Of the server's own CPU: other processes may have had the core as well.
            fastest = len(peak.answers.good) / peak.cpu
            yield "peak", f"{fastest:,.0f} requests a second of CPU", "none"
            for share in SHARES:
                sleep(1)  # otherwise the kernel may stop processes for the time before
                client.rate = share * fastest
                load.offer(SECONDS)
                load.settle(PATIENCE)
                answers = load.take()
                if len(answers.good) != answers.sent:
                    raise SystemExit(f"{answers.sent} requests, {len(answers.good)} answers")
                yield f"{share:.0%} of the peak", _percentiles(answers.good), "none"
            load.close()
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, cores)
            server.kill()


def _precede(task: int, cores: Sequence[int]) -> None:
    os.sched_setaffinity(task, cores)
    with suppress(PermissionError):
        os.sched_setscheduler(task, os.SCHED_RR, os.sched_param(1))


def _percentiles(seconds: Sequence[float]) -> str:
    cuts = quantiles(seconds, n=1000)
    p50, p99, p999 = (cuts[at] * 1e3 for at in (499, 989, 998))
    return f"p50 {p50:.2f}, p99 {p99:.2f}, p99.9 {p999:.2f} ms"


def workers() -> Iterator[Row]:
    """CPU of a request: of all processes with two workers, beside that of one process."""
    bodies = core.bodies()
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for count, costs in found.items():
            costs.append(_cost(count, bodies))
    one, two = (median(each) for each in found.values())
    ratio = median(b / a for a, b in zip(*found.values(), strict=True))
    figure = f"{two:.0f} µs = {ratio:.2f} x one process ({one:.0f} µs)"
    yield "CPU of a request, two workers", figure, "1.05 x"


def _cost(count: int, bodies: list[bytes]) -> float:
    flags = ["--workers", str(count)] if count > 1 else []
    with TemporaryDirectory() as name:
        server = Process(command(core.VAP, *flags), Path(name) / "log")
        try:
            return drive(server.port, [server.child.pid, *server.children()], bodies).cpu_micros
        finally:
            server.kill()
