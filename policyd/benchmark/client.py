"""A bare HTTP/1.1 client over TLS, as cheap as it can be: it must not be what is measured. Knows
nothing of load.
"""

import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.errors import ConfigError

TIMEOUT = 10.0  # seconds, those of a webhook configuration unless it says otherwise
_CHUNK = 65536
_PORT = 443


class RequestFailed(Exception):
    """A request that got no AdmissionReview. Its text is the kind of the failure."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the server is verified, and the certificate that is shown to it."""

    ca_file: Path | None = None
    insecure: bool = False
    server_name: str = ""
    client_cert: Path | None = None
    client_key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context of connections. Raises ConfigError."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise ConfigError(f"--ca-file {self.ca_file}: {_reason(error)}") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_cert is not None:
            try:
                context.load_cert_chain(self.client_cert, self.client_key)
            except OSError as error:
                raise ConfigError(f"--client-cert {self.client_cert}: {_reason(error)}") from None
        return context


class LoadTarget:
    """A server by its URL, to which paths of webhooks are added."""

    def __init__(self, url: str, trust: Trust) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or _PORT
        self._netloc, self._path = parts.netloc, parts.path.rstrip("/")
        self._context = trust.context()
        self._name = trust.server_name or self.host

    def connect(self) -> "LoadConnection":
        """Open a connection. Raises RequestFailed."""
        with ExitStack() as opened:
            try:
                raw = opened.enter_context(
                    socket.create_connection((self.host, self.port), TIMEOUT)
                )
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                secure = self._context.wrap_socket(raw, server_hostname=self._name)
            except OSError as error:
                raise RequestFailed(_kind(error)) from None
            opened.pop_all()
        return LoadConnection(secure)

    def prepared(self, requests: Sequence[WebhookRequest]) -> list["Prepared"]:
        """Return the bytes to send for requests."""
        return [self._prepared(each) for each in requests]

    def _prepared(self, request: WebhookRequest) -> "Prepared":
        head = (
            f"POST {self._path}/{request.webhook}?timeout={TIMEOUT:.0f}s HTTP/1.1\r\n"
            f"Host: {self._netloc}\r\nUser-Agent: policyd-bench\r\n"
            f"Content-Length: {len(request.body)}\r\n"
            "Accept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
        )
        uid = orjson.loads(request.body)["request"].get("uid")
        return Prepared(head.encode() + request.body, uid)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The bytes of a request, and the uid that its answer must have."""

    data: bytes
    uid: object


class LoadConnection:
    """One keep-alive connection; of no use after RequestFailed."""

    def __init__(self, connected: ssl.SSLSocket) -> None:
        self._socket = connected
        self._rest = b""

    def ask(self, request: Prepared) -> bool:
        """Send a request and read its answer: whether it was allowed. Raises RequestFailed."""
        try:
            self._socket.sendall(request.data)
            status, body = self._receive()
        except OSError as error:
            raise RequestFailed(_kind(error)) from None
        if status != 200:
            raise RequestFailed(f"HTTP {status}")
        try:
            response = orjson.loads(body)["response"]
            allowed, uid = response["allowed"], response["uid"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise RequestFailed("not an AdmissionReview") from None
        if uid != request.uid or not isinstance(allowed, bool):
            raise RequestFailed("the answer to another request")
        return allowed

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _receive(self) -> tuple[int, bytes]:
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._read()
        head = data[:end].lower()
        status = head[9:12]
        length = head.partition(b"content-length:")[2].split(b"\r\n", 1)[0].strip()
        if not status.isdigit() or not length.isdigit():
            raise RequestFailed("not an answer of HTTP/1.1 with Content-Length")
        whole = end + 4 + int(length)
        while len(data) < whole:
            data += self._read()
        self._rest = data[whole:]
        return int(status), data[end + 4 : whole]

    def _read(self) -> bytes:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise RequestFailed("connection closed")
        return data


def _kind(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionError | ssl.SSLEOFError):
        return "connection closed"
    return _reason(error)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return error.strerror or str(error)
