"""What a server's policies take from the cluster: its version and CustomResourceDefinitions. Both
are fetched when policies load, and checked now and then for changes. Asks nothing about requests.
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

# How often the cluster is asked whether definitions changed; how soon again while it does not tell.
PAUSE_SECONDS = 5.0
UNANSWERED_SECONDS = 1.0
# A control plane is upgraded rarely: its version is looked at every minute.
_LOOKS_PER_VERSION = 12


class LiveDefinitions:
    """The definitions of one cluster, for one store."""

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
        self._definitions = open_definitions(client, timeout, self._asked)
        self._told = ""
        self._said = ""  # the version of the cluster, as it words it
        self._unsaid = 0  # looks since it was last asked
        self.fetch: Fetch = self._definitions.fetch

    def version(self) -> KubernetesVersion:
        """The version to evaluate as: that of the cluster, or the supported one next to it. What it
        said last holds while it does not answer; before that, the newest. Asks and waits.
        """
        said, why = self._definitions.kubernetes()
        said = said or self._said
        try:
            version, warning = nearest(KubernetesVersion.parse(said))
        except ValueError:
            version = NEWEST
            why = why or f"it reported {said!r}"
            warning = (
                f"the cluster's Kubernetes version is not known ({why}): policies are evaluated "
                f"as in {NEWEST}"
            )
        if warning and warning != self._warned:
            self._log.write("warning", "kubernetes-version", warning)
        self._said, self._warned = said, warning
        return version

    async def watch(self, store: Store, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Load the policies again when a definition that they need appears or changes.

        An API server that does not answer makes the watch unhealthy, but not the server unready:
        definitions that were seen stay known, and without one its policies follow failurePolicy.
        """
        while not stop.is_set():
            self._tell(self._definitions.problem)
            watch.succeeded()
            if self._told:
                watch.failed(self._told)
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    stop.wait(), UNANSWERED_SECONDS if self._told else PAUSE_SECONDS
                )
                return
            if await asyncio.to_thread(self._changed):
                await store.refresh()

    def _changed(self) -> bool:
        """Whether a definition that is wanted changed, or the version."""
        changed = self._definitions.changed()
        self._unsaid += 1
        if self._follows_version and (not self._said or self._unsaid >= _LOOKS_PER_VERSION):
            self._unsaid = 0
            said, _ = self._definitions.kubernetes()
            changed = changed or bool(said and said != self._said)
        return changed

    def close(self) -> None:
        """Ask no longer."""
        self._definitions.close()

    def _tell(self, problem: str) -> None:
        """One line when something begins to be wrong, and one when it is over."""
        if problem and not self._told:
            self._log.write(
                "error", "cluster", f"no CustomResourceDefinitions can be read: {problem}"
            )
        elif self._told and not problem:
            self._log.write("info", "cluster", "CustomResourceDefinitions are read again")
        self._told = problem

    def _asked(self, answered: bool, nanoseconds: int) -> None:
        result: LookupResult = "success" if answered else "error"
        self._recorder.lookup("definition", result, nanoseconds)
