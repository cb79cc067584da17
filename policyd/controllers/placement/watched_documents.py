"""Watches all policies and bindings of the API server, no matter who made them. Changes nothing."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.cluster.watching import RELIST_SECONDS, Reflector, Watched
from policyd.controllers.controller import Controller, Wakening, reason
from policyd.json_types import JSONObject
from policyd.placement.placed_documents import (
    GROUP_PATH,
    Key,
    ServedKinds,
    list_path,
    served_kinds,
    version_paths,
)

# How often to discover the kinds that the cluster serves, and how soon after a failure.
DISCOVERY_SECONDS = 60.0
RETRY_SECONDS = 2.0


class WatchedDocuments(Controller):
    """All policies and bindings. ``listeners`` are called with the key of each changed document,
    and with None after a new list.
    """

    name = "documents"

    def __init__(self, client: ObjectClient) -> None:
        super().__init__()
        self.served = ServedKinds()
        self._client = client
        self.listeners: list[Callable[[Key | None], None]] = []
        self._known = False  # whether discovery has succeeded
        self._refusal = ""
        self._reflectors: dict[str, Reflector] = {}
        self._again = Wakening()

    @property
    def stored(self) -> dict[Key, JSONObject]:
        """Return the documents, without managedFields."""
        return {key: found["document"] for key, found in self._objects().items()}

    @property
    def written(self) -> Mapping[Key, str]:
        """Return when the spec or metadata of each was last written, by the API server's clock."""
        return {key: found["written"] for key, found in self._objects().items()}

    @property
    def usable(self) -> bool:
        """Whether all documents are known."""
        return self._known and all(each.usable for each in self._reflectors.values())

    @property
    def problem(self) -> str:
        """Why the documents are not in step; empty while they are."""
        problems = (each.problem for each in self._reflectors.values() if each.problem)
        return self._refusal or next(problems, "")

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the served kinds and their changes until ``stop`` is set."""
        while not stop.is_set():
            ending = asyncio.Event()
            pause = await self._discover()
            runs = [asyncio.ensure_future(each.run(ending)) for each in self._reflectors.values()]
            served = self.served
            try:
                while not stop.is_set() and self.served == served:
                    await self._again.wait(stop, pause)
                    _raise_defects(runs)
                    pause = RETRY_SECONDS if stop.is_set() else await self._discover()
            finally:
                ending.set()
                await asyncio.gather(*runs)

    async def _discover(self) -> float:
        """Discover the served kinds; return the seconds until the next discovery."""
        try:
            group = await self._client.get(GROUP_PATH)
            lists = [await self._client.get(path) for path in version_paths(group)]
        except ObjectError as error:
            self._refusal = f"cannot discover the kinds of policies: {reason(error)}"
            return RETRY_SECONDS
        self._refusal = ""
        served = served_kinds(lists)
        if served != self.served or not self._known:
            self.served, self._known = served, True
            self._reflectors = {
                kind: Reflector(
                    self._client,
                    Watched(list_path(kind, version)),
                    keep=partial(_kept, kind, version),
                    changed=partial(self._note, kind),
                    relist=RELIST_SECONDS,
                )
                for kind, version in served.versions.items()
            }
            self._pass_on(None)
        return DISCOVERY_SECONDS

    def _objects(self) -> dict[Key, JSONObject]:
        return {
            (kind, name): found
            for kind, reflector in self._reflectors.items()
            for (_, name), found in reflector.objects.items()
        }

    def _note(self, kind: str, _: str, name: str) -> None:
        self._pass_on((kind, name) if name else None)

    def _pass_on(self, key: Key | None) -> None:
        for each in self.listeners:
            each(key)


def _raise_defects(runs: Sequence["asyncio.Future[None]"]) -> None:
    for each in runs:
        with suppress(asyncio.InvalidStateError):
            each.result()


def _kept(kind: str, api_version: str, found: JSONObject) -> JSONObject:
    """Return the parts of a document to keep, without managers that only wrote its status."""
    metadata = dict(found["metadata"])
    fields = metadata.pop("managedFields", None) or ()
    times = [str(each.get("time") or "") for each in fields if not each.get("subresource")]
    document = {**found, "apiVersion": api_version, "kind": kind, "metadata": metadata}
    return {
        "document": document,
        "written": max(times, default=str(metadata.get("creationTimestamp") or "")),
    }
