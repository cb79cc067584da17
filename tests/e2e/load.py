"""Steady creations of ConfigMaps through a real API server. No tests here."""

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from tests.builders.objects import config_map
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.server.process import until

CLIENTS = 6


class Creators:
    """Clients that each create objects one after another until they are stopped."""

    def __init__(self, api: Cluster, clients: int) -> None:
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(api, number)) for number in range(clients)
        ]

    def _run(self, api: Cluster, number: int) -> None:
        client = Client(api)
        for index in count():
            if self._stopped.is_set():
                break
            self.create(client, number, index)
        client.close()

    @abstractmethod
    def create(self, client: Client, number: int, index: int) -> None:
        """Create the object ``index`` of the client ``number``, and keep the answer."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many answers there are."""

    def more(self, number: int) -> Callable[[], bool]:
        """True when so many have been answered from now on."""
        wanted = self.count + number
        return lambda: self.count >= wanted

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()


class Load(Creators):
    """Creates ConfigMaps and keeps the answers."""

    def __init__(self, api: Cluster, namespace: str, clients: int) -> None:
        super().__init__(api, clients)
        self.answers: list[Answer] = []
        self._namespace = namespace

    def create(self, client: Client, number: int, index: int) -> None:
        self.answers.append(client.create(config_map(f"load-{number}-{index}", self._namespace)))

    @property
    def count(self) -> int:
        return len(self.answers)

    @property
    def failures(self) -> list[object]:
        return [each.body for each in self.answers if each.status != 201]


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
