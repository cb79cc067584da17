"""Sends reviews to a webhook over TLS, on connections that stay open. Knows nothing of load."""

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject

TIMEOUT = 10  # seconds, the default of a webhook configuration
# Bytes of a response: the patch may be as large as the object, and is in base64.
MAX_RESPONSE_BYTES = 8 * 2**20
_CLOSED, _NO_REVIEW = "connection closed", "not an AdmissionReview"
_HEADERS = {"Accept": "application/json, */*", "Content-Type": "application/json"}


class RequestFailed(Exception):
    """A request that got no AdmissionReview. Its text is the kind of the failure."""


class LoadTarget:
    """A server by its URL, to which paths of webhooks are added. ``authorities`` are certificates
    (PEM) to trust, instead of those in ``ca_file``. ``client_cert`` has the private key too, if
    ``client_key`` is None. Raises ConfigError.
    """

    def __init__(
        self,
        url: str,
        *,
        ca_file: Path | None = None,
        authorities: str = "",
        insecure: bool = False,
        client_cert: Path | None = None,
        client_key: Path | None = None,
        agent: str = "policyd-bench",
        timeout: float | None = None,
    ) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 443
        self._path = parts.path.rstrip("/")
        self._headers = {"User-Agent": agent, **_HEADERS}
        self._timeout = timeout or TIMEOUT
        try:
            self._context = ssl.create_default_context(cafile=ca_file, cadata=authorities or None)
        except OSError as error:
            where = f"--ca-file {ca_file}" if ca_file else f"the authorities of {url}"
            raise ConfigError(f"{where}: {_reason(error)}") from None
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
        http = HTTPSConnection(self.host, self.port, timeout=self._timeout, context=self._context)
        return LoadConnection(http, self._path, self._headers)


class LoadConnection:
    """One keep-alive connection, which opens again after a failure."""

    def __init__(self, http: HTTPSConnection, path: str, headers: Mapping[str, str]) -> None:
        self._http = http
        self._path = path
        self._headers = headers

    def ask(self, request: WebhookRequest) -> bool:
        """Send a request and read its answer: whether it was allowed. Raises RequestFailed."""
        return bool(response_to(request.uid, self.post(request.body, request.webhook))["allowed"])

    def post(self, body: bytes, webhook: str = "") -> JSON:
        """Send a review to a webhook, or to the URL itself; return the review that answers it.
        Raises RequestFailed.
        """
        path = f"{self._path}/{webhook}" if webhook else self._path
        seconds = max(1, round(self._http.timeout or TIMEOUT))
        try:
            self._http.request("POST", f"{path}?timeout={seconds}s", body, self._headers)
            response = self._http.getresponse()
            data = response.read(MAX_RESPONSE_BYTES + 1)
        except (OSError, HTTPException) as error:
            self.close()
            raise RequestFailed(_kind(error)) from None
        if response.length or len(data) > MAX_RESPONSE_BYTES:  # a part was not read
            self.close()
        if len(data) > MAX_RESPONSE_BYTES:
            raise RequestFailed(f"a response of more than {MAX_RESPONSE_BYTES // 2**20} MiB")
        if response.length:
            raise RequestFailed(_CLOSED)
        if response.status != HTTPStatus.OK:
            raise RequestFailed(f"HTTP {response.status}")
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            raise RequestFailed(_NO_REVIEW) from None

    def close(self) -> None:
        """Close it."""
        self._http.close()


def response_to(uid: object, review: JSON) -> JSONObject:
    """Return the response in an AdmissionReview that answers the request with this uid. Raises
    RequestFailed for anything else.
    """
    try:
        response: JSONObject = review["response"]
        allowed, answered = response["allowed"], response["uid"]
    except (KeyError, TypeError):
        raise RequestFailed(_NO_REVIEW) from None
    if answered != uid or not isinstance(allowed, bool):
        raise RequestFailed("the answer to another request")
    return response


def _kind(error: OSError | HTTPException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionError | ssl.SSLEOFError | IncompleteRead):
        return _CLOSED
    return _reason(error) if isinstance(error, OSError) else "not an answer of HTTP/1.1"


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return error.strerror or str(error)
