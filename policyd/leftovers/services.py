"""Checks whether the Services that webhooks call can answer. Reads configurations and Services."""

from collections.abc import Iterator
from http import HTTPStatus

from policyd.cluster.listing import ApiReader, ApiReadError, pages, unread
from policyd.errors import Problem
from policyd.json_types import JSONObject, object_in
from policyd.webhooks.configuration_paths import RESOURCES, path_of
from policyd.webhooks.endpoints import endpoint_slices, ready_endpoints

_EXTERNAL = "ExternalName"  # a Service without endpoints


class Services:
    """The Services of a cluster, each looked up once. ``unread`` collects problems of reading."""

    def __init__(self, reader: ApiReader, unread: list[Problem]) -> None:
        self._reader = reader
        self.unread = unread
        self._faults: dict[tuple[str, str], str] = {}
        self._selectors: dict[tuple[str, str], JSONObject] = {}

    def fault(self, namespace: str, name: str) -> str:
        """Return why a Service cannot answer; empty if it can, or if that is not known."""
        key = (namespace, name)
        if key not in self._faults:
            label = f"the Service {namespace}/{name}"
            try:
                self._faults[key] = self._fault(namespace, name, label)
            except ApiReadError as error:
                self._faults[key] = self._without_permission(namespace, label, error)
        return self._faults[key]

    def selector(self, namespace: str, name: str) -> JSONObject:
        """Return the labels of the Pods behind a Service; empty if not known."""
        self.fault(namespace, name)
        return self._selectors.get((namespace, name), {})

    def _fault(self, namespace: str, name: str, label: str) -> str:
        try:
            service = self._reader.get(f"/api/v1/namespaces/{namespace}/services/{name}")
        except ApiReadError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return f"{label} does not exist"
        self._selectors[namespace, name] = object_in(service, "spec", "selector")
        if object_in(service, "spec").get("type") == _EXTERNAL:
            return ""
        found = pages(self._reader, *endpoint_slices(namespace, name))
        ready = ready_endpoints(each for page in found for each in page.items)
        return "" if ready else f"{label} has no ready endpoint"

    def _without_permission(self, namespace: str, label: str, error: ApiReadError) -> str:
        """Return the fault that is visible without reading the Service: a missing namespace."""
        try:
            self._reader.get(f"/api/v1/namespaces/{namespace}")
        except ApiReadError as of_namespace:
            if of_namespace.status == HTTPStatus.NOT_FOUND:
                return f"{label} does not exist, nor does its namespace"
        needed = "get services and list endpointslices.discovery.k8s.io"
        self.unread.append(unread(f"read {label}", error, needed))
        return ""


def configurations(reader: ApiReader, problems: list[Problem]) -> Iterator[JSONObject]:
    """Yield the webhook configurations of both kinds."""
    for kind, resource in RESOURCES.items():
        try:
            for page in pages(reader, path_of(kind)):
                yield from ({"kind": kind, **each} for each in page.items)
        except ApiReadError as error:
            problems.append(unread(f"list {resource}.admissionregistration.k8s.io", error))


def service_of(webhook: JSONObject) -> tuple[str, str] | None:
    """Return namespace and name of the Service that a webhook calls; None if it calls a URL."""
    found = object_in(webhook, "clientConfig", "service")
    return (str(found.get("namespace")), str(found.get("name"))) if found else None
