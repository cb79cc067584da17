"""Steady creations of ConfigMaps through a real API server. No tests here."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from tests.builders.objects import config_map
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.server.process import until

CLIENTS = 6


class Load:
    """Creates ConfigMaps one after another from a few clients and keeps the answers."""

    def __init__(self, api: Cluster, namespace: str, clients: int) -> None:
        self.answers: list[Answer] = []
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(api, namespace, number))
            for number in range(clients)
        ]

    def _run(self, api: Cluster, namespace: str, number: int) -> None:
        client = Client(api)
        for index in count():
            if self._stop.is_set():
                break
            self.answers.append(client.create(config_map(f"load-{number}-{index}", namespace)))
        client.close()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def failures(self) -> list[object]:
        return [each.body for each in self.answers if each.status != 201]

    def more(self, number: int) -> Callable[[], bool]:
        """True when so many have been answered from now on."""
        wanted = len(self.answers) + number
        return lambda: len(self.answers) >= wanted


@contextmanager
def load(api: Cluster, namespace: str, clients: int = CLIENTS) -> Iterator[Load]:
    """Load that has begun, and stops at the end."""
    made = Load(api, namespace, clients)
    made.start()
    try:
        until(made.more(20), "some load")
        yield made
    finally:
        made.stop()
