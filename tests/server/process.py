"""A real server in a process of its own, and clients that talk to it over real sockets."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self

from tests import forking
from tests.forking import Forked
from tests.sampling import SERVER
from tests.server import pair
from tests.shared import ROOT

# Seconds until a wait counts as failed. Nothing here takes a hundredth of it on an idle machine; a busy
# one may be many times slower, and a test that passes does not wait for it.
PATIENCE = 180.0


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Poll until ``condition`` gives something true, and return that; the longer it takes, the less often."""
    end = time.monotonic() + seconds
    pause = 0.01
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
        pause = min(0.1, pause * 1.2)
    raise AssertionError(f"waited in vain for {what}")


def spawn(
    arguments: list[str],
    stderr: IO[bytes],
    variables: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> "Forked | subprocess.Popen[bytes]":
    """Start a program. Python modules are forked, unless they need an interpreter of their own: by their
    variables, or because they are ``fresh``.
    """
    environment = {**_environment(), **(variables or {})}
    program, flag, *command = arguments
    if program != sys.executable or flag not in ("-m", "-c") or fresh:
        return subprocess.Popen(arguments, cwd=ROOT, stderr=stderr, env=environment)
    with Path(os.devnull).open("rb") as stdin:
        streams = (stdin.fileno(), 1, stderr.fileno())
        command = command if flag == "-m" else [flag, *command]
        return forking.popen(command, ROOT, environment, streams)


def ended(arguments: list[str]) -> tuple[int, str]:
    """Run a Python module that ends by itself, forked where it can be: its exit status, and what it wrote to
    standard error. Raises AssertionError for anything on standard output.
    """
    _, flag, *command = arguments
    with (
        Path(os.devnull).open("rb") as stdin,
        TemporaryFile("w+") as stdout,
        TemporaryFile("w+") as stderr,
    ):
        streams = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        command = command if flag == "-m" else [flag, *command]
        child = forking.popen(command, ROOT, _environment(), streams)
        status = child.wait(PATIENCE)
        assert (stdout.seek(0), stdout.read()) == (0, "")
        stderr.seek(0)
        return status, stderr.read()


class Process:
    """A running server."""

    def __init__(
        self,
        arguments: list[str],
        log: Path,
        variables: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        self.log = log
        with log.open("wb") as stream:
            self.child = spawn(arguments, stream, variables, fresh)
        listening: list[dict[str, Any]] = []
        try:
            until(lambda: self.lines("listening") or self.child.poll() is not None, "listening")
            listening = self.lines("listening")
        finally:
            if not listening:
                self.kill()
        assert listening, f"the server ended: {log.read_text()}"
        self.port = int(listening[0]["reviews"].rpartition(":")[2])
        self.admin_port = int(listening[0]["admin"].rpartition(":")[2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        """The log so far, or what it says of one event."""
        whole = self.log.read_text().split("\n")[:-1]
        rows = [json.loads(line) for line in whole]
        return [row for row in rows if not event or row["event"] == event]

    def connect(self, context: ssl.SSLContext | None = None) -> HTTPSConnection:
        """A keep-alive connection to the TLS port."""
        return HTTPSConnection(
            "127.0.0.1", self.port, context=context or trusting(), timeout=PATIENCE
        )

    def secure_socket(self) -> ssl.SSLSocket:
        """A bare TLS socket."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return trusting().wrap_socket(raw)

    def narrow_socket(self) -> ssl.SSLSocket:
        """A bare TLS socket that takes little at a time."""
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(PATIENCE)
        raw.connect(("127.0.0.1", self.port))
        return trusting().wrap_socket(raw)

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        """One request on a connection of its own; the status and the decoded answer."""
        with closing(self.connect()) as connection:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def get(self, path: str, accept: str = "*/*") -> tuple[int, str]:
        """One request to the plain port."""
        with closing(HTTPConnection("127.0.0.1", self.admin_port, timeout=PATIENCE)) as connection:
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def metric(self, line: str) -> float:
        """The value of one series, by its text before the value."""
        for row in self.get("/metrics")[1].splitlines():
            if row.startswith(line + " "):
                return float(row.rpartition(" ")[2])
        raise AssertionError(f"no {line} in /metrics")

    def resident(self, what: str = "VmRSS") -> int:
        """Bytes of memory that it takes; ``VmHWM``: has taken at most."""
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith(what):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {what} in /proc")

    def children(self) -> list[int]:
        """The processes that it started: its workers, if it has some."""
        pid = self.child.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(each) for each in listed.split()]

    def files(self) -> int:
        """How many files it has open."""
        return len(list(Path(f"/proc/{self.child.pid}/fd").iterdir()))

    def kill(self) -> None:
        """End it, however it is."""
        self.child.kill()
        self.child.wait()

    def terminate(self) -> int:
        """SIGTERM, and the exit status."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(PATIENCE)


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("POLICYD_")}
    return {**kept, "POLICYD_SERVER": http_server(), "PYTHONWARNINGS": "default"}


def http_server() -> str:
    """Which server is tested (fixture ``http_server``)."""
    return os.environ.get(SERVER, "policyd")


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            found += str(link.readlink()).startswith("socket:")
    return found


def trusting() -> ssl.SSLContext:
    """A client context that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def fake_server(folder: Path, sources: Path | None = None, /, **more: str) -> Iterator[Process]:
    """A server over the fakes that these sources name, or over one that allows everything."""
    certificate, key = pair.files()
    given = {
        "policies": str(sources or write_sources(folder / "sources", a="allow a")),
        "bind": "127.0.0.1:0",
        "admin_bind": "127.0.0.1:0",
        "drain": "0.2",
        "tls_cert": certificate,
        "tls_key": key,
        "server": http_server(),
        **more,
    }
    arguments = [f"{key}={value}" for key, value in given.items()]
    command = [sys.executable, "-m", "tests.server.fakes", *arguments]
    with Process(command, folder / "server.log") as process:
        yield process


def write_sources(folder: Path, **lines: str) -> Path:
    """A folder of sources, one file for each name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, line in lines.items():
        (folder / f"{name}.txt").write_text(line)
    return folder


def texts(answer: Any) -> list[str]:
    """Which texts the fake engine saw for an answer."""
    said: list[str] = json.loads(answer["response"]["warnings"][0])["texts"]
    return said
