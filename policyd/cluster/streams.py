"""Splits lists and watches into objects, in steps that do not block the event loop.

Knows the form of lists and events, not their purpose. Sends nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from time import perf_counter
from typing import NamedTuple

import msgspec

from policyd.cluster.bounds import MAX_EVENT_BYTES, InvalidAnswer, decoded
from policyd.json_types import JSONObject, object_in

# Bytes of one page of a list: an object of the largest size fits. A page that is larger is
# requested again with fewer objects.
MAX_LIST_PAGE_BYTES = 4 * 2**20
# The longest time of decoding before other work of the event loop gets its turn.
TURN_SECONDS = 0.001


class ListPage(NamedTuple):
    """A page of a list, whose objects are not yet decoded."""

    items: list[msgspec.Raw]
    following: str  # where the next page begins; "" after the last one
    version: str
    api_version: str
    kind: str  # of the objects; "" if the list does not have it


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""
    following: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta
    kind: str
    apiVersion: str = ""
    items: list[msgspec.Raw] | None = None


_LISTS = msgspec.json.Decoder(_List)


def list_page(data: bytes) -> ListPage:
    """The page in a response; raises InvalidAnswer for anything else."""
    try:
        found = _LISTS.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidAnswer(f"the response is not a list: {error}") from None
    kind = found.kind.removesuffix("List")
    if kind == found.kind or not found.metadata.resourceVersion:
        raise InvalidAnswer("the response is not a list with a resourceVersion")
    meta = found.metadata
    return ListPage(found.items or [], meta.following, meta.resourceVersion, found.apiVersion, kind)


async def objects_of(page: ListPage) -> AsyncIterator[JSONObject]:
    """The objects of a page, each with apiVersion and kind, which lists of built-in kinds omit."""
    type_of = {"apiVersion": page.api_version, "kind": page.kind} if page.kind else {}
    began = perf_counter()
    for raw in page.items:
        yield {**type_of, **decoded(bytes(raw))}
        if perf_counter() - began >= TURN_SECONDS:
            await asyncio.sleep(0)
            began = perf_counter()


class EventLines:
    """Splits the bytes of a watch into lines. A line that is too long raises InvalidAnswer."""

    def __init__(self, most: int = MAX_EVENT_BYTES) -> None:
        self._most = most
        self._rest = bytearray()

    def take(self, part: bytes) -> Iterator[bytes]:
        """Yield the lines that end in the next bytes."""
        first, *others = part.split(b"\n")
        self._rest += first
        for each in others:
            self._check()
            line, self._rest = bytes(self._rest), bytearray(each)
            if line.strip():
                yield line
        self._check()

    def _check(self) -> None:
        if len(self._rest) > self._most:
            raise InvalidAnswer(f"an event of the watch is larger than {self._most} bytes")


class Event(NamedTuple):
    """A change of an object, a BOOKMARK, or an ERROR with a Status."""

    type: str
    object: JSONObject


def event(line: bytes) -> Event:
    """The event in a line; raises InvalidAnswer for anything else."""
    found = decoded(line)
    kind, changed = found.get("type"), found.get("object")
    if not isinstance(kind, str) or not isinstance(changed, dict):
        raise InvalidAnswer("a line of the watch is not an event")
    return Event(kind, changed)


def key_of(found: JSONObject) -> tuple[str, str]:
    """Namespace and name of an object; raises InvalidAnswer if it has none."""
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InvalidAnswer("an object has no name")
    return str(metadata.get("namespace") or ""), metadata["name"]


def version_of(found: JSONObject) -> str:
    """The resourceVersion of an object or bookmark; raises InvalidAnswer if it has none."""
    version = object_in(found, "metadata").get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise InvalidAnswer("an object has no resourceVersion")
    return version
