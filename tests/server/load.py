"""Steady load on a server from threads, with keep-alive connections like the API server's."""

import json
import threading
from http.client import HTTPException, HTTPSConnection
from typing import Any

from tests.builders.reviews import body
from tests.server.process import Process

# Seconds between two requests of a connection: there is always one, and the test needs the cores, too.
PAUSE = 0.003


class Load:
    """Sends reviews one after another on each of a few connections, and keeps what came back.

    ``failures`` holds what an API server would report as a failed webhook call. A connection that
    the server closes with ``Connection: close`` is replaced, as Go's client does.
    """

    def __init__(
        self, server: Process, threads: int = 4, path: str = "/validate", pause: float = PAUSE
    ) -> None:
        self._server = server
        self._path, self._pause = path, pause
        self._stop = threading.Event()
        self.answers: list[Any] = []
        self.failures: list[str] = []
        self.refused = 0
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No more requests."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        connection: HTTPSConnection | None = None
        while not self._stop.wait(self._pause):
            if connection is None:
                connection = self._server.connect()
                try:
                    connection.connect()
                except ConnectionError:
                    self.refused += 1
                    return
            try:
                connection.request("POST", self._path, body())
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
                connection = None
                continue
            if answer.status == 200:
                self.answers.append(json.loads(content))
            else:
                self.failures.append(f"{answer.status} {content!r}")
            if answer.headers.get("Connection") == "close":
                connection.close()
                connection = None
        if connection is not None:
            connection.close()
