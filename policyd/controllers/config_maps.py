"""The ConfigMaps of policies: follows them by list and watch, and tells what the loader is to read.

A change is taken after a short pause, so that ``kubectl apply`` of several ConfigMaps is one. While
the API server is away, the last state stays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress

from policyd.cluster.client import ReportLookup
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched, unreported
from policyd.json_types import JSONObject
from policyd.policy.live.config_maps import bundle_of, slim
from policyd.policy.source.files import Bundle

# From the first change to the reload. Bounded: later changes do not prolong it.
PAUSE_SECONDS = 0.05
# How often the health of the watch is reported.
REPORT_SECONDS = 5.0


class PolicyConfigMaps:
    """The ConfigMaps with some labels in one namespace, as a source of policies.

    ``fingerprint`` and ``read`` are called by the threads that load policies: both see the state
    that was taken last, on the event loop.
    """

    def __init__(
        self,
        client: ObjectClient,
        namespace: str,
        selector: str,
        report: ReportLookup = unreported,
    ) -> None:
        self.namespace = namespace
        self.selector = selector
        self._changed = asyncio.Event()
        self._reflector = Reflector(
            client,
            Watched(f"api/v1/namespaces/{namespace}/configmaps", label_selector=selector),
            keep=slim,
            changed=self._note,
            report=report,
        )
        self._taken: tuple[JSONObject, ...] = ()
        self._bundles: dict[Hashable, Bundle] = {}

    @property
    def problem(self) -> str:
        """Why the ConfigMaps are not followed at the moment; empty if they are."""
        return self._reflector.problem

    @property
    def synced(self) -> bool:
        """Whether they were read at least once."""
        return self._reflector.synced

    @property
    def staleness(self) -> float:
        """Seconds since they were last known to be current."""
        return self._reflector.staleness

    def __len__(self) -> int:
        return len(self._reflector.objects)

    def fingerprint(self) -> Hashable:
        """Return what identifies the state that was taken last."""
        return tuple(map(_identity, self._taken))

    def read(self) -> Sequence[Bundle]:
        """Return the files of all ConfigMaps, by name; those that did not change are kept."""
        known, self._bundles = self._bundles, {}
        for each in self._taken:
            key = _identity(each)
            self._bundles[key] = known.get(key) or bundle_of(each)
        return [*self._bundles.values()]

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the ConfigMaps until ``stop`` is set."""
        await self._reflector.run(stop)

    async def first(self, stop: asyncio.Event, seconds: float) -> bool:
        """Wait until they were read once and take them; False after ``seconds``, or at the end."""
        await _any(stop, self._reflector.wait(seconds))
        self.take()
        return self.synced

    def take(self) -> None:
        """Take the present state, which is read from now on."""
        self._changed.clear()
        found = self._reflector.objects
        self._taken = tuple(found[key] for key in sorted(found))

    async def next(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait for a change, for this time at most, or for the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _any(stop, self._changed.wait())

    async def follow(
        self,
        stop: asyncio.Event,
        reload: Callable[[], Awaitable[None]],
        report: Callable[[str], None],
    ) -> None:
        """Call ``reload`` after each change until ``stop`` is set, and ``report`` regularly with
        the problem of the watch.
        """
        while not stop.is_set():
            report(self.problem)
            await self.next(stop, REPORT_SECONDS)
            if self._changed.is_set() and not stop.is_set():
                await asyncio.sleep(PAUSE_SECONDS)
                self.take()
                await reload()

    def _note(self, namespace: str, name: str) -> None:
        self._changed.set()


def _identity(config_map: JSONObject) -> tuple[str, ...]:
    metadata = config_map["metadata"]
    return tuple(str(metadata[key]) for key in ("name", "uid", "resourceVersion"))


async def _any(stop: asyncio.Event, other: Awaitable[object]) -> None:
    """Wait for ``stop`` or the other."""
    tasks = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(other)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()
