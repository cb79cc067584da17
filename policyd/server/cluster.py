"""The cluster's version and CustomResourceDefinitions, which the server needs to load policies.

Both are fetched when policies load, and checked for changes regularly. Lookups for requests are in
``policyd/cluster``.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from policyd.admission.recorder import LookupResult, Recorder
from policyd.observability.logs import Log
from policyd.policy.live.definitions import Fetch
from policyd.policy.live.store import Store
from policyd.server.health import WatchHealth
from policyd.versions import NEWEST, KubernetesVersion, nearest

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient

# How often to check for changed definitions, and how soon to check again after a failed check.
PAUSE_SECONDS = 5.0
UNANSWERED_SECONDS = 1.0
# Control planes are upgraded rarely: the version is queried once a minute.
_CHECKS_PER_VERSION = 12


class LiveDefinitions:
    """The CustomResourceDefinitions of one cluster, for one store."""

    def __init__(
        self,
        client: "ClusterClient",
        timeout: float,
        recorder: Recorder,
        log: Log,
        *,
        follows_version: bool = True,
    ) -> None:
        from policyd.cluster import open_definitions

        self._recorder = recorder
        self._log = log
        self._follows_version = follows_version
        self._warned = ""
        self._definitions = open_definitions(client, timeout, self._count_lookup)
        self._logged_problem = ""
        self._reported = ""  # the version that the cluster reported last, such as v1.37.1
        self._checks = 0  # checks for changes since the version was last queried
        self.fetch: Fetch = self._definitions.fetch

    def version(self) -> KubernetesVersion:
        """Return the version to evaluate as: the version of the cluster, or the nearest supported
        one.

        While the cluster does not answer this is the version that it reported last; before its
        first answer it is the newest supported one. Waits for the API server.
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
            self._log.write("warning", "kubernetes-version", warning)
        self._reported, self._warned = reported, warning
        return version

    async def watch(self, store: Store, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Load the policies again when a definition that they need appears or changes.

        If the API server does not answer, the watch becomes unhealthy but the server stays ready:
        definitions that were fetched before stay known, and policies without their definition
        follow failurePolicy.
        """
        while not stop.is_set():
            self._log_problem(self._definitions.problem)
            watch.succeeded()
            if self._logged_problem:
                watch.failed(self._logged_problem)
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    stop.wait(), UNANSWERED_SECONDS if self._logged_problem else PAUSE_SECONDS
                )
                return
            if await asyncio.to_thread(self._changed):
                await store.refresh()

    def _changed(self) -> bool:
        """Whether a definition that policies need changed, or the version of the cluster."""
        changed = self._definitions.changed()
        self._checks += 1
        if self._follows_version and (not self._reported or self._checks >= _CHECKS_PER_VERSION):
            self._checks = 0
            reported, _ = self._definitions.kubernetes()
            changed = changed or bool(reported and reported != self._reported)
        return changed

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._definitions.close()

    def _log_problem(self, problem: str) -> None:
        """Log once when a problem begins, and once when it is over."""
        if problem and not self._logged_problem:
            self._log.write("error", "cluster", f"cannot read CustomResourceDefinitions: {problem}")
        elif self._logged_problem and not problem:
            self._log.write("info", "cluster", "CustomResourceDefinitions can be read again")
        self._logged_problem = problem

    def _count_lookup(self, answered: bool, nanoseconds: int) -> None:
        result: LookupResult = "success" if answered else "error"
        self._recorder.lookup("definition", result, nanoseconds)
