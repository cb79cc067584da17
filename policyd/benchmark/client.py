"""Sends reviews to a server over TLS, on connections that stay open. Knows nothing of load."""

import ssl
from http.client import HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.errors import ConfigError

TIMEOUT = 10  # seconds, the default of a webhook configuration
_HEADERS = {
    "User-Agent": "policyd-bench",
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
}


class RequestFailed(Exception):
    """A request that got no AdmissionReview. Its text is the kind of the failure."""


class LoadTarget:
    """A server by its URL, to which paths of webhooks are added. ``client_cert`` has the private
    key too, if ``client_key`` is None. Raises ConfigError.
    """

    def __init__(
        self,
        url: str,
        *,
        ca_file: Path | None = None,
        insecure: bool = False,
        client_cert: Path | None = None,
        client_key: Path | None = None,
    ) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 443
        self._path = parts.path.rstrip("/")
        try:
            self._context = ssl.create_default_context(cafile=ca_file)
        except OSError as error:
            raise ConfigError(f"--ca-file {ca_file}: {_reason(error)}") from None
        if insecure:
            self._context.check_hostname = False
            self._context.verify_mode = ssl.CERT_NONE
        if client_cert is not None:
            try:
                self._context.load_cert_chain(client_cert, client_key)
            except OSError as error:
                raise ConfigError(f"--client-cert {client_cert}: {_reason(error)}") from None

    def connection(self) -> "LoadConnection":
        """Return a connection, which opens when it is used."""
        http = HTTPSConnection(self.host, self.port, timeout=TIMEOUT, context=self._context)
        return LoadConnection(http, self._path)


class LoadConnection:
    """One keep-alive connection, which opens again after a failure."""

    def __init__(self, http: HTTPSConnection, path: str) -> None:
        self._http = http
        self._path = path

    def ask(self, request: WebhookRequest) -> bool:
        """Send a request and read its answer: whether it was allowed. Raises RequestFailed."""
        path = f"{self._path}/{request.webhook}?timeout={TIMEOUT}s"
        try:
            self._http.request("POST", path, request.body, _HEADERS)
            response = self._http.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise RequestFailed(_kind(error)) from None
        if response.status != 200:
            raise RequestFailed(f"HTTP {response.status}")
        try:
            answer = orjson.loads(body)["response"]
            allowed, uid = answer["allowed"], answer["uid"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise RequestFailed("not an AdmissionReview") from None
        if uid != request.uid or not isinstance(allowed, bool):
            raise RequestFailed("the answer to another request")
        return allowed

    def close(self) -> None:
        """Close it."""
        self._http.close()


def _kind(error: OSError | HTTPException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionError | ssl.SSLEOFError | IncompleteRead):
        return "connection closed"
    return _reason(error) if isinstance(error, OSError) else "not an answer of HTTP/1.1"


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return error.strerror or str(error)
