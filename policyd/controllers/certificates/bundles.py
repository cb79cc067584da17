"""The caBundles of webhook configurations: what they hold, and whether they hold enough. No I/O."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from policyd.controllers.certificates.material import certificates
from policyd.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """How API servers reach policyd: by a Service, or by a URL without a path."""

    namespace: str
    service: str
    url: str = ""


def clients(configuration: JSONObject, address: WebhookAddress) -> Iterator[JSONObject]:
    """Yield the clientConfigs that reach policyd."""
    for webhook in configuration.get("webhooks") or ():
        client = webhook.get("clientConfig") or {}
        if _is_own(client, address):
            yield client


def published(configurations: Sequence[JSONObject], address: WebhookAddress) -> tuple[bytes, ...]:
    """All certificates in the caBundles; what cannot be read is left out."""
    found = [
        each
        for configuration in configurations
        for client in clients(configuration, address)
        for each in _certificates(client)
    ]
    return tuple(dict.fromkeys(found))


def complete(
    configurations: Sequence[JSONObject], address: WebhookAddress, bundle: Sequence[bytes]
) -> bool:
    """Whether every caBundle has all of ``bundle``."""
    return all(
        set(bundle).issubset(_certificates(client))
        for configuration in configurations
        for client in clients(configuration, address)
    )


def with_bundle(
    configuration: JSONObject, address: WebhookAddress, bundle: Sequence[bytes]
) -> JSONObject | None:
    """The configuration with this bundle for all that reaches policyd; None if nothing changes."""
    changed = deepcopy(configuration)
    for client in clients(changed, address):
        if _certificates(client) != tuple(bundle):
            client["caBundle"] = base64.b64encode(b"".join(bundle)).decode()
    return None if changed == configuration else changed


def _is_own(client: JSONObject, address: WebhookAddress) -> bool:
    if address.url:
        return str(client.get("url") or "").startswith(f"{address.url}/")
    service = client.get("service") or {}
    found = service.get("namespace"), service.get("name")
    return found == (address.namespace, address.service)


def _certificates(client: JSONObject) -> tuple[bytes, ...]:
    try:
        return certificates(base64.b64decode(str(client.get("caBundle") or ""), validate=True))
    except (ValueError, binascii.Error):
        return ()
