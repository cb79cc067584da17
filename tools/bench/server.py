"""The whole service over TLS: CPU of the server's process per request, and requests a second.

The server is pinned to one core, its clients to the others. Each round starts fresh servers, one
after the other, so that a noisy machine hurts all of them alike: compare the figures of one run.
"""

import os
import socket
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import clock_gettime, perf_counter

from tests.server.process import Process, trusting
from tools.bench import core

CONNECTIONS = 16
REQUESTS = 6000
ROUNDS = 3
_PER_PROCESS = 2  # CPUCLOCK_SCHED of linux/posix-timers.h


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of a server cost."""

    cpu_micros: float
    rate: float


def request(body: bytes) -> bytes:
    """The bytes that the API server sends for a review."""
    head = (
        "POST /validate?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"User-Agent: kube-apiserver-admission\r\nContent-Length: {len(body)}\r\n"
        "Accept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    return head.encode() + body


class Connection:
    """A keep-alive TLS connection, as bare as it can be: the client must not be the bottleneck."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        raw = socket.create_connection(("127.0.0.1", port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(raw)
        self._rest = b""

    def send(self, data: bytes) -> None:
        """Send one request."""
        self._socket.sendall(data)

    def receive(self) -> None:
        """Read one whole answer, which must be a 200."""
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._read()
        head = data[:end].lower()
        if b" 200" not in head[:13]:
            raise SystemExit(f"the server answered {data[:200]!r}")
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(data) < end + 4 + length:
            data += self._read()
        self._rest = data[end + 4 + length :]

    def _read(self) -> bytes:
        data = self._socket.recv(65536)
        if not data:
            raise SystemExit("the server closed a connection")
        return data

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far, to the nanosecond."""
    return clock_gettime((~pid << 3) | _PER_PROCESS)


def drive(port: int, pids: Sequence[int], bodies: list[bytes]) -> Load:
    """Send REQUESTS over CONNECTIONS and measure the processes of the server."""

    def spent() -> float:
        return sum(map(cpu_seconds, pids))

    requests = [request(body) for body in bodies]
    context = trusting()
    connections = [Connection(port, context) for _ in range(CONNECTIONS)]
    cpu, start, done = 0.0, 0.0, -1000
    while done < REQUESTS:
        if done >= 0 and not start:
            cpu, start, done = spent(), perf_counter(), 0
        for index, connection in enumerate(connections):
            connection.send(requests[(done + index) % len(requests)])
        for connection in connections:
            connection.receive()
        done += CONNECTIONS
    taken, used = perf_counter() - start, spent() - cpu
    for connection in connections:
        connection.close()
    return Load(used / done * 1e6, done / taken)


def run(module: list[str], bodies: list[bytes]) -> Load:
    """One fresh server, pinned to the first core, under load from the others."""
    flags = ["--self-signed", "--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"]
    command = [sys.executable, "-m", *module, "-p", str(core.VAP), *flags]
    cores = sorted(os.sched_getaffinity(0))
    with TemporaryDirectory() as folder:
        server = Process(command, Path(folder) / "log")
        try:
            if len(cores) > 1:
                os.sched_setaffinity(server.child.pid, cores[:1])
                os.sched_setaffinity(0, cores[1:])
            return drive(server.port, [server.child.pid], bodies)
        finally:
            os.sched_setaffinity(0, cores)
            server.kill()


SERVERS = {
    "policyd": ["policyd", "serve"],
    "echo": ["tools.bench.echo"],
    "Hypercorn": ["tools.bench.hypercorn_echo"],
}


def service() -> list[core.Row]:
    """The 16 policies over TLS, beside an app that parses and echoes: on policyd's server, and on
    Hypercorn as it is.
    """
    bodies = core.bodies()
    loads: dict[str, list[Load]] = {name: [] for name in SERVERS}
    for _ in range(ROUNDS):
        for name, module in SERVERS.items():
            loads[name].append(run(module, bodies))
    cpu = {name: median(load.cpu_micros for load in each) for name, each in loads.items()}
    rate = {name: median(load.rate for load in each) for name, each in loads.items()}
    others = f"(echo app {cpu['echo']:.0f} µs, the same on Hypercorn {cpu['Hypercorn']:.0f} µs)"
    return [
        ("CPU of a request over TLS", f"{cpu['policyd']:.0f} µs {others}", "120 µs"),
        (
            "requests a second, one core",
            f"{rate['policyd']:.0f} = {rate['policyd'] / rate['Hypercorn']:.0%} "
            "of the echo app on Hypercorn",
            "85 %",
        ),
    ]
