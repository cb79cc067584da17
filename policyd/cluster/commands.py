"""A synchronous version of the object client for commands, with the same methods and errors."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from policyd.cluster import missing
from policyd.json_types import JSONObject

if TYPE_CHECKING:
    from policyd.cluster.objects import ObjectClient

Answer = TypeVar("Answer")


@contextmanager
def open_objects(
    kubeconfig: Path | None, context: str | None, timeout: float, *, retries: bool = True
) -> Iterator["Objects"]:
    """A client of the cluster of a kubeconfig's context; without a kubeconfig, of this Pod.

    Without ``retries`` each request is sent once. Raises ConfigError if there is no such cluster,
    or no client library.
    """
    try:
        from policyd.cluster import bounds, client, objects
        from policyd.cluster.kubeconfig import configuration, current
    except ModuleNotFoundError as error:
        raise missing(error) from None
    config = current(configuration(kubeconfig, context))
    pauses = client.PAUSES if retries else ()
    made = objects.ObjectClient(config, timeout, bounds.MAX_PAGE_BYTES, pauses)
    with asyncio.Runner() as runner:
        try:
            yield Objects(made, runner)
        finally:
            runner.run(made.close())


class Objects:
    """Usable only outside an event loop: it has its own while it is open."""

    def __init__(self, client: "ObjectClient", runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._client.server

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = ""
    ) -> JSONObject:
        """The object at a path, in the form that ``accept`` names."""
        given = {"accept": accept} if accept else {}
        return self._run(self._client.get(path, query, **given))

    def list_pages(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[JSONObject]:
        """The pages of a list, each fetched when it is needed."""
        pages = self._client.list_pages(path, query)

        async def following() -> JSONObject | None:
            return await anext(pages, None)

        while (page := self._run(following())) is not None:
            yield page

    def create(self, path: str, body: JSONObject) -> JSONObject:
        """Create an object; ``path`` is the path of its list."""
        return self._run(self._client.create(path, body))

    def replace(self, path: str, body: JSONObject) -> JSONObject:
        """Replace an object; with a resourceVersion in ``body`` only if it is the current one."""
        return self._run(self._client.replace(path, body))

    def apply(
        self, path: str, body: JSONObject, manager: str, *, force: bool, dry_run: bool = False
    ) -> JSONObject:
        """Server-side apply of the fields in ``body``."""
        return self._run(self._client.apply(path, body, manager, force=force, dry_run=dry_run))

    def delete(self, path: str, *, uid: str = "", resource_version: str = "") -> JSONObject:
        """Delete an object, if it has this uid and resourceVersion."""
        return self._run(self._client.delete(path, uid=uid, resource_version=resource_version))

    def delete_collection(self, path: str, label_selector: str) -> JSONObject:
        """Delete the objects of a list that a selector selects."""
        return self._run(self._client.delete_collection(path, label_selector))

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self._runner.run(work)
