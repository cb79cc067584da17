"""The life of a server with 100 policies: how soon it is ready, what a reload does to the requests
that it answers meanwhile, and how much memory it takes.

Requests are sent at a steady rate and timed from the moment each was due, so that a pause of the
server shows in every request that it delays.
"""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter

import uvloop

from tests.server.process import Process, trusting
from tests.shared import ROOT
from tools.bench import core
from tools.bench.server import cpu_seconds, request

Row = core.Row
COUNT = 100
CROWD = 10_000
STARTS = 5
RELOADS = 8
CONNECTIONS = 8
RATE = 300  # requests a second
# Seconds of load: before anything is measured, to compare with, and after a swap (what it frees).
WARM_UP, BEFORE, AFTER = 1.0, 3.0, 0.3
_NAME = re.compile(r"metadata:\s*(?:\{\s*)?name: ([a-z0-9.-]+)")


@dataclass(frozen=True, slots=True)
class Sample:
    """A request: when it was due, and when its answer was there."""

    due: float
    done: float


def texts(count: int = COUNT) -> Iterator[tuple[str, str]]:
    """Names and texts of that many policies: the reference work and the policies that policyd
    brings, over and over under other names.
    """
    files = [*sorted(core.VAP.glob("*.yaml")), *sorted((ROOT / "policies").rglob("policy.yaml"))]
    for number in range(count):
        text = files[number % len(files)].read_text()
        found = _NAME.search(text)
        if found is None:
            raise SystemExit(f"{files[number % len(files)]}: no name")
        name = f"{found[1]}-{number:03d}"
        own = re.compile(rf"((?:name|policyName): ){re.escape(found[1])}(?![a-z0-9.-])")
        yield name, own.sub(rf"\g<1>{name}", text)


class Mount:
    """A folder like a mounted ConfigMap: its files change all at once, by one renamed link."""

    def __init__(self, folder: Path, count: int = COUNT) -> None:
        self._folder = folder
        self._version = 0
        self._texts = dict(texts(count))
        self.prepare(0)
        self.swap()

    def prepare(self, count: int) -> None:
        """Another state, in which the first ``count`` documents are others."""
        self._version += 1
        for name in list(self._texts)[:count]:
            self._texts[name] = f"{self._texts[name].rstrip()}\n# version {self._version}\n"
        new = self._folder / f"..{self._version}"
        new.mkdir()
        for name, text in self._texts.items():
            (new / f"{name}.yaml").write_text(text)
            link = self._folder / f"{name}.yaml"
            if not link.is_symlink():
                link.symlink_to(f"..data/{name}.yaml")
        (self._folder / "..new").symlink_to(new.name)

    def swap(self) -> None:
        """Show the state that was prepared."""
        (self._folder / "..new").rename(self._folder / "..data")


