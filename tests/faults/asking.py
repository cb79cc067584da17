"""Requests as an API server sends them, and how long their answers took. No tests here."""

import json
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.process import Process


@dataclass(frozen=True)
class Asked:
    """An answer, and the seconds from the first byte sent to the last one read."""

    status: int
    content: Any
    took: float  # but for what other processes of the machine took

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


def ask(server: Process, path: str, content: bytes) -> Asked:
    """One request on a connection that is open already, as the API server's are."""
    with closing(server.connect()) as connection:
        connection.connect()
        watch = Stopwatch(server)
        connection.request("POST", path, content)
        answer = connection.getresponse()
        read = answer.read()
        return Asked(answer.status, json.loads(read), watch.took())


class Stopwatch:
    """Runs while the server or this thread works, and not while they are ready and have no core."""

    def __init__(self, server: Process) -> None:
        self._threads = (
            Path(f"/proc/{server.child.pid}/task/{server.child.pid}/schedstat"),
            Path("/proc/thread-self/schedstat"),
        )
        self._began = self._now()

    def took(self) -> float:
        """Seconds so far."""
        return self._now() - self._began

    def _now(self) -> float:
        waited = sum(int(each.read_text().split()[1]) for each in self._threads) / 1e9
        return time.monotonic() - waited
