"""Namespace objects, remembered for a moment: most requests of one moment are in few namespaces."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from lightkube import AsyncClient
from lightkube.resources.core_v1 import Namespace

from policyd._core.authorization import Failure
from policyd.policy.compiled import Object

MEMORY_SECONDS = 1.0
MOST = 1000


async def read(client: AsyncClient, name: str) -> Object:
    """Ask the API server; raises what the client raises."""
    found: Object = (await client.get(Namespace, name=name)).to_dict()
    return found


class Remembered:
    """What ``fetch`` gives, for a second; failures never. One question at a time for each name."""

    def __init__(self, fetch: Callable[[str], Awaitable[Object | Failure]]) -> None:
        self._fetch = fetch
        self._known: dict[str, tuple[float, Object]] = {}
        self._open: dict[str, asyncio.Task[Object | Failure]] = {}

    def known(self, name: str) -> Object | None:
        """The namespace if it is remembered."""
        until, found = self._known.get(name, (0.0, None))
        return found if monotonic() < until else None

    async def get(self, name: str) -> Object | Failure:
        """The namespace, or why it cannot be had. Who gives up leaves the others waiting."""
        task = self._open.get(name)
        if task is None:
            task = self._open[name] = asyncio.ensure_future(self._learn(name))
            task.add_done_callback(lambda _: self._open.pop(name, None))
        return await asyncio.shield(task)

    async def _learn(self, name: str) -> Object | Failure:
        found = await self._fetch(name)
        self._known.pop(name, None)
        if not isinstance(found, Failure):
            self._known[name] = (monotonic() + MEMORY_SECONDS, found)
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]  # the oldest
        return found

    async def close(self) -> None:
        """Ask no longer."""
        for task in list(self._open.values()):
            task.cancel()
        await asyncio.gather(*self._open.values(), return_exceptions=True)
