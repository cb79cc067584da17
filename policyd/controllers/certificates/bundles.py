"""The caBundles of webhook configurations: reads and checks them, and finds the bundle of a mounted
certificate: ca.crt in the same directory, as cert-manager and others write it. Without that file
another program, such as cainjector, owns the caBundle.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from policyd.controllers.certificates.material import certificates
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.tls.certificates import read_file
from policyd.tls.pem import KeyPair
from policyd.tls.verifying import refusal


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """How API servers reach policyd: through a Service, or at a URL without a path."""

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
    """All certificates in the caBundles, without unreadable ones."""
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
    """The configuration with this bundle for all policyd clients; None if nothing changes."""
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


# How long a replaced CA stays in the bundle: kubelets update the mounted files of replicas within
# some two minutes.
OVERLAP_SECONDS = 300.0


class MountedBundle:
    """The CAs of the certificate in a file."""

    def __init__(self, cert: Path, log: Log, clock: Callable[[], float] = monotonic) -> None:
        self._file = cert.parent / "ca.crt"
        self._log = log
        self._clock = clock
        self._current: tuple[bytes, ...] = ()
        self._former: dict[bytes, float] = {}  # when to drop each
        self._warned = ""

    def bundle(self, pair: KeyPair) -> bytes:
        """The bundle for the served certificate; empty if none verifies it."""
        found = self._read(pair)
        now = self._clock()
        for each in self._current:
            if each not in found:
                self._former.setdefault(each, now + OVERLAP_SECONDS)
        self._current = found
        self._former = {
            each: until for each, until in self._former.items() if until > now and each not in found
        }
        return b"".join([*found, *self._former]) if found else b""

    def _read(self, pair: KeyPair) -> tuple[bytes, ...]:
        if not self._file.exists():
            return ()
        try:
            found = certificates(read_file(self._file, "CA"))
            problem = refusal(b"".join(found), pair, ())
        except (ConfigError, ValueError) as error:
            found, problem = (), str(error)
        if problem and problem != self._warned:
            message = f"{self._file} does not verify the certificate next to it: {problem}"
            self._log.write("warning", "certificate", f"{message}; it is not registered")
        self._warned = problem
        return () if problem else found
