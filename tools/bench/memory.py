"""Whether a server's memory stays where it is: over reloads that replace all policies, and over
requests.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

from tests.server.process import Process, trusting
from tools.bench import core
from tools.bench.server import Connection, request
from tools.bench.start import COUNT, Mount, serving

Row = core.Row
RELOADS = 200
REQUESTS = 200_000
# What a server needs once: caches fill, and the allocator gets its reserves.
FIRST_RELOADS, FIRST_REQUESTS = 10, 10_000
CONNECTIONS = 16


def replace(server: Process, mount: Mount, times: int) -> None:
    """Replace all policies that often."""
    with server.log.open("rb") as log:
        for _ in range(times):
            mount.prepare(COUNT)
            log.seek(0, os.SEEK_END)
            mount.swap()
            while not (told := [line for line in log if b'"reload"' in line]):
                sleep(0.005)
            if b'"info"' not in told[0]:
                raise SystemExit(told[0].decode())


def send(server: Process, times: int) -> None:
    """Send that many requests over a few connections."""
    requests = [request(body) for body in core.bodies()]
    connections = [Connection(server.port, trusting()) for _ in range(CONNECTIONS)]
    for number in range(0, times, CONNECTIONS):
        for index, connection in enumerate(connections):
            connection.send(requests[(number + index) % len(requests)])
        for connection in connections:
            connection.receive()
    for connection in connections:
        connection.close()


def memory() -> Iterator[Row]:
    """The growth over reloads and over requests, from a server that has had some of both."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        sources = folder / "mount"
        sources.mkdir()
        mount = Mount(sources)
        with serving(sources, folder) as server:
            send(server, FIRST_REQUESTS)
            replace(server, mount, FIRST_RELOADS)
            for what, count, act in (
                ("reloads", RELOADS, partial(replace, server, mount, RELOADS)),
                ("requests", REQUESTS, partial(send, server, REQUESTS)),
            ):
                before = server.resident()
                act()
                grown = (server.resident() - before) / 2**20
                figure = f"{grown:+.1f} MiB, of {before / 2**20:.0f}"
                yield f"memory over {count:,} {what}", figure, "+2 MB"
