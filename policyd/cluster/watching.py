"""Keeps a list of objects in step with an API server, with list and watch as in client-go.

Does not know the purpose of the objects. While the API server is away, the last state stays.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from math import ceil, inf
from time import monotonic
from typing import NoReturn

from policyd.cluster.bounds import AnswerTooLarge, InvalidAnswer
from policyd.cluster.client import PROBLEMS, describe
from policyd.cluster.objects import JSON_TYPE, PAGE, ObjectClient, ObjectError
from policyd.cluster.streams import (
    MAX_LIST_PAGE_BYTES,
    EventLines,
    ListPage,
    event,
    key_of,
    list_page,
    objects_of,
    version_of,
)
from policyd.json_types import JSONObject

# A watch is requested for a random time within these, so that the watches of all replicas do not
# end at once.
WATCH_SECONDS = (300.0, 600.0)
# How much longer than requested a watch may last.
OVERTIME_SECONDS = 5.0
# An API server sends a bookmark about every minute. After this time without any event the list is
# read again on another connection.
STALL_SECONDS = 90.0
# Lists that affect enforcement are read again at least this often, regardless of events: after a
# random part of it, because a watch may end late and replicas should not list at the same time.
RELIST_SECONDS = 30.0
RELIST_PARTS = (0.6, 0.8)
# After a failure: a random pause of up to the first, doubled each time up to the second. A watch
# that worked for the third, or for half of the requested time, resets the pause to the first.
PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 5.0
HEALTHY_SECONDS = 60.0
# The statuses of a missing permission, and of a resource that is not served.
_LASTING = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Watched:
    """A list to watch: its path, such as ``api/v1/namespaces/shop/configmaps``, and its selectors.
    ``metadata_only`` requests only the metadata.
    """

    path: str
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False

    def query(self) -> dict[str, str]:
        """The selectors, as parameters of a request."""
        given = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in given.items() if value}

    def accept(self, suffix: str = "") -> str:
        """The Accept header; ``suffix`` is List for lists."""
        return _METADATA.format(suffix) if self.metadata_only else JSON_TYPE


class _Outdated(Exception):
    """The list must be read again because the watch cannot continue or cannot be trusted."""


@dataclass(eq=False, repr=False)
class Reflector:
    """One list, kept in step while ``run`` runs.

    ``keep`` returns the part of an object to keep, None for nothing. ``changed`` is called after a
    kept object changed, with its namespace and name, and with empty strings after a new list that
    differs from the old one; it runs on the event loop and must be quick. ``relist``: read the list
    again within these seconds even if the watch works.
    """

    client: ObjectClient
    watched: Watched
    _: KW_ONLY
    keep: Callable[[JSONObject], JSONObject | None] = lambda found: found
    changed: Callable[[str, str], None] = lambda namespace, name: None
    relist: float = inf
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self.synced = False
        self.problem = ""
        self.status = 0  # the HTTP status of the problem
        # The kept part of each object, by namespace and name. Each new list replaces it.
        self.objects: Mapping[tuple[str, str], JSONObject] = {}
        # Whether the objects may be used: also the last state while the API server is away, but not
        # without permission to follow the list, nor when the resource is gone.
        self.usable = False
        self._relist_at = inf
        self._kept: dict[tuple[str, str], JSONObject] = {}
        self._version = ""  # where the next watch begins; "" to list first
        self._size = PAGE  # objects of a page
        self.listed = asyncio.Event()  # set when the first list is complete
        self._watching = False
        self._current_at = self.clock()
        self._opened_at = inf  # when the watch began
        self._healthy_after = HEALTHY_SECONDS

    @property
    def refused(self) -> bool:
        """Whether permission to list or to watch is missing."""
        return self.status == HTTPStatus.FORBIDDEN

    @property
    def gone(self) -> bool:
        """Whether the API server does not serve the resource."""
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def staleness(self) -> float:
        """Seconds since the list was last known to be current; 0 while the watch works, which
        bookmarks prove in the absence of changes.
        """
        silent = self.clock() - self._current_at
        return 0.0 if self._watching and silent < STALL_SECONDS else silent

    def passed(self, version: str) -> bool:
        """Whether the list includes all changes up to this resourceVersion."""
        return bool(self._version) and not _earlier(self._version, version)

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the list in step until ``stop`` is set. Raises only defects of policyd."""
        loop = asyncio.get_running_loop()
        keeping, stopping = loop.create_task(self._keep_in_step()), loop.create_task(stop.wait())
        tasks = (keeping, stopping)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)
            self._watching = False
        if not keeping.cancelled():
            keeping.result()  # raises its defect

    async def _keep_in_step(self) -> None:
        failures = 0
        while True:
            self._opened_at = inf
            try:
                if not self._version or self.clock() >= self._relist_at:
                    await self._list()
                elif _earlier((await self._page({"limit": "1"})).version, self._version):
                    # Restored from an older backup: a watch would be silent until it catches up.
                    raise _Outdated(f"the API server is not at resourceVersion {self._version}")
                await self._watch()
            except _Outdated as error:
                self._version = ""
                if failures:  # one failure is normal after a long absence
                    self._failed(f"WATCH /{self.watched.path}: {error}")
            except ObjectError as error:
                self._failed(str(error), error.status)
            except PROBLEMS as error:
                self._failed(f"WATCH /{self.watched.path}: {describe(error)}")
                if isinstance(error, InvalidAnswer):
                    self._version = ""
            finally:
                self._watching = False
            healthy = self.clock() - self._opened_at >= self._healthy_after
            failures = 0 if healthy else failures + 1
            most = min(PAUSE_SECONDS * 2 ** min(failures, 20), LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(random.uniform(0.0, most))  # noqa: S311 - a pause, no secret

    def _failed(self, problem: str, status: int = 0) -> None:
        """Record why the list is not in step."""
        # Without permission, or without the resource, no other failure makes the list usable again.
        lasting = self.status in _LASTING and status not in _LASTING
        self.problem, self.status = problem, self.status if lasting else status
        self._assess()
        if status in (HTTPStatus.GONE, HTTPStatus.NOT_FOUND):
            self._version = ""

    def _assess(self) -> None:
        self.usable = self.synced and self.status not in _LASTING

    async def _list(self) -> None:
        """Read all pages; the previous objects stay until the last one has arrived."""
        began = self.clock()
        kept: dict[tuple[str, str], JSONObject] = {}
        following = ""
        while True:
            page = await self._next_page(following)
            async for found in objects_of(page):
                rest = self.keep(found)
                if rest is not None:
                    kept[key_of(found)] = rest
            following = page.following
            if not following:
                break
        news = not self.usable or kept != self._kept
        self.objects = self._kept = kept
        self._version, self._current_at = page.version, began
        # Not for security: any random part of the time will do.
        self._relist_at = began + self.relist * random.uniform(*RELIST_PARTS)  # noqa: S311
        self.synced = True
        self._assess()
        self.listed.set()
        if news:
            self.changed("", "")

    async def _next_page(self, following: str) -> ListPage:
        """Request a page, with fewer and fewer objects while it is too large."""
        while True:
            query = {"limit": str(self._size), **({"continue": following} if following else {})}
            try:
                return await self._page(query)
            except AnswerTooLarge:
                if self._size == 1:
                    raise
                self._size = self._size // 4 or 1

    async def _page(self, query: Mapping[str, str]) -> ListPage:
        query = {**self.watched.query(), **query}
        data = await self.client.read(self.watched.path, query, self.watched.accept("List"))
        if len(data) > MAX_LIST_PAGE_BYTES and query["limit"] != "1":
            raise AnswerTooLarge
        return list_page(data)

    async def _watch(self) -> None:
        """Apply events until the watch ends."""
        asked = random.uniform(*WATCH_SECONDS)  # noqa: S311 - a time, no secret
        asked = min(asked, max(1.0, self._relist_at - self.clock()))
        self._healthy_after = min(HEALTHY_SECONDS, asked / 2)
        query = {
            **self.watched.query(),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            # In whole seconds, rounded up: the watch must not end before the next list is due.
            "timeoutSeconds": str(ceil(asked)),
        }
        stream = self.client.stream(self.watched.path, query, self.watched.accept())
        async with stream as parts:
            # Events after the last known version follow at once.
            self._current_at = self._opened_at = self.clock()
            self.problem, self.status, self._watching = "", 0, True
            self._assess()
            await self._follow(parts, asked)

    async def _follow(self, parts: AsyncIterator[bytes], seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds + OVERTIME_SECONDS
        lines = EventLines()
        try:
            async with asyncio.timeout_at(min(end, loop.time() + STALL_SECONDS)) as limit:
                async for part in parts:
                    for line in lines.take(part):
                        self._take(line)
                        limit.reschedule(min(end, loop.time() + STALL_SECONDS))
        except TimeoutError:
            if loop.time() < end:
                raise _Outdated(f"no event and no bookmark for {STALL_SECONDS:g} s") from None
        else:
            self._current_at = self.clock()

    def _take(self, line: bytes) -> None:
        """Apply one event; the next watch begins after it."""
        kind, found = event(line)
        if kind == "ERROR":
            self._refuse(found)
        version = version_of(found)
        if _earlier(version, self._version):
            raise _Outdated(f"resourceVersion {version} follows {self._version}")
        if kind in ("ADDED", "MODIFIED"):
            self._put(key_of(found), self.keep(found))
        elif kind == "DELETED":
            self._put(key_of(found), None)
        elif kind != "BOOKMARK":
            raise InvalidAnswer(f"unknown type {kind[:40]!r} of an event")
        self._version, self._current_at = version, self.clock()

    def _put(self, key: tuple[str, str], rest: JSONObject | None) -> None:
        if self._kept.get(key) == rest:
            return
        if rest is None:
            del self._kept[key]
        else:
            self._kept[key] = rest
        self.changed(*key)

    def _refuse(self, status: JSONObject) -> NoReturn:
        """Raise the error of an ERROR event."""
        code, message = status.get("code"), str(status.get("message"))
        if code == HTTPStatus.GONE:
            raise _Outdated(message)
        self._version = ""
        raise ObjectError(
            f"WATCH /{self.watched.path}: the API server ended the watch: {message}",
            code if isinstance(code, int) else 0,
            str(status.get("reason") or ""),
            status,
        )


def _earlier(version: str, last: str) -> bool:
    """Whether a resourceVersion is before ``last``, because the API server's history was replaced.
    Versions that are not numbers have no order.
    """
    ordered = all(each.isascii() and each.isdigit() for each in (version, last))
    return ordered and (len(version), version) < (len(last), last)
