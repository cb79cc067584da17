"""The endpoints of the Service that a webhook calls, as EndpointSlices list them."""

from collections.abc import Iterable

from policyd.json_types import JSONObject, object_in


def endpoint_slices(namespace: str, service: str) -> tuple[str, dict[str, str]]:
    """Return the path of the EndpointSlices of a Service, and the query that selects them."""
    path = f"apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    return path, {"labelSelector": f"kubernetes.io/service-name={service}"}


def ready_endpoints(slices: Iterable[JSONObject]) -> int:
    """Return the number of ready endpoints in EndpointSlices."""
    return sum(
        object_in(endpoint, "conditions").get("ready") is not False
        for each in slices
        for endpoint in each.get("endpoints") or ()
    )
