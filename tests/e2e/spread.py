"""A load of creates in many namespaces that can be paused, and what its clients saw. No tests here."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.builders.objects import config_map
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.load import Creators

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


class SpreadLoad(Creators):
    """Creates ConfigMaps in all namespaces in turn, most of them with ``bad``."""

    def __init__(self, api: Cluster, namespaces: Sequence[str]) -> None:
        super().__init__(api, CLIENTS)
        self.created: list[Created] = []
        self._namespaces = [*namespaces]
        # Held by a client during each create, and by whoever pauses it.
        self._turns = [threading.Lock() for _ in range(CLIENTS)]

    def create(self, client: Client, number: int, index: int) -> None:
        namespace = self._namespaces[index % len(self._namespaces)]
        violates = bool(index // len(self._namespaces) % INNOCENT)
        name = f"load-{number}-{index}"
        made = config_map(name, namespace, data={"bad": "yes"} if violates else {})
        with self._turns[number]:
            self.created.append(Created(namespace, name, violates, client.create(made)))

    @property
    def count(self) -> int:
        return len(self.created)

    @contextmanager
    def paused(self) -> Iterator[list[Created]]:
        """No create is in progress; what was created so far."""
        with ExitStack() as stack:
            for each in self._turns:
                stack.enter_context(each)
            yield [*self.created]


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
