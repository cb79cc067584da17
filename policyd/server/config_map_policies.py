"""A server's ConfigMaps: it reads policies and exceptions from them, and keeps the last good
policies in one. There are none without a cluster.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from policyd.config import Settings
from policyd.controllers.waiting import until_any
from policyd.errors import PolicyError
from policyd.observability.logs import Log
from policyd.observability.metrics.scrape import CacheState
from policyd.observability.throttle import LineLimit
from policyd.option_values import ConfigMapName
from policyd.server.cluster.own_namespace import known_namespace, own_namespace
from policyd.server.health import WatchHealth, WatchSupervisor
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_sources import PolicySource
from policyd.server.policies.store import LONGEST_RETRY_SECONDS, Store

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient
    from policyd.cluster.objects import ObjectClient
    from policyd.controllers.config_maps import ExceptionConfigMaps, PolicyConfigMaps
    from policyd.policy.config_maps.team_exceptions import HeldBack
    from policyd.server.cluster.cluster_connection import ClusterConnection
    from policyd.server.edits.edit_gate import EditGate
    from policyd.server.edits.model import EditFindings, PolicyEdit
    from policyd.server.policies.last_good import KeepingPlace, LastGoodPolicies

# How long to wait for the ConfigMaps at start before serving the last good policies, or reporting
# that the server is not ready.
FIRST_SECONDS = 10.0
# How often to retry writing the last good policies.
KEEP_SECONDS = 5.0
# Log lines about held-back exceptions in so many seconds: teams choose how often they edit.
HELD_LINES = 20
HELD_SECONDS = 60.0
# After a reload of exceptions the next one waits this many times as long as it took.
IDLE_SHARE = 4.0


class ConfigMapPolicies:
    """The ConfigMaps of one server."""

    def __init__(
        self,
        settings: Settings,
        cluster: "ClusterConnection | None",
        log: Log,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._log = log
        self._logged = set[str]()
        self._waiting: tuple[str, list[str]] = ("", [])
        self._ready = asyncio.Event()
        self._objects: ObjectClient | None = None
        self._kept: LastGoodPolicies | None = None
        self.namespace = own_namespace(settings)
        self.source: PolicyConfigMaps | None = None
        self.exceptions: ExceptionConfigMaps | None = None
        self._held = LineLimit(HELD_LINES, HELD_SECONDS)
        self._listed = asyncio.Event()  # exceptions may be loaded with the first policies
        self._exceptions_read = asyncio.Event()  # once, or the wait timed out
        if cluster is not None and (settings.policy_configmaps or settings.exception_configmaps):
            self._connect(cluster.caches.client)

    def _connect(self, cluster: "ClusterClient") -> None:
        from policyd.cluster.objects import ObjectClient
        from policyd.controllers.config_maps import ExceptionConfigMaps, PolicyConfigMaps

        settings = self._settings
        self._objects = client = ObjectClient(cluster.config, settings.timeout)
        if settings.policy_configmaps:
            namespace = known_namespace(settings)
            self.source = PolicyConfigMaps(client, namespace, settings.policy_configmaps)
        if settings.exception_configmaps:
            self.exceptions = ExceptionConfigMaps(
                client, settings.exception_namespaces, settings.exception_configmaps, self._hold
            )

    def sources(self) -> Sequence[PolicySource]:
        """Return the sources besides files."""
        return [each for each in (self.source, self.exceptions) if each is not None]

    def last_good(self, restore: Callable[[bytes], LoadedSet]) -> "LastGoodPolicies | None":
        """Where the last good policies are kept, if anywhere; ``restore`` loads them."""
        kept = self._settings.last_good
        if kept is None:
            return None
        from policyd.server.policies.last_good import LastGoodFile, LastGoodPolicies

        place: KeepingPlace
        if isinstance(kept, ConfigMapName):
            place = self._config_map(kept.name)
        else:
            place = LastGoodFile(kept)
        self._kept = LastGoodPolicies(place, restore, self._log)
        return self._kept

    def _config_map(self, name: str) -> "KeepingPlace":
        from policyd.server.policies.last_good_config_map import LastGoodConfigMap

        settings, cluster = self._settings, self._cluster
        return LastGoodConfigMap(
            name,
            known_namespace(settings),
            settings.kubeconfig,
            settings.timeout,
            may_write=lambda: cluster is None or cluster.may_write(),
        )

    def states(self) -> Mapping[str, CacheState]:
        """The state of the followed ConfigMaps, for metrics."""
        lists = {"configmaps": self.source, "exceptions": self.exceptions}
        followed = {} if self._cluster is None else self._cluster.caches.states()
        return {**followed} | {
            name: CacheState(each.staleness, len(each))
            for name, each in lists.items()
            if each is not None
        }

    def edit_gate(
        self,
        store: Store,
        count: Callable[[str], None],
        turn: AbstractContextManager[None],
    ) -> "EditGate | None":
        """Return the check of edits of watched or mounted ConfigMaps; None if no webhook for them
        can be registered. ``turn`` excludes other workers.
        """
        if not self.namespace:
            return None
        from policyd.server.edits.edit_gate import EditGate, edit_selector
        from policyd.server.edits.finding import EditFinder
        from policyd.server.edits.process import ProcessLimits, check_apart

        settings, cluster = self._settings, self._cluster
        fetch = None if cluster is None else cluster.definitions.fetch_more
        selector = edit_selector(settings)
        if not selector:
            return None
        finder = EditFinder(
            store,
            self.source,
            allow_empty=settings.allow_empty,
            definitions=cluster is not None,
        )
        # A review needs about twice the memory that is counted for it.
        reviews = 2 * settings.max_in_flight_bytes * settings.workers
        limits = ProcessLimits(turn, reviews)

        def check(edit: "PolicyEdit", deadline: int) -> "EditFindings":
            return check_apart(edit, deadline, fetch, limits)

        return EditGate(
            check,
            finder,
            self._log,
            count,
            namespace=self.namespace,
            selector=selector,
            access=None if cluster is None else cluster.caches.client,
        )

    def start(
        self, store: Store, stop: asyncio.Event, watches: WatchSupervisor
    ) -> list[asyncio.Task[None]]:
        """Follow the ConfigMaps until ``stop`` is set, on the running loop."""
        source, tasks = self.source, list[asyncio.Task[None]]()
        loop = asyncio.get_running_loop()
        if self._kept is not None:
            tasks.append(loop.create_task(self._keep(self._kept, stop), name="last good"))
        if self.exceptions is not None:
            tasks += self._start_exceptions(self.exceptions, store, stop, watches)
        else:
            self._exceptions_read.set()
        if source is None:
            return tasks
        store.expect("the ConfigMaps of policies have not been read yet")
        watch = watches.add("configmaps")
        reading = watches.keep(watch, partial(source.run, stop), stop)
        following = watches.keep(watch, partial(self._follow, source, store, stop, watch), stop)
        return [
            *tasks,
            loop.create_task(reading, name="configmaps"),
            loop.create_task(following, name="policies of configmaps"),
        ]

    async def _keep(self, kept: "LastGoodPolicies", stop: asyncio.Event) -> None:
        """Retry writing the last good policies until it succeeds."""
        while not stop.is_set():
            await until_any(stop, seconds=KEEP_SECONDS)
            if not stop.is_set():
                await asyncio.to_thread(kept.retry)

    async def ready(self, stop: asyncio.Event) -> bool:
        """Wait until there are policies to serve; False if ``stop`` is set before."""
        awaited = [self._ready] if self.source is not None else []
        for event in (*awaited, self._exceptions_read):
            await until_any(stop, event)
        return not stop.is_set()

    async def close(self) -> None:
        """Close the connections."""
        if self._objects is not None:
            await self._objects.close()

    async def _follow(
        self, source: "PolicyConfigMaps", store: Store, stop: asyncio.Event, watch: WatchHealth
    ) -> None:
        if self.exceptions is not None:
            await until_any(stop, self._listed)
        while not store.loaded:
            await self._first(source, store, stop)
            if stop.is_set():
                return
        self._ready.set()
        report = partial(self._report, watch, "the ConfigMaps of policies")
        await source.follow(stop, store.renew, report)

    def _start_exceptions(
        self,
        exceptions: "ExceptionConfigMaps",
        store: Store,
        stop: asyncio.Event,
        watches: WatchSupervisor,
    ) -> list[asyncio.Task[None]]:
        loop, watch = asyncio.get_running_loop(), watches.add("exceptions")
        reading = watches.keep(watch, partial(exceptions.run, stop), stop)
        follow = partial(self._follow_exceptions, exceptions, store, stop, watch)
        return [
            loop.create_task(reading, name="exceptions"),
            loop.create_task(watches.keep(watch, follow, stop), name="exceptions of teams"),
        ]

    async def _follow_exceptions(
        self,
        exceptions: "ExceptionConfigMaps",
        store: Store,
        stop: asyncio.Event,
        watch: WatchHealth,
    ) -> None:
        """Load the exceptions before requests are accepted, if the API server returns them in
        time, and then load each change.
        """

        async def reload() -> None:
            if store.loaded and await exceptions.differs():
                await store.renew()

        async def reload_and_rest() -> None:
            began = monotonic()
            await reload()
            # A user who keeps editing exceptions must not keep a processor busy.
            await until_any(stop, seconds=(monotonic() - began) * IDLE_SHARE)

        if not self._exceptions_read.is_set():
            await exceptions.first(stop, FIRST_SECONDS)
            self._listed.set()
            await reload()
            self._exceptions_read.set()
        report = partial(self._report, watch, "the exceptions of teams")
        await exceptions.follow(stop, reload_and_rest, report)

    def _hold(self, held: "HeldBack") -> None:
        """Log a team's ConfigMap whose exceptions are not used, at a bounded rate."""
        unsaid = self._held.take(held.namespace, held.name)
        if unsaid is None:
            return
        self._log.write(
            "warning",
            "exceptions-held",
            f"exceptions of namespace {held.namespace} are not used: {len(held.errors)} errors in"
            f" ConfigMap {held.name}",
            namespace=held.namespace,
            name=held.name,
            resourceVersion=held.version,
            errors=list(held.errors),
            suppressed=unsaid or None,
        )

    async def _first(self, source: "PolicyConfigMaps", store: Store, stop: asyncio.Event) -> None:
        """Load the first set, or the last good one; if there is none, log the reason and wait."""
        errors: list[str] = []
        read = await source.first(stop, FIRST_SECONDS)
        why = f"the ConfigMaps of policies could not be read: {source.problem or 'no answer'}"
        if read:
            try:
                await asyncio.to_thread(partial(store.start, tell=False))
                store.tell()
                return
            except PolicyError as error:
                why = "no policy could be loaded"
                errors = [str(each) for each in error.problems]
        if stop.is_set():
            return
        if await asyncio.to_thread(store.start_without_sources, why):
            store.tell()
            return
        store.expect(why)
        if (why, errors) != self._waiting:
            self._waiting = (why, errors)
            self._log.write("error", "waiting", f"not ready: {why}", errors=errors)
        if read:
            await source.next(stop, LONGEST_RETRY_SECONDS)

    def _report(self, watch: WatchHealth, what: str, problem: str) -> None:
        """Record the watch's health; log once when a problem begins and once when it ends."""
        watch.succeeded()
        if problem:
            watch.failed(problem)
        if problem and what not in self._logged:
            self._log.write("error", "cluster", f"cannot follow {what}: {problem}")
            self._logged.add(what)
        elif what in self._logged and not problem:
            self._log.write("info", "cluster", f"{what} can be followed again")
            self._logged.discard(what)
