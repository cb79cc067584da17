"""What ``policyd webhooks status`` checks of a cluster beside the reach of policies: the Service,
caBundle, and differences from what would be rendered. Prints nothing.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from policyd.json_types import JSON, JSONObject
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

if TYPE_CHECKING:
    from policyd.cluster.commands import Objects


def own_webhooks(configuration: JSONObject, options: RenderOptions) -> JSONObject:
    """Return a configuration with only the webhooks that call policyd."""
    webhooks = [each for each in configuration.get("webhooks") or () if _calls(each, options)]
    return {**configuration, "webhooks": webhooks}


def _calls(webhook: JSONObject, options: RenderOptions) -> bool:
    config = webhook.get("clientConfig") or {}
    if options.service is None:
        wanted, given = urlsplit(options.url), urlsplit(config.get("url") or "")
        return (given.scheme, given.netloc) == (wanted.scheme, wanted.netloc)
    service = config.get("service") or {}
    wanted_service = (options.service.namespace, options.service.name)
    return (service.get("namespace"), service.get("name")) == wanted_service


def bundle_faults(configurations: Sequence[JSONObject]) -> Iterator[str]:
    """Yield the webhooks without a caBundle: the API server then trusts only its system roots."""
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            if not webhook["clientConfig"].get("caBundle"):
                yield f"{webhook['name']} has no caBundle"


def service_faults(objects: "Objects", service: ServiceAddress) -> Iterator[str]:
    """Yield what is wrong with the Service and its endpoints."""
    from policyd.cluster.objects import ObjectError

    label = f"Service {service.namespace}/{service.name}"
    try:
        found = objects.get(f"api/v1/namespaces/{service.namespace}/services/{service.name}")
    except ObjectError as error:
        if error.reason != "NotFound":
            raise
        yield f"{label} does not exist"
        return
    ports = [each.get("port") for each in (found.get("spec") or {}).get("ports") or ()]
    if service.port not in ports:
        yield f"{label} has no port {service.port}"
    if not _ready(objects, service):
        yield f"{label} has no ready endpoint"


def _ready(objects: "Objects", service: ServiceAddress) -> int:
    """Return the number of ready endpoints."""
    pages = objects.list_pages(
        f"apis/discovery.k8s.io/v1/namespaces/{service.namespace}/endpointslices",
        {"labelSelector": f"kubernetes.io/service-name={service.name}"},
    )
    return sum(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for page in pages
        for slice_ in page.get("items") or ()
        for endpoint in slice_.get("endpoints") or ()
    )


def drift(wanted: Sequence[JSONObject], actual: Sequence[JSONObject], name: str) -> Iterator[str]:
    """Yield where the configurations of a cluster differ from rendered ones. Fields that are not
    rendered belong to others.
    """
    by_kind = {
        each["kind"]: each
        for each in actual
        if each["metadata"]["name"] == name and each.get("webhooks")
    }
    for each in wanted:
        kind = each["kind"]
        found = by_kind.pop(kind, None)
        if found is None:
            yield f"there is no {kind} {name}"
            continue
        hooks = {hook["name"]: hook for hook in found.get("webhooks") or ()}
        for hook in each["webhooks"]:
            other = hooks.pop(hook["name"], None)
            if other is None:
                yield f"{kind} {name} has no webhook {hook['name']}"
                continue
            for field, value in hook.items():
                if not _same(value, other.get(field)):
                    yield f"{hook['name']} has another value of {field}"
            if "matchConditions" not in hook and other.get("matchConditions"):
                yield f"{hook['name']} has another value of matchConditions"
        for surplus in hooks:
            yield f"{kind} {name} has the webhook {surplus}, which no policy needs"
    for kind in by_kind:
        yield f"{kind} {name} is not needed by any policy"


def _same(wanted: JSON, actual: JSON) -> bool:
    """Whether a value is as rendered; fields of objects that are not rendered do not count."""
    if isinstance(wanted, dict):
        if not wanted:
            return not actual
        return isinstance(actual, dict) and all(
            _same(value, actual.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(actual, list)
            and len(wanted) == len(actual)
            and all(map(_same, wanted, actual))
        )
    return bool(wanted == actual)
