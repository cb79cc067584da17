"""The webhook configurations of one name, watched. Changes nothing."""

import asyncio
from collections.abc import Callable

from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import RELIST_SECONDS, Reflector, Watched
from policyd.controllers.controller import Controller
from policyd.json_types import JSONObject
from policyd.webhooks.configuration_paths import RESOURCES, path_of


class WatchedConfigurations(Controller):
    """Both configurations of one name; ``changed`` is called when one changed."""

    name = "configurations"

    def __init__(self, client: ObjectClient, name: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self.webhook_name = name
        selector = f"metadata.name={name}"
        self._reflectors = {
            kind: Reflector(
                client,
                Watched(path_of(kind), field_selector=selector),
                changed=lambda *_: changed(),
                relist=RELIST_SECONDS,
            )
            for kind in RESOURCES
        }

    @property
    def found(self) -> dict[str, JSONObject]:
        """The existing configurations, by kind."""
        return {
            kind: {"kind": kind, **found}
            for kind, reflector in self._reflectors.items()
            for found in reflector.objects.values()
        }

    @property
    def synced(self) -> bool:
        """Whether both are known."""
        return all(each.synced for each in self._reflectors.values())

    @property
    def problem(self) -> str:
        """Why the configurations are not in step; empty while they are."""
        return next((each.problem for each in self._reflectors.values() if each.problem), "")

    async def run(self, stop: asyncio.Event) -> None:
        """Follow changes until ``stop`` is set."""
        await asyncio.gather(*(each.run(stop) for each in self._reflectors.values()))
