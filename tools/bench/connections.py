"""What thousands of open TLS connections take: idle, slow, busy; opened and closed repeatedly; and
the CPU of a request beside them.

The server's own limits are out of the way; its soft limit of open files is too low, and it raises
that itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from statistics import median
from tempfile import TemporaryDirectory

from tests.server.many import ManyConnections
from tests.server.process import Process, until
from tests.server.serve import command
from tools.bench import core
from tools.bench.server import cpu_seconds, request

Row = core.Row
CONNECTIONS = 2000
ROUNDS = 5
WARM_UP = 100  # requests on each of a few connections
SIZES = (1, 16, 100, 1000, 2500, 5000)
REQUESTS = 5_000  # at each of these sizes, in a round
FLAGS = ("--max-connections", "8000", "--max-in-flight", "3000", "--body-timeout", "10m")
FEW_FILES = ("sh", "-c", 'ulimit -S -n 256; exec "$@"', "sh")
HELD_BACK = 10  # bytes of a body


def connections() -> Iterator[Row]:
    """Memory of a connection in each state, what is given back, and what is not; then the CPU of a
    request on one connection after the other.
    """
    _, hard = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (hard, hard))
    yield from memory()
    yield from requests_on()


def memory() -> Iterator[Row]:
    """Memory of a connection."""
    requests = [request(body).replace(b"=10s", b"=30s") for body in core.bodies()]
    longest = max(requests, key=len)
    with TemporaryDirectory() as name:
        process = [*FEW_FILES, *command(core.VAP, *FLAGS, "--keep-alive", "10m")]
        server = Process(process, Path(name) / "log")
        many = ManyConnections(server)
        try:
            many.open(16)
            for _ in range(WARM_UP):
                many.take_turns(requests)
            many.close()
            before = server.resident()

            def each(what: str) -> Row:
                size = (server.resident() - before) / CONNECTIONS / 1024
                return f"memory of a connection, {what}", f"{size:.0f} KiB", "100 KiB"

            many.open(CONNECTIONS)
            yield each("unused")
            many.take_turns(requests)
            yield each("idle")
            many.send(longest[:-HELD_BACK])
            until(lambda: many.busy() == CONNECTIONS, "all requests", 60)
            yield each("its body does not end")
            many.send(longest[-HELD_BACK:])
            many.receive()
            many.send(longest)
            many.receive()
            yield each("all requests at once")
            most = server.resident()
            many.close()
            closed = server.resident()
            figure = f"{(most - closed) >> 20} of {(most - before) >> 20} MiB"
            yield f"given back by {CONNECTIONS:,} connections", figure, "80 %"
            for _ in range(ROUNDS):
                many.open(CONNECTIONS)
                many.take_turns(requests)
                many.close()
            grown = (server.resident() - closed) / 2**20
            figure = f"{grown:+.1f} MiB, {server.files()} open files"
            yield f"{ROUNDS} x {CONNECTIONS:,} opened and closed", figure, "+2 MB"
        finally:
            server.kill()


def requests_on() -> Iterator[Row]:
    """CPU of a server for a request, at each number of connections: servers that take turns."""
    sent = [request(core.bodies()[0])]
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        servers: dict[int, tuple[Process, ManyConnections]] = {}
        for size in SIZES:
            process = [*FEW_FILES, *command(core.VAP, *FLAGS, "--keep-alive", "10m")]
            server = stack.enter_context(Process(process, folder / str(size)))
            servers[size] = server, ManyConnections(server)
            servers[size][1].open(size)
        for _ in range(1 + ROUNDS):
            for size, (server, many) in servers.items():
                before = cpu_seconds(server.child.pid)
                for _ in range(REQUESTS // size):
                    many.take_turns(sent)
                used = cpu_seconds(server.child.pid) - before
                found[size].append(used / (REQUESTS // size * size) * 1e6)
    warm = {size: costs[1:] for size, costs in found.items()}
    for size, costs in warm.items():
        ratio = median(ours / one for ours, one in zip(costs, warm[SIZES[0]], strict=True))
        what = f"CPU of a request, {size:,} connections"
        yield what, f"{median(costs):.0f} µs = {ratio:.2f} x", "1.1 x" if size > 1 else ""
