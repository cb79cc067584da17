"""Lists the metadata of policyd's reports in a cluster page by page, and tracks which are still
wanted. Changes nothing.

A hundred thousand reports take about 7 MB: only two short hashes of each are kept.
"""

from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from policyd.cluster.listing import ApiReader, list_path, pages
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from policyd.reports.apis import ReportApi
from policyd.reports.report_document import HASH, LABEL_SELECTOR, RESOURCE

_NAME_BYTES = 12
_CONTENT_BYTES = 12


class StoredReport(NamedTuple):
    """A report in the cluster: its own ``uid`` and ``version``; ``name`` is its object's UID."""

    namespace: str
    name: str
    uid: str
    version: str
    resource: str
    content_hash: str


class ReportScope(NamedTuple):
    """The scope of a run: with ``namespaces``, only the reports in them, and the cluster-scoped
    ones with these ``names``.
    """

    namespaces: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def stored_reports(
    metadata: ApiReader, api: ReportApi, scope: ReportScope
) -> Iterator[StoredReport]:
    """Yield policyd's reports; raises ApiReadError."""
    if not scope.namespaces:
        yield from _listed(metadata, api.namespaced, "")
        yield from _listed(metadata, api.cluster, "")
        return
    for namespace in scope.namespaces:
        yield from _listed(metadata, api.namespaced, namespace)
    if scope.names:
        found = _listed(metadata, api.cluster, "")
        yield from (each for each in found if each.name in scope.names)


def report_path(api: ReportApi, namespace: str, name: str) -> str:
    """Return the path of a report."""
    return f"{list_path(api.resource(namespace), namespace)}/{name}"


def _listed(metadata: ApiReader, resource: Served, namespace: str) -> Iterator[StoredReport]:
    selection = {"labelSelector": LABEL_SELECTOR}
    for page in pages(metadata, list_path(resource, namespace), selection):
        for each in page.items:
            yield _stored(each["metadata"])


def _stored(metadata: JSONObject) -> StoredReport:
    return StoredReport(
        str(metadata.get("namespace") or ""),
        str(metadata["name"]),
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        str((metadata.get("labels") or {}).get(RESOURCE) or ""),
        str((metadata.get("annotations") or {}).get(HASH) or ""),
    )


class KnownReports:
    """The reports of the first listing. First all are added, then objects are looked up."""

    def __init__(self) -> None:
        self._records: list[bytes] = []  # each one: a hash of the name, a hash of the content
        self._kept = bytearray()
        self._stale = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def stale(self) -> int:
        """The number of reports that no object has used."""
        return self._stale if self._kept else len(self._records)

    def add(self, namespace: str, name: str, content: str) -> None:
        """Add a report of the cluster; ``content`` is its hash annotation."""
        self._records.append(_name(namespace, name) + _short(content, _CONTENT_BYTES))

    def keep(self, namespace: str, name: str, content: str) -> bool:
        """Record that a report is wanted; return whether the cluster has it with this content."""
        at = self._find(_name(namespace, name))
        if at < 0:
            return False
        if not self._kept[at]:
            self._kept[at] = 1
            self._stale -= 1
        return self._has(at, content)

    def is_stale(self, namespace: str, name: str, content: str) -> bool:
        """Whether a report was in the first listing, with the same content, and no object has used
        it. If the content differs, another run has written it since.
        """
        at = self._find(_name(namespace, name))
        return at >= 0 and not self._kept[at] and self._has(at, content)

    def _has(self, at: int, content: str) -> bool:
        return self._records[at][_NAME_BYTES:] == _short(content, _CONTENT_BYTES)

    def _find(self, name: bytes) -> int:
        if len(self._kept) != len(self._records):
            self._records.sort()
            self._kept = bytearray(len(self._records))
            self._stale = len(self._records)
        at = bisect_left(self._records, name)
        found = at < len(self._records) and self._records[at].startswith(name)
        return at if found else -1


def _name(namespace: str, name: str) -> bytes:
    return _short(f"{namespace}/{name}", _NAME_BYTES)


def _short(string: str, size: int) -> bytes:
    return blake2b(string.encode("utf-8", "surrogatepass"), digest_size=size).digest()
