"""Requests as an API server sends them, and how long their answers took. No tests here."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.process import Process


@dataclass(frozen=True)
class Asked:
    """An answer, and the seconds from the first byte sent to the last one read."""

    status: int
    content: Any
    seconds: float
    waited: float  # seconds of them in which the server or the client was ready and had no core

    @property
    def took(self) -> float:
        """Seconds that it took, but for what other processes of the machine took."""
        return self.seconds - self.waited

    @property
    def response(self) -> dict[str, Any]:
        """The response of the review."""
        assert self.status == 200, self.content
        response: dict[str, Any] = self.content["response"]
        return response

    @property
    def message(self) -> str:
        """Why it was denied."""
        return str(self.response.get("status", {}).get("message", ""))


def head(path: str, size: int) -> bytes:
    """The head of a request with a body of this size."""
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()


def whole(path: str, content: bytes) -> bytes:
    """The bytes of a request."""
    return head(path, len(content)) + content


def ask(server: Process, path: str, content: bytes) -> Asked:
    """One request on a connection that is open already, as the API server's are."""
    connection = server.connect()
    try:
        connection.connect()
        started, waited = time.monotonic(), waiting(server)
        connection.request("POST", path, content)
        answer = connection.getresponse()
        read = answer.read()
        seconds = time.monotonic() - started
        return Asked(answer.status, json.loads(read), seconds, waiting(server) - waited)
    finally:
        connection.close()


def waiting(server: Process) -> float:
    """Seconds that the thread of the server's event loop and this one waited for a core so far."""
    threads = (f"/proc/{server.child.pid}/task/{server.child.pid}", "/proc/thread-self")
    return sum(int(Path(each, "schedstat").read_text().split()[1]) for each in threads) / 1e9
