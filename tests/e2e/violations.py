"""Creates that must be refused: one, or a stream of them. No tests here."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import demand
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster

# What the policies demand of ConfigMaps.
NOT_BAD: list[JSONObject] = [demand("object.metadata.name != 'bad'", "bad name")]
CLIENTS = 2


def refusal(client: Client, namespace: str, called: str = "bad") -> str:
    """Why the API server refuses a ConfigMap; empty if it does not."""
    answer = client.create(config_map(called, namespace), dryRun="All")
    return "" if answer.status == 201 else answer.message


@contextmanager
def violating(api: Cluster, namespace: str) -> Iterator[list[str]]:
    """A stream of creates that must be refused; the answers, empty for those that were not."""
    answers: list[str] = []
    stop = threading.Event()

    def send() -> None:
        own = Client(api)
        while not stop.is_set():
            answers.append(refusal(own, namespace))
        own.close()

    threads = [threading.Thread(target=send) for _ in range(CLIENTS)]
    for each in threads:
        each.start()
    try:
        yield answers
    finally:
        stop.set()
        for each in threads:
            each.join()
