"""What a cluster serves, and the objects of a resource page by page.

Needs no client library: who asks is an argument. Nothing is asked but GET.
"""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol

from policyd.json_types import JSONObject
from policyd.policy.live.reach import Served

PAGE = 500  # objects, as kubectl asks for them: some 10 MB of Pods


class ApiReadError(Exception):
    """The API server did not give what was asked for; the text says why.

    ``status`` is that of its answer, 0 without one; ``body`` is the Status object that it sent.
    """

    def __init__(self, why: str, status: int = 0, body: JSONObject | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.body = body or {}


class ApiReader(Protocol):
    """Gets one JSON object from an API server, or raises Unreadable."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """The answer to GET."""


class Page(NamedTuple):
    """Some objects of a list, and how many come after them as far as the API server says."""

    items: list[JSONObject]
    remaining: int


def served(
    reader: ApiReader, names_group: Callable[[str], bool], failed: Callable[[str], None]
) -> Iterator[Served]:
    """Every resource that can be listed in the groups wanted, its preferred version first.

    ``failed`` is told what cannot be found out: one group that does not answer (of a server
    behind the API server) hides no other.
    """
    for group, versions in _versions(reader):
        if not names_group(group):
            continue
        for version in versions:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                found = reader.get(path)
            except ApiReadError as error:
                failed(f"cannot find out what {path} serves: {error}")
                continue
            for each in found.get("resources") or ():
                if "list" in (each.get("verbs") or ()) and "/" not in each["name"]:
                    yield Served(group, version, each["name"], each["kind"], each["namespaced"])


def _versions(reader: ApiReader) -> Iterator[tuple[str, list[str]]]:
    yield "", list(reader.get("/api")["versions"])
    for group in reader.get("/apis").get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("version")
        versions = [each["version"] for each in group["versions"]]
        yield group["name"], sorted(versions, key=lambda version: version != preferred)


def list_path(resource: Served, namespace: str = "") -> str:
    """Where its objects are listed: those of one namespace, or all."""
    base = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{base}{within}/{resource.resource}"


def pages(reader: ApiReader, path: str) -> Iterator[Page]:
    """A list in pages. Where it takes so long that the API server forgets the moment that the list
    shows, it goes on with what is there now.
    """
    query, expired = {"limit": str(PAGE)}, False
    while True:
        try:
            page = reader.get(path, query)
        except ApiReadError as error:
            later = (error.body.get("metadata") or {}).get("continue")
            if error.status != HTTPStatus.GONE or not later or expired:
                raise
            query["continue"], expired = later, True
            continue
        expired = False
        metadata = page.get("metadata") or {}
        yield Page(page.get("items") or [], int(metadata.get("remainingItemCount") or 0))
        if not metadata.get("continue"):
            return
        query["continue"] = metadata["continue"]
