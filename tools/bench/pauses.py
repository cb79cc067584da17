"""How long garbage collections stop a server: while it answers at a steady rate, and replaces 500
policies meanwhile.

CPU time of the thread that collects: what other processes take is not in it.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from policyd.benchmark.figures import percentile
from tests.server.process import Process
from tools.bench import core
from tools.bench.start import WARM_UP, Mount, Steady

Row = core.Row
POLICIES = 500
RELOADS = 4


async def replaced(server: Process, mount: Mount) -> None:
    """Replace all policies a few times, under steady load."""
    load, stop = Steady(server.port, core.bodies()), asyncio.Event()
    running = asyncio.create_task(load.run(stop))
    await asyncio.sleep(WARM_UP)
    for number in range(RELOADS):
        await asyncio.to_thread(mount.prepare, POLICIES)
        mount.swap()
        while len(server.lines("reload")) <= number:
            await asyncio.sleep(0.05)
        if server.lines("reload")[-1]["level"] != "info":
            raise SystemExit(server.lines("reload")[-1])
    await asyncio.sleep(WARM_UP)
    stop.set()
    await running


def pauses() -> Iterator[Row]:
    """The collections of a server that is ready."""
    flags = ["--self-signed", "--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        sources, file = folder / "mount", folder / "collections"
        sources.mkdir()
        mount = Mount(sources, POLICIES)
        module = [sys.executable, "-m", "tests.server.pauses", str(file)]
        server = Process([*module, "serve", "-p", str(sources), *flags], folder / "log")
        try:
            before = len(file.read_text().splitlines())
            asyncio.run(replaced(server, mount))
        finally:
            server.kill()
        lines = file.read_text().splitlines()[before:]
        yield "collections of garbage, all reloads", figure(lines), "p99.9 below 1 ms"


def figure(lines: Sequence[str]) -> str:
    """How long they took."""
    taken = sorted(int(line.split()[1]) / 1e6 for line in lines)
    return (
        f"{len(taken):,}: median {median(taken):.2f}, p99.9 {percentile(taken, 0.999):.2f}, "
        f"longest {taken[-1]:.2f} ms"
    )
