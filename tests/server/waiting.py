"""A server in a process of its own that has no policies yet, so that it does not listen. No tests here."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from policyd.json_types import JSONObject
from tests.server.process import until


class Waiting:
    """The process and its log."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        with self.log.open("wb") as stream:
            self.child = subprocess.Popen(arguments, stderr=stream)

    def line(self, event: str) -> JSONObject:
        """The first line of an event, as soon as there is one."""

        def found() -> list[JSONObject]:
            lines = self.log.read_text().split("\n")[:-1]
            return [each for each in map(json.loads, lines) if each["event"] == event]

        rows: list[JSONObject] = until(found, event)
        return rows[0]

    def listens(self) -> bool:
        return '"event":"listening"' in self.log.read_text()


@contextmanager
def started(arguments: Sequence[str], log: Path) -> Iterator[Waiting]:
    """Start a server; it is gone in the end."""
    made = Waiting(arguments, log)
    try:
        yield made
    finally:
        made.child.kill()
        made.child.wait()
