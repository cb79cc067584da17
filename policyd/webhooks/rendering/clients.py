"""How the API server reaches policyd: the clientConfig of a webhook. Only its JSON."""

import base64

from policyd.json_types import JSONObject
from policyd.webhooks.rendering.options import RenderOptions


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
