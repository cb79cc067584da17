"""Holds a Lease: acquires it, renews it, and releases it when the server stops.

``election.py`` decides; this file reads and writes.
"""

import asyncio
import os
import random
import secrets
from collections.abc import Callable
from http import HTTPStatus
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError, or_none
from policyd.controllers.clocks import ServerClock
from policyd.controllers.controller import FORBIDDEN, Controller, Trouble, reason
from policyd.controllers.election import RETRY_SECONDS, Election
from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log

# Seconds between attempts without permission to read or write the Lease.
REFUSED_SECONDS = 30.0
# The range of pauses of waiting candidates, as multiples of RETRY_SECONDS.
JITTER = 1.2


def identity() -> str:
    """The name of this replica: its host name, which is the Pod's, and a random suffix."""
    return f"{os.uname().nodename}_{secrets.token_hex(4)}"


class LeaseHolder(Controller):
    """One candidate for a Lease. ``changed`` is called when it acquires or loses the Lease;
    ``clock`` learns the API server's time from each renewal. One of several workers is
    ``appointed`` as the candidate of its replica; a single process always is (None).
    """

    name = "lease"

    def __init__(
        self,
        client: ObjectClient,
        namespace: str,
        name: str,
        log: Log,
        *,
        clock: ServerClock,
        changed: Callable[[], None],
        appointed: asyncio.Event | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._namespace, self._name = namespace, name
        self._list = f"apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._list}/{name}"
        self._log = log
        self._trouble = Trouble("lease", log)
        self._clock = clock
        self._changed = changed
        self._appointed = appointed
        self._election = Election(identity())
        self._held = False

    @property
    def holds(self) -> bool:
        """Whether this replica holds the Lease and writes."""
        return self._election.holds

    @property
    def identity(self) -> str:
        """The name of this replica in the Lease."""
        return self._election.identity

    @property
    def problem(self) -> str:
        """Why the Lease cannot be read or written; empty while it can."""
        return self._trouble.problem

    async def run(self, stop: asyncio.Event) -> None:
        """Be a candidate until ``stop`` is set, then release the Lease."""
        if self._appointed is not None:
            await until_any(self._appointed, stop)
        while not stop.is_set():
            pause = await self._attempt()
            await until_any(stop, seconds=pause)
        await self._release()

    async def _attempt(self) -> float:
        """Acquire or renew; return the seconds until the next attempt."""
        pause = RETRY_SECONDS * (1.0 if self.holds else random.uniform(1.0, JITTER))  # noqa: S311 - jitter
        try:
            await self._acquire()
        except ObjectError as error:
            if error.status != HTTPStatus.CONFLICT:  # another replica was faster
                self._trouble.begin(
                    f"cannot hold the Lease {self._namespace}/{self._name}: {reason(error)}"
                )
            if error.status == FORBIDDEN:
                pause = REFUSED_SECONDS
        else:
            self._trouble.end("the Lease can be read and written again")
        self._note()
        return pause

    async def _acquire(self) -> None:
        election = self._election
        if not election.holds:
            election.saw(await or_none(self._client.get(self._path)))
        wanted = election.wanted(self._namespace, self._name)
        if wanted is None:
            return
        sent = monotonic()
        try:
            if election.exists:
                stored = await self._client.replace(self._path, wanted)
            else:
                stored = await self._client.create(self._list, wanted)
        except ObjectError as error:
            if error.status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                # Another client wrote or deleted it: the next attempt must read it again.
                election.saw(await or_none(self._client.get(self._path)))
            raise
        election.wrote(stored, sent)
        self._clock.saw(stored)

    def _note(self) -> None:
        """Report a change of the holder's role."""
        if self.holds == self._held:
            return
        self._held = self.holds
        message = "this replica writes for all" if self._held else "another replica writes for all"
        self._log.write("info", "lease", message, identity=self.identity)
        self._changed()

    async def _release(self) -> None:
        freed = self._election.freed(self._namespace, self._name)
        if freed is None or not self.holds:
            return
        try:
            self._election.wrote(await self._client.replace(self._path, freed), monotonic())
        except ObjectError as error:
            message = f"cannot release the Lease, which expires instead: {reason(error)}"
            self._log.write("warning", "lease", message)
        self._note()