class Steady:
    """Requests at a steady rate over keep-alive connections; any answer but a 200 ends the run."""

    def __init__(self, port: int, bodies: list[bytes]) -> None:
        self._port = port
        self._requests = [request(body) for body in bodies]
        self._due: asyncio.Queue[float] = asyncio.Queue()
        self.samples: list[Sample] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Send until ``stop`` is set."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self._connection()) for _ in range(CONNECTIONS)]
            due = perf_counter()
            while not stop.is_set():
                await asyncio.sleep(max(0.0, due - perf_counter()))
                self._due.put_nowait(due)
                due += 1 / RATE
            await self._due.join()
            for worker in workers:
                worker.cancel()

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=trusting())
        while True:
            due = await self._due.get()
            writer.write(self._requests[len(self.samples) % len(self._requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200" not in head[:13]:
                raise SystemExit(f"the server answered {head!r}")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            await reader.readexactly(length)
            self.samples.append(Sample(due, perf_counter()))
            self._due.task_done()

    def between(self, start: float, end: float) -> list[float]:
        """Milliseconds of the requests that were under way in that time, or started in it."""
        return [(s.done - s.due) * 1e3 for s in self.samples if s.done >= start and s.due <= end]


@contextmanager
def serving(sources: Path, folder: Path) -> Iterator[Process]:
    """A server of its own core; who measures has the others. Its modules are compiled once, into
    ``folder``: an installation has its bytecode, a working tree may have none.
    """
    bytecode = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    flags = ["--self-signed", "--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"]
    command = [sys.executable, "-m", "policyd", "serve", "--policies", str(sources), *flags]
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])  # inherited
    server = None
    try:
        server = Process(command, folder / "log", bytecode)
        os.sched_setaffinity(0, cores[1:] or cores)
        yield server
    finally:
        os.sched_setaffinity(0, cores)
        if server is not None:
            server.kill()


def resident(pid: int) -> int:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return quantiles(values, n=100)[98]


@dataclass(frozen=True, slots=True)
class Started:
    """Medians of a few fresh servers: seconds until ready, seconds of CPU for it, MiB resident."""

    seconds: float
    cpu: float
    memory: int


def started(sources: Path, folder: Path, times: int) -> Started:
    """Start servers over the sources, one after the other; a first one compiles bytecode."""
    with serving(sources, folder):
        pass
    found: list[tuple[float, float, int]] = []
    for _ in range(times):
        begin = perf_counter()
        with serving(sources, folder) as server:
            seconds = perf_counter() - begin
            found.append((seconds, cpu_seconds(server.child.pid), resident(server.child.pid)))
    seconds_each, cpu_each, memory_each = zip(*found, strict=True)
    return Started(median(seconds_each), median(cpu_each), round(median(memory_each)))


@dataclass(slots=True)
class Reloads:
    """Seconds of each reload, and milliseconds of the requests before and during all of them."""

    seconds: list[float]
    before: list[float]
    during: list[float]


async def reloaded(server: Process, mount: Mount, count: int) -> Reloads:
    """Reload under steady load; each time ``count`` policies have another text."""
    load, stop = Steady(server.port, core.bodies()), asyncio.Event()
    running = asyncio.create_task(load.run(stop))
    await asyncio.sleep(WARM_UP)
    begin = perf_counter()
    await asyncio.sleep(BEFORE)
    found = Reloads([], load.between(begin, perf_counter()), [])
    with server.log.open("rb") as log:
        for _ in range(RELOADS):
            await asyncio.to_thread(mount.prepare, count)
            log.seek(0, os.SEEK_END)
            begin = perf_counter()
            mount.swap()
            while not (told := [line for line in log if b'"reload"' in line]):
                await asyncio.sleep(0.005)
            found.seconds.append(perf_counter() - begin)
            if b'"info"' not in told[0]:
                raise SystemExit(told[0].decode())
            await asyncio.sleep(AFTER)
            found.during += load.between(begin, perf_counter())
    stop.set()
    await running
    return found


def reloading(server: Process, mount: Mount) -> Iterator[Row]:
    """Reloads of which all policies are new, or one."""
    for count in (COUNT, 1):
        found = uvloop.run(reloaded(server, mount, count))
        times = f"p99 {p99(found.before):.1f} -> {p99(found.during):.1f} ms"
        figure = f"{median(found.seconds):.2f} s, {times}, max {max(found.during):.1f} ms"
        yield f"reload under load, {count} of {COUNT} new", figure, "1 s, p99 unmoved"


def start() -> list[Row]:
    """Start, reloads and memory."""
    rows: list[Row] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        sources = folder / "mount"
        sources.mkdir()
        mount = Mount(sources)
        few = started(sources, folder, STARTS)
        ready = f"{few.seconds:.2f} s, {few.cpu:.2f} s of CPU"
        rows.append((f"ready after start, {COUNT} policies", ready, "0.5 s"))
        with serving(sources, folder) as server:
            rows += reloading(server, mount)
            after = resident(server.child.pid)
        memory = f"{few.memory} MiB, {after} MiB after load and {2 * RELOADS} reloads"
        rows.append((f"resident memory, {COUNT} policies", memory, "60 MiB, flat"))
        many = started(core.simple_policies(folder, CROWD), folder, 1)
        crowd = f"ready in {many.seconds:.1f} s, {many.memory} MiB"
        rows.append((f"{CROWD:,} simple policies", crowd, "3 s"))
    return rows
