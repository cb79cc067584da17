"""Sends AdmissionReviews to webhooks: to a URL over TLS, or to a Service through the API server's
proxy. Does not interpret answers.
"""

import base64
import binascii
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from policyd.admission.review import API_VERSION, KIND
from policyd.benchmark.client import LoadConnection, LoadTarget, RequestFailed, response_to
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.webhooks.calls import Hook
from policyd.webhooks.rendering.options import ServiceAddress

if TYPE_CHECKING:
    from policyd.cluster.commands import Objects

_AGENT = "policyd-compare"


@dataclass(frozen=True, slots=True)
class Reach:
    """How to reach webhooks. ``kubeconfig`` and ``context`` are for Services; each call may take
    ``timeout`` seconds.
    """

    kubeconfig: Path | None
    context: str | None
    timeout: float


def address_of(hook: Hook) -> str:
    """Return the URL of a webhook; for a Service the path below the API server."""
    client = object_in(hook.fields, "clientConfig")
    if client.get("url"):
        return str(client["url"])
    service = service_of(hook)
    path = str(object_in(client, "service").get("path") or "").lstrip("/")
    where = f"https:{service.name}:{service.port}"
    return f"api/v1/namespaces/{service.namespace}/services/{where}/proxy/{path}"


def service_of(hook: Hook) -> ServiceAddress:
    """Return the Service of a webhook, with empty names if it has none."""
    given = object_in(hook.fields, "clientConfig", "service")
    port = given.get("port")
    return ServiceAddress(
        str(given.get("namespace", "")), str(given.get("name", "")), port if port else 443
    )


class Sender:
    """Connections to webhooks, for one thread at a time; the stack closes them. Each request is
    sent once.
    """

    def __init__(self, reach: Reach, stack: ExitStack) -> None:
        self._reach = reach
        self._open = stack
        self._connections: dict[str, LoadConnection] = {}
        self._cluster: Objects | None = None

    def ask(self, hook: Hook, request: JSONObject) -> JSONObject:
        """Send a request under a new uid, and return the response. Raises RequestFailed."""
        uid = str(uuid4())
        review = {"apiVersion": API_VERSION, "kind": KIND, "request": {**request, "uid": uid}}
        by_url = object_in(hook.fields, "clientConfig").get("url")
        return response_to(
            uid, self._direct(hook, review) if by_url else self._proxied(hook, review)
        )

    def _direct(self, hook: Hook, review: JSONObject) -> JSON:
        url = address_of(hook)
        if url not in self._connections:
            authorities = _authorities(hook)
            target = LoadTarget(
                url, authorities=authorities, agent=_AGENT, timeout=self._reach.timeout
            )
            self._connections[url] = target.connection()
            self._open.callback(self._connections[url].close)
        return self._connections[url].post(json_bytes(review))

    def _proxied(self, hook: Hook, review: JSONObject) -> JSON:
        # Imported here because the client library may be missing, which open_objects reports.
        from policyd.cluster.commands import open_objects

        if self._cluster is None:
            reach = self._reach
            opening = open_objects(reach.kubeconfig, reach.context, reach.timeout, retries=False)
            self._cluster = self._open.enter_context(opening)
        from policyd.cluster.objects import ObjectError

        try:
            return self._cluster.create(address_of(hook), review)
        except ObjectError as error:
            raise RequestFailed(str(error)) from None


def _authorities(hook: Hook) -> str:
    """Return the certificates of caBundle (PEM); empty: the system's."""
    try:
        data = base64.b64decode(object_in(hook.fields, "clientConfig").get("caBundle") or "")
        return data.decode("ascii")
    except (binascii.Error, UnicodeDecodeError, TypeError):
        raise ConfigError(f"webhook {hook.name}: caBundle is not base64 of PEM") from None
