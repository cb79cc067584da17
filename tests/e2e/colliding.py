"""Creates of Ingresses at a steady rate, half of which collide with another one. No tests here."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from time import monotonic

from click.testing import CliRunner

from policyd.cli import policyd
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.hosts import LIBRARY, ingress

# Delays in seconds between two creates of one host, and creates a second.
DELAYS = (0.0, 0.01, 0.05, 0.25)
RATE = 50
# Seconds between the answer to a create and when another of its host is sent; below 0: both are under
# way at one moment.
GAPS = (-inf, 0.0, 0.005, 0.02, 0.1, inf)
_CLIENTS = 24


@dataclass(frozen=True, slots=True)
class Create:
    """One create: when it began and ended, and whether the object was admitted."""

    began: float
    ended: float
    status: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two creates in two namespaces, of one host if they collide."""

    name: str
    collides: bool
    first: Create
    second: Create

    @property
    def admitted(self) -> int:
        return (self.first.status, self.second.status).count(201)

    @property
    def gap(self) -> float:
        """Seconds from the answer to one create until the other was sent; negative: both were under
        way at one moment.
        """
        first, second = self.first, self.second
        return max(second.began - first.ended, first.began - second.ended)


class Colliding:
    """Creates Ingresses at a steady rate, half of which collide with another one."""

    def __init__(self, api: Cluster, namespaces: tuple[str, str]) -> None:
        self._namespaces = namespaces
        self._clients: SimpleQueue[Client] = SimpleQueue()
        for _ in range(_CLIENTS):
            self._clients.put(Client(api))

    def run(self, seconds: float) -> list[Pair]:
        """The pairs of so many seconds."""
        with ThreadPoolExecutor(_CLIENTS) as pool:
            begun, sent = monotonic() + 0.5, []
            for number in range(int(seconds * RATE / 2)):
                at, name, collides = begun + number * 2 / RATE, f"pair-{number}", number % 2 == 0
                later = DELAYS[number // 2 % len(DELAYS)]
                Event().wait(max(0.0, at - monotonic()))
                futures = [
                    pool.submit(self._create, each, name, host, at + delay)
                    for each, host, delay in zip(
                        self._namespaces,
                        (f"{number}.example.com", f"{number}{'' if collides else 'b'}.example.com"),
                        (0.0, later),
                        strict=True,
                    )
                ]
                sent.append((name, collides, futures))
            pairs = [
                Pair(name, collides, *(f.result() for f in both)) for name, collides, both in sent
            ]
        while not self._clients.empty():
            self._clients.get().close()
        return pairs

    def _create(self, namespace: str, name: str, host: str, at: float) -> Create:
        Event().wait(max(0.0, at - monotonic()))
        client = self._clients.get()
        began = monotonic()
        answer = client.create(ingress(name, namespace, host))
        ended = monotonic()
        self._clients.put(client)
        return Create(began, ended, answer.status)


def raced(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of one host that both passed; nothing else may be wrong."""
    assert {each.status for one in pairs for each in (one.first, one.second)} == {201, 422}
    assert all(each.admitted == 2 for each in pairs if not each.collides)
    colliding = [each for each in pairs if each.collides]
    assert all(each.admitted >= 1 for each in colliding)
    both = [each for each in colliding if each.admitted == 2]
    assert all(each.gap < 1 for each in both)
    return both


def by_gap(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield how many pairs of one host both passed, by the time between the creates."""
    for least, most in pairwise(GAPS):
        some = [each for each in pairs if each.collides and least <= each.gap < most]
        both = sum(each.admitted == 2 for each in some)
        yield f"sent {least} to {most} s after the answer: {len(some)} pairs, both passed: {both}"


def scanned(kubeconfig: Path) -> set[tuple[str, str]]:
    """Return namespaces and names of the Ingresses of a cluster that collide."""
    arguments = ["apply", "--cluster", "--kubeconfig", str(kubeconfig), "-p", str(LIBRARY)]
    done = CliRunner().invoke(policyd, [*arguments, "--format", "json"])
    denied = [each for each in json.loads(done.stdout) if not each["allowed"]]
    return {(each["namespace"], each["name"]) for each in denied}
