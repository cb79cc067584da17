"""ConfigMaps with policies and exceptions: follows them with list and watch, and returns their
content to the loader.

Changes take effect after a short pause, so that ``kubectl apply`` of several ConfigMaps counts as
one. While the API server is away, the last state stays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from math import inf
from urllib.parse import quote

from policyd.cluster.client import PROBLEMS, describe
from policyd.cluster.objects import ObjectClient, ObjectError, or_none
from policyd.cluster.watching import RELIST_SECONDS, Reflector, Watched
from policyd.controllers.waiting import until_any
from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import (
    MAX_SET_BYTES,
    NotRead,
    bundle_of,
    identity_of,
    slim,
)
from policyd.policy.config_maps.team_exceptions import (
    ExceptionNamespaces,
    HeldBack,
    TeamExceptions,
    bounded,
)
from policyd.policy.source.files import Bundle, BundleState

# From the first change to the reload. Later changes do not prolong it.
PAUSE_SECONDS = 0.05
# Objects in one response of metadata: annotations have up to 256 KiB per object.
METADATA_PAGE = "20"
# How often the health of the watch is reported.
REPORT_SECONDS = 5.0


class FollowedConfigMaps:
    """The ConfigMaps with certain labels in certain namespaces (None: all). Named namespaces have
    few ConfigMaps, which are listed again regularly, regardless of events.

    The threads that load policies call ``fingerprint`` and ``read``: both see the state that
    ``take`` last took on the event loop.
    """

    def __init__(
        self,
        client: ObjectClient,
        namespaces: Sequence[str] | None,
        selector: str,
    ) -> None:
        self.selector = selector
        self._changed = asyncio.Event()
        paths = [f"api/v1/namespaces/{each}/configmaps" for each in namespaces or ()]
        self._reflectors = [
            Reflector(
                client,
                Watched(path, label_selector=selector),
                keep=self._kept,
                changed=self._note,
                relist=inf if namespaces is None else RELIST_SECONDS,
            )
            for path in (["api/v1/configmaps"] if namespaces is None else paths)
        ]
        self._taken: tuple[JSONObject, ...] = ()

    @property
    def problem(self) -> str:
        """Why the ConfigMaps are not followed at the moment; empty if they are."""
        return next((each.problem for each in self._reflectors if each.problem), "")

    @property
    def synced(self) -> bool:
        """Whether all lists have been read at least once."""
        return all(each.synced for each in self._reflectors)

    @property
    def staleness(self) -> float:
        """Seconds since the lists were last known to be current."""
        return max(each.staleness for each in self._reflectors)

    def __len__(self) -> int:
        return sum(len(each.objects) for each in self._reflectors)

    def fingerprint(self) -> Hashable:
        """Return a value that identifies the last taken state."""
        return tuple(map(identity_of, self._taken))

    def states(self) -> Sequence[BundleState]:
        """Return nothing: each ConfigMap is its own bundle."""
        return ()

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the ConfigMaps until ``stop`` is set."""
        try:
            async with asyncio.TaskGroup() as group:
                for each in self._reflectors:
                    group.create_task(each.run(stop))
        except ExceptionGroup as defects:
            raise defects.exceptions[0] from None

    async def first(self, stop: asyncio.Event, seconds: float) -> bool:
        """Wait until all lists are read, and take them; False after ``seconds`` or ``stop``."""
        waits = (until_any(stop, each.listed, seconds=seconds) for each in self._reflectors)
        await asyncio.gather(*waits)
        self.take()
        return self.synced

    def take(self) -> None:
        """Take the current state, which ``read`` returns from now on."""
        self._changed.clear()
        found = {key: kept for each in self._reflectors for key, kept in each.objects.items()}
        self._taken = tuple(found[key] for key in sorted(found))

    async def next(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait for a change, for ``stop``, or until the time is over."""
        await until_any(stop, self._changed, seconds=seconds)

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

    def _kept(self, config_map: JSONObject) -> JSONObject | None:
        """Return the parts of a ConfigMap to keep; None for nothing."""
        return slim(config_map)

    def _note(self, namespace: str, name: str) -> None:
        self._changed.set()


class PolicyConfigMaps(FollowedConfigMaps):
    """The ConfigMaps of one namespace as a source of policies."""

    def __init__(
        self,
        client: ObjectClient,
        namespace: str,
        selector: str,
    ) -> None:
        super().__init__(client, [namespace], selector)
        self.namespace = namespace
        self._client = client
        self._path = f"api/v1/namespaces/{namespace}/configmaps"
        self._bundles: dict[Hashable, Bundle] = {}

    def read(self) -> Sequence[Bundle]:
        """Return the files of all ConfigMaps, by name; unchanged bundles are reused. If the content
        exceeds the limit for all ConfigMaps, the last ones get the problem.
        """
        known, self._bundles = self._bundles, {}
        left = MAX_SET_BYTES
        for each in self._taken:
            key = identity_of(each)
            bundle = known.get(key)
            if bundle is None or bundle.problems or bundle.size > left:
                bundle = bundle_of(each, left)
            self._bundles[key] = bundle
            left -= bundle.size
        return [*self._bundles.values()]

    async def current(self) -> Sequence[JSONObject]:
        """Return the ConfigMaps as the API server holds them now, which the watch may not have
        reported yet; raises NotRead. Reads only ConfigMaps that the watch does not have.
        """
        (reflector,) = self._reflectors
        asked = Watched(self._path, label_selector=self.selector, metadata_only=True)
        query = {**asked.query(), "limit": METADATA_PAGE}
        try:
            stored = [
                item["metadata"]
                async for page in self._client.list_pages(self._path, query, asked.accept("List"))
                for item in page["items"] or ()
            ]
            names = [(identity_of({"metadata": each}), str(each["name"])) for each in stored]
        except (ObjectError, *PROBLEMS) as error:
            raise NotRead(describe(error)) from None
        followed = {identity_of(each): each for each in reflector.objects.values()}
        found = [followed.get(identity) or await self.one(name) for identity, name in names]
        return [each for each in found if each is not None]

    async def one(self, name: str) -> JSONObject | None:
        """Return a ConfigMap of the namespace as the API server holds it now, regardless of its
        labels; None if there is none. Raises NotRead.
        """
        try:
            found = await or_none(self._client.get(f"{self._path}/{quote(name, safe='')}"))
        except (ObjectError, *PROBLEMS) as error:
            raise NotRead(describe(error)) from None
        return None if found is None else slim(found)


class ExceptionConfigMaps(FollowedConfigMaps):
    """The ConfigMaps of teams, in the namespaces that a pattern allows, as a source of exceptions.
    ConfigMaps of other namespaces are not kept. Without wildcards policyd lists only these
    namespaces, so that permissions in them suffice. ``held`` gets all content that is not used.
    """

    def __init__(
        self,
        client: ObjectClient,
        patterns: Sequence[str],
        selector: str,
        held: Callable[[HeldBack], None],
    ) -> None:
        self._namespaces = ExceptionNamespaces(patterns)
        self._teams = TeamExceptions(held)
        self._loaded = b""
        super().__init__(client, self._namespaces.literal, selector)

    def read(self) -> Sequence[Bundle]:
        """Return one bundle of all usable exceptions."""
        bundle = self._teams.take(self._taken)
        self._loaded = bundle.digest
        return [bundle]

    def states(self) -> Sequence[BundleState]:
        """Return the version of each ConfigMap in use, and the version held back."""
        return self._teams.states

    async def differs(self) -> bool:
        """Whether the exceptions differ from those read before. An edit that is held back, or
        changes nothing, must not cause a reload of all policies.
        """
        before = self._loaded
        await asyncio.to_thread(self.read)
        return self._loaded != before

    def _kept(self, config_map: JSONObject) -> JSONObject | None:
        namespace = str(config_map["metadata"].get("namespace", ""))
        return bounded(config_map) if self._namespaces.allow(namespace) else None
