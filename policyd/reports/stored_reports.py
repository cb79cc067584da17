"""The reports of policyd that a cluster has, by their metadata, page by page. Changes nothing."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from policyd.cluster.listing import ApiReader, list_path, pages
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from policyd.reports.apis import ReportApi
from policyd.reports.report_document import HASH, LABEL_SELECTOR, RESOURCE


class StoredReport(NamedTuple):
    """A report in the cluster: ``uid`` and ``version`` are its own, ``name`` its object's UID."""

    namespace: str
    name: str
    uid: str
    version: str
    resource: str
    content_hash: str


class ReportScope(NamedTuple):
    """What a run is about: with ``namespaces``, only the reports in them, and the cluster-scoped
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
        yield from _named(_listed(metadata, api.cluster, ""), scope.names)


def report_path(api: ReportApi, namespace: str, name: str) -> str:
    """Return the path of a report."""
    return f"{list_path(api.resource(namespace), namespace)}/{name}"


def _listed(metadata: ApiReader, resource: Served, namespace: str) -> Iterator[StoredReport]:
    selection = {"labelSelector": LABEL_SELECTOR}
    for page in pages(metadata, list_path(resource, namespace), selection):
        for each in page.items:
            yield _stored(each["metadata"])


def _named(reports: Iterator[StoredReport], names: Collection[str]) -> Iterator[StoredReport]:
    return (each for each in reports if each.name in names)


def _stored(metadata: JSONObject) -> StoredReport:
    return StoredReport(
        str(metadata.get("namespace") or ""),
        str(metadata["name"]),
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        str((metadata.get("labels") or {}).get(RESOURCE) or ""),
        str((metadata.get("annotations") or {}).get(HASH) or ""),
    )
