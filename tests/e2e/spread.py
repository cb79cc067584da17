"""A load of creates in many namespaces that can be paused, and what its clients saw. No tests here."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

from tests.builders.objects import config_map
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster

CLIENTS = 4
# Of so many creates in a namespace, one does not violate the policy.
INNOCENT = 4


@dataclass(frozen=True, slots=True)
class Created:
    """One create: whether its object violates the policy, and the answer."""

    namespace: str
    name: str
    violates: bool
    answer: Answer

    @property
    def admitted(self) -> bool:
        return self.answer.status == 201


class SpreadLoad:
    """Creates ConfigMaps in all namespaces in turn, from a few clients, most of them with ``bad``."""

    def __init__(self, api: Cluster, namespaces: Sequence[str]) -> None:
        self.created: list[Created] = []
        self._stop = threading.Event()
        # Held by a client during each create, and by whoever pauses it.
        self._turns = [threading.Lock() for _ in range(CLIENTS)]
        self._threads = [
            threading.Thread(target=self._run, args=(api, [*namespaces], number))
            for number in range(CLIENTS)
        ]

    def _run(self, api: Cluster, namespaces: Sequence[str], client_number: int) -> None:
        client = Client(api)
        for index in count():
            if self._stop.is_set():
                break
            namespace = namespaces[index % len(namespaces)]
            violates = bool(index // len(namespaces) % INNOCENT)
            name = f"load-{client_number}-{index}"
            made = config_map(name, namespace, data={"bad": "yes"} if violates else {})
            with self._turns[client_number]:
                self.created.append(Created(namespace, name, violates, client.create(made)))
        client.close()

    @contextmanager
    def paused(self) -> Iterator[list[Created]]:
        """No create is in progress; what was created so far."""
        with ExitStack() as stack:
            for each in self._turns:
                stack.enter_context(each)
            yield [*self.created]

    def more(self, number: int) -> Callable[[], bool]:
        """True when so many were created from now on."""
        wanted = len(self.created) + number
        return lambda: len(self.created) >= wanted

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def spread_load(api: Cluster, namespaces: Sequence[str]) -> Iterator[SpreadLoad]:
    """A load that has begun, and stops at the end."""
    load = SpreadLoad(api, namespaces)
    load.start()
    try:
        yield load
    finally:
        load.stop()


def annotations(api: Cluster) -> dict[str, dict[str, str]]:
    """The audit annotations of all requests so far, by their audit ids."""
    lines = (api.folder / "audit.log").read_text().splitlines()
    found = (json.loads(line) for line in lines)
    return {each["auditID"]: each.get("annotations") or {} for each in found}
