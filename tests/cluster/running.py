"""A reflector that runs beside the steps of a test. No tests here."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from policyd.controllers.waiting import until_any
from tests.cluster.fake import ApiServer

PATH = "api/v1/configmaps"
SLACK = 20.0  # seconds until a wait counts as failed


class Running:
    """A reflector that runs, and what it told."""

    def __init__(self, server: ApiServer, at: Watched, **options: Any) -> None:
        config = configuration(server.kubeconfig())
        self.client = ObjectClient(config, 5.0)
        self.changes: list[tuple[str, str]] = []
        self.reflector = Reflector(
            self.client,
            at,
            changed=lambda namespace, name: self.changes.append((namespace, name)),
            **options,
        )
        self.stop = asyncio.Event()

    @property
    def names(self) -> list[str]:
        return sorted(name for _, name in self.reflector.objects)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        async with asyncio.timeout(SLACK):
            while not condition():
                await asyncio.sleep(0.005)
        assert condition(), what


async def first_list(reflector: Reflector, seconds: float = SLACK) -> bool:
    """Wait for the first list; return whether it is complete."""
    await until_any(reflector.listed, seconds=seconds)
    return reflector.synced


def scenario(
    server: ApiServer,
    steps: Callable[[Running], Awaitable[None]],
    at: Watched | None = None,
    **options: Any,
) -> Running:
    """Run these steps beside a reflector."""

    async def both() -> Running:
        running = Running(server, at or Watched(PATH), **options)
        task = asyncio.create_task(running.reflector.run(running.stop))
        try:
            await steps(running)
        finally:
            running.stop.set()
            async with asyncio.timeout(SLACK):
                await task
            await running.client.close()
        return running

    return asyncio.run(both())
