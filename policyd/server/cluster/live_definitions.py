"""The cluster's version and CustomResourceDefinitions, which the server needs to load policies.

Both are fetched when policies load. policyd follows definitions and queries the version regularly;
a change loads the policies again. Lookups for requests are in ``live_caches.py``.
"""

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from time import monotonic
from typing import TYPE_CHECKING

from policyd.admission.recorder import LookupResult, Recorder
from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log
from policyd.policy.kinds.wanted_definitions import Fetch
from policyd.server.cluster.followed_lists import FollowedLists, Following
from policyd.server.cluster.live_caches import LiveCaches
from policyd.server.health import WatchHealth
from policyd.server.policies.store import Store
from policyd.versions import NEWEST, KubernetesVersion, nearest

if TYPE_CHECKING:
    from policyd.cluster.watching import Reflector

# How often to check for changes without a watch, and how soon after a failed check.
PAUSE_SECONDS = 5.0
UNANSWERED_SECONDS = 1.0
# Installing an operator changes many definitions at once: they are handled as one change.
SETTLE_SECONDS = 0.1
# Control planes are upgraded rarely.
VERSION_SECONDS = 60.0


@dataclass(eq=False, repr=False)
class LiveDefinitions:
    """The CustomResourceDefinitions of one cluster, for one store."""

    caches: LiveCaches
    timeout: float
    recorder: Recorder
    log: Log
    _: KW_ONLY
    follows_version: bool = True
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        from policyd.cluster.definitions import ClusterDefinitions

        config = self.caches.client.config
        self._warned = ""
        self._definitions = ClusterDefinitions(config, self.timeout, self._count_lookup)
        self._logged_problem = ""
        self._reported = ""  # the version that the cluster reported last, such as v1.37.1
        self._version_at = self.clock()  # when the version was last queried
        self.fetch: Fetch = self._definitions.fetch
        self.fetch_more = self._definitions.fetch_more
        self._objects = self.caches.objects
        self._listed: Reflector | None = None
        self._changes = asyncio.Event()
        self._lists = FollowedLists(
            "CustomResourceDefinitions",
            self._follow,
            self.log,
            f"they are checked for changes every {PAUSE_SECONDS:g} s",
        )

    def version(self) -> KubernetesVersion:
        """Return the version to evaluate as: the cluster's, or the nearest supported one.

        If the cluster does not answer, return the version that it last reported, or else the
        newest supported one. Waits for the API server.
        """
        reported, why = self._definitions.kubernetes()
        reported = reported or self._reported
        try:
            version, warning = nearest(KubernetesVersion.parse(reported))
        except ValueError:
            version = NEWEST
            why = why or f"it reported {reported!r}"
            warning = (
                f"the cluster's Kubernetes version is not known ({why}); policies are evaluated "
                f"as in {NEWEST}"
            )
        if warning and warning != self._warned:
            self.log.write("warning", "kubernetes-version", warning)
        self._reported, self._warned = reported, warning
        return version

    async def watch(self, store: Store, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Load the policies again when a definition that they need appears or changes.

        If the API server does not answer, the watch becomes unhealthy but the server stays ready:
        it keeps the definitions fetched before, and policies without a definition follow their
        failurePolicy.
        """
        health = WatchHealth(self._lists.name, monotonic)
        ending = asyncio.Event()
        lists = asyncio.ensure_future(self._lists.run(ending, health))
        try:
            while not stop.is_set():
                self._lists.want(frozenset({""} if self._definitions.wants else ()))
                self._log_problem(self._definitions.problem)
                self._lists.muted = bool(self._logged_problem)
                watch.succeeded()
                problem = self._logged_problem or ("" if health.healthy else health.problem)
                if problem:
                    watch.failed(problem)
                await self._pause(stop, UNANSWERED_SECONDS if problem else PAUSE_SECONDS)
                if lists.done():
                    lists.result()  # raises its defect
                if not stop.is_set() and await self._changed():
                    await store.refresh()
        finally:
            ending.set()
            await asyncio.wait([lists])

    async def _follow(self, _: str, following: Following) -> None:
        from policyd.cluster.definitions import PATH, version_of
        from policyd.cluster.watching import Reflector, Watched

        while following.wanted:
            self._listed = Reflector(
                self._objects(),
                Watched(PATH, metadata_only=True),
                keep=lambda found: {"version": version_of(found)},
                changed=lambda namespace, name: self._changes.set(),
            )
            await following.run(self._listed)
            await following.pause(UNANSWERED_SECONDS)
        self._listed = None

    async def _pause(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait until a definition changes, ``stop`` is set, or the time is over."""
        await until_any(stop, self._changes, seconds=seconds)
        if self._changes.is_set() and not stop.is_set():
            await until_any(stop, seconds=SETTLE_SECONDS)
        self._changes.clear()

    async def _changed(self) -> bool:
        """Whether the cluster's version or a definition that policies need has changed."""
        listed = self._listed
        if listed is not None and listed.usable and not listed.problem + self._logged_problem:
            versions = {name: each["version"] for (_, name), each in listed.objects.items()}
            changed = self._definitions.outdated(versions)
        else:
            changed = await asyncio.to_thread(self._definitions.changed)
        due = not self._reported or self.clock() - self._version_at >= VERSION_SECONDS
        if self.follows_version and due:
            self._version_at = self.clock()
            reported, _ = await asyncio.to_thread(self._definitions.kubernetes)
            changed = changed or bool(reported and reported != self._reported)
        return changed

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._definitions.close()

    def _log_problem(self, problem: str) -> None:
        """Log once when a problem begins and once when it ends."""
        if problem and not self._logged_problem:
            self.log.write("error", "cluster", f"cannot read CustomResourceDefinitions: {problem}")
        elif self._logged_problem and not problem:
            self.log.write("info", "cluster", "CustomResourceDefinitions can be read again")
        self._logged_problem = problem

    def _count_lookup(self, answered: bool, nanoseconds: int) -> None:
        result: LookupResult = "success" if answered else "error"
        self.recorder.lookup("definition", result, nanoseconds)
