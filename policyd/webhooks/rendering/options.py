"""The inputs of rendering besides policies, and how the API server reaches policyd. Only data."""

import base64
from dataclasses import dataclass

from policyd.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The Service through which the API server reaches policyd."""

    namespace: str
    name: str
    port: int = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How webhook configurations are rendered.

    Either ``service`` or ``url``, the address without a path, is set. ``namespace`` is policyd's
    own: every webhook leaves out it and ``excluded_namespaces``. ``timeout`` is in seconds, 1 to
    30; a group with slower policies gets more. ``policy_configmaps`` is the label selector of
    ConfigMaps with policies, whose edits the gate checks; empty: there is no gate.
    """

    name: str = "policyd"
    service: ServiceAddress | None = None
    url: str = ""
    ca_bundle: bytes = b""
    namespace: str = ""
    excluded_namespaces: tuple[str, ...] = ("kube-system",)
    timeout: int = 10
    policy_configmaps: str = ""


def client_config(options: RenderOptions, path: str) -> JSONObject:
    """Return the clientConfig for a path of policyd."""
    found: JSONObject = {}
    if options.service is not None:
        service = options.service
        found["service"] = {
            "namespace": service.namespace,
            "name": service.name,
            "path": path,
            "port": service.port,
        }
    else:
        found["url"] = options.url.rstrip("/") + path
    if options.ca_bundle:
        found["caBundle"] = base64.b64encode(options.ca_bundle).decode()
    return found
