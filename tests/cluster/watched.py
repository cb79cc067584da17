"""A list that a fake API server lets clients list and watch. No tests here."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from policyd.json_types import JSONObject
from tests.cluster.fake import Call, Reply

EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": "too old resource version",
    "reason": "Expired",
    "code": 410,
}


def expired() -> Reply:
    return Reply(EXPIRED, 410)


@dataclass
class WatchedList:
    """Objects of one list and what happened to them. ``refused`` answers instead where it is set."""

    kind: str = "ConfigMap"
    api_version: str = "v1"
    objects: dict[tuple[str, str], JSONObject] = field(default_factory=dict)
    version: int = 1
    lists: list[dict[str, str]] = field(default_factory=list)
    looks: list[dict[str, str]] = field(default_factory=list)  # lists of one object
    watches: list[dict[str, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    open: int = 0
    refused: dict[str, Reply] = field(default_factory=dict)  # by list and watch
    expired_pages: int = 0  # how many requests for a later page are answered with 410

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._history: list[tuple[int, bytes]] = []
        self._oldest = 0
        self._ends = 0  # watches are ended when this changes
        self._cuts = 0
        self._closed = False

    def put(
        self,
        name: str,
        namespace: str = "",
        labels: JSONObject | None = None,
        generation: int = 0,
        **fields: object,
    ) -> JSONObject:
        """Create an object or replace it."""
        with self._changed:
            self.version += 1
            known = (namespace, name) in self.objects
            metadata: JSONObject = {"name": name, "namespace": namespace, "labels": labels}
            metadata |= {"resourceVersion": str(self.version), "generation": generation}
            made: JSONObject = {"metadata": {k: v for k, v in metadata.items() if v}, **fields}
            self.objects[namespace, name] = made
            self._event("MODIFIED" if known else "ADDED", made)
            return made

    def remove(self, name: str, namespace: str = "") -> None:
        with self._changed:
            self.version += 1
            gone = self.objects.pop((namespace, name))
            metadata = {**gone["metadata"], "resourceVersion": str(self.version)}
            self._event("DELETED", {**gone, "metadata": metadata})

    def bookmark(self, version: int | None = None) -> None:
        with self._changed:
            self.version += 1
            made = {"metadata": {"resourceVersion": str(version or self.version)}}
            self._event("BOOKMARK", made)

    def abandoned(self) -> bool:
        """Whether nobody watches; it is noticed by what cannot be sent."""
        self.bookmark()
        return self.open == 0

    def send(self, line: bytes) -> None:
        """Send these bytes to everyone who watches now."""
        with self._changed:
            self.version += 1
            self._history.append((self.version, line))
            self._changed.notify_all()

    def error(self, **status: object) -> None:
        """End the watches with an ERROR event."""
        made = {"kind": "Status", "apiVersion": "v1", "status": "Failure", **status}
        self.send(json.dumps({"type": "ERROR", "object": made}).encode() + b"\n")
        self.forget()

    def forget(self) -> None:
        """Know nothing any more of what happened until now."""
        with self._changed:
            self.version += 1
            self._oldest = self.version
            self._changed.notify_all()

    def restore(self, *names: str) -> None:
        """Be as in a backup, made when there were these objects only; watches end."""
        with self._changed:
            self.version, self._history = 1, []
            self.objects = {key: each for key, each in self.objects.items() if key[1] in names}
        self.cut()

    def end(self) -> None:
        """End all watches as at the end of their time."""
        with self._changed:
            self._ends += 1
            self._changed.notify_all()

    def cut(self) -> None:
        """Cut off all watches."""
        with self._changed:
            self._cuts += 1
            self._changed.notify_all()

    def close(self) -> None:
        """End all watches for good."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def answer(self, call: Call) -> Reply:
        query = dict(parse_qsl(urlsplit(call.path).query))
        self.accepted.append(call.headers.get("Accept", ""))
        if query.get("watch") == "true":
            self.watches.append(query)
            since = int(query["resourceVersion"])
            if since < self._oldest:
                return self.refused.get("watch") or expired()
            # What ends a watch counts from here: its first part is asked for some time later.
            ends, cuts = self._ends, self._cuts
            return self.refused.get("watch") or Reply(self._stream(since, ends, cuts))
        (self.looks if query["limit"] == "1" else self.lists).append(query)
        return self.refused.get("list") or self._page(query)

    def _page(self, query: dict[str, str]) -> Reply:
        with self._changed:
            names = sorted(self.objects)
            start, size = int(query.get("continue") or 0), int(query["limit"])
            if start and self.expired_pages:
                self.expired_pages -= 1
                return expired()
            items = [self.objects[each] for each in names[start : start + size]]
            metadata = {"resourceVersion": str(self.version)}
            if start + size < len(names):
                metadata["continue"] = str(start + size)
            body = {"kind": f"{self.kind}List", "apiVersion": self.api_version}
            return Reply({**body, "metadata": metadata, "items": items})

    def _event(self, kind: str, made: JSONObject) -> None:
        typed = {"kind": self.kind, "apiVersion": self.api_version, **made}
        line = json.dumps({"type": kind, "object": typed}).encode() + b"\n"
        self._history.append((self.version, line))
        self._changed.notify_all()

    def _stream(self, since: int, ends: int, cuts: int) -> Iterator[bytes]:
        with self._changed:
            self.open += 1
        try:
            while True:
                with self._changed:
                    news = [line for at, line in self._history if at > since]
                    since = max((at for at, _ in self._history), default=since)
                    if not news:
                        if self._closed or self._ends > ends:
                            return
                        if self._cuts > cuts:
                            raise ConnectionResetError
                        self._changed.wait(60)
                yield from news
        finally:
            with self._changed:
                self.open -= 1
