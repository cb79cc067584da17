"""What a server's policies take from the cluster: CustomResourceDefinitions, fetched when they
load, and looked at now and then for changes. Asks nothing about requests.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from policyd.admission.recorder import LookupResult, Recorder
from policyd.observability.logs import Log
from policyd.policy.live_definitions import Fetch
from policyd.policy.store import Store

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient

# How often the cluster is asked whether definitions changed; how soon again while it does not tell.
PAUSE_SECONDS = 5.0
UNANSWERED_SECONDS = 1.0


class LiveDefinitions:
    """The definitions of one cluster, for one store."""

    def __init__(
        self, client: "ClusterClient", timeout: float, recorder: Recorder, log: Log
    ) -> None:
        from policyd.cluster import definitions

        self._recorder = recorder
        self._log = log
        self._definitions = definitions(client, timeout, self._asked)
        self._told = ""
        self.fetch: Fetch = self._definitions.fetch

    async def watch(self, store: Store, stop: asyncio.Event) -> None:
        """Load the policies again when a definition that they need appears or changes."""
        while not stop.is_set():
            self._tell(self._definitions.problem)
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    stop.wait(), UNANSWERED_SECONDS if self._told else PAUSE_SECONDS
                )
                return
            if await asyncio.to_thread(self._definitions.changed):
                await store.refresh()

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
