"""Lists the resources that a cluster serves, and the objects of a resource page by page.

Needs no client library: the reader is an argument. Sends only GET requests.
"""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source.loaded_documents import Document

PAGE = 500  # objects, as many as kubectl requests: about 10 MB of Pods


class ApiReadError(Exception):
    """The API server did not return the requested object; the message is the reason.

    ``status`` is the HTTP status of its response, 0 without one; ``body`` is the Status object that
    it sent. ``too_large``: the response exceeds the limit of bytes.
    """

    def __init__(
        self,
        why: str,
        status: int = 0,
        body: JSONObject | None = None,
        *,
        too_large: bool = False,
    ) -> None:
        super().__init__(why)
        self.status = status
        self.body = body or {}
        self.too_large = too_large


class ApiReader(Protocol):
    """Gets one JSON object from an API server, or raises ApiReadError."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """The response to a GET request."""


class Page(NamedTuple):
    """Some objects of a list, and the number that follow according to the API server."""

    items: list[JSONObject]
    remaining: int


def served(
    reader: ApiReader, names_group: Callable[[str], bool], failed: Callable[[str], None]
) -> Iterator[Served]:
    """Every resource that can be listed in the wanted groups, its preferred version first.

    ``failed`` is called with each problem: an unresponsive group (of an aggregated API server)
    hides no other group. A group whose definitions were just deleted is no problem: the list of
    groups still has it for some seconds.
    """
    for group, versions in _versions(reader):
        if not names_group(group):
            continue
        for version in versions:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                found = reader.get(path)
            except ApiReadError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    failed(f"cannot list the resources of {path}: {error}")
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
    """The path that lists the objects of a resource, in one namespace or in all."""
    base = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{base}{within}/{resource.resource}"


def pages_of(reader: ApiReader, resource: Served, namespace: str = "") -> Iterator[Page]:
    """The pages of a resource that was just served; none if it is not served any more."""
    try:
        yield from pages(reader, list_path(resource, namespace))
    except ApiReadError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def pages(
    reader: ApiReader, path: str, selection: Mapping[str, str] | None = None
) -> Iterator[Page]:
    """The pages of a list; ``selection`` are parameters such as a labelSelector. If the API
    server's snapshot of the list expires meanwhile, the list continues with the current objects.
    Pages that would be too large get fewer objects.
    """
    limit, expired = PAGE, False
    query = {"limit": str(limit), **(selection or {})}
    while True:
        try:
            page = reader.get(path, query)
        except ApiReadError as error:
            if error.too_large and limit > 1:
                limit = limit // 4 or 1
                query["limit"] = str(limit)
                continue
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


def unread(what: str, error: ApiReadError, permission: str = "") -> Problem:
    """Return the problem of a failed action, with the permission it needs (default: ``what``)."""
    forbidden = error.status == HTTPStatus.FORBIDDEN
    hint = f"this needs the permission to {permission or what}" if forbidden else ""
    return Problem(f"cannot {what}: {error}", hint=hint)


def document_of(item: JSONObject, resource: Served) -> Document:
    """Return the document of an object; lists omit apiVersion and kind of their items."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Document(
        kind=resource.kind,
        api_version=resource.api_version,
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        file="",
        index=0,
        raw={**typed, **item, "metadata": metadata},
    )
