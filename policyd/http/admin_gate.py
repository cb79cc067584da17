"""Restricts access to the admin port.

- The Host header must be an IP address, localhost, the name of this Pod or a name that
  ``--admin-host`` allows. A web page that reaches a Pod by DNS rebinding sends another name.
- With ``--admin-token-file`` metrics, policies and denials need that bearer token; probes never do.
- Without a token, only loopback clients see denials, error messages and file names, which reveal
  users' actions, and the content and location of policies.
- Each address may send a limited number of requests per second, so that a flood does not delay
  reviews.
"""

import hmac
import ipaddress
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import orjson

from policyd.errors import ConfigError
from policyd.http.messages import App, ASGIScope, Header, Receive, Send, respond
from policyd.token_bucket import AddressPace

# Set in scope["state"]: whether the client may see denials, error messages and file names.
TRUSTED = "policyd.trusted"
# Paths that need the token, with everything below them.
GUARDED = ("/metrics", "/policies", "/denials")
# Requests of one address: per second, and in a burst. Probes and scrapes come every few seconds.
RATE = 200.0
BURST = 400


class AdminGate:
    """An ASGI app that wraps another app and refuses some of its requests."""

    def __init__(
        self,
        app: App,
        hosts: Sequence[str] = (),
        token_file: Path | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._app = app
        # The host name is the name of the Pod.
        names = (*hosts, "localhost", socket.gethostname())
        self._hosts = {name.lower().rstrip(".") for name in names}
        self._token_file = token_file
        self._pace = AddressPace(BURST, RATE, clock)
        if token_file is not None:
            self._token(token_file)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it to the app."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("", 0))[0]
        if not self._pace.take(address):
            await _refuse(scope, send, 429, "too many requests", ((b"retry-after", b"1"),))
            return
        headers = dict(scope["headers"])
        if not self._known(headers.get(b"host", b"")):
            message = "expected an IP address or a known name in the Host header (see --admin-host)"
            await _refuse(scope, send, 421, message)
            return
        trusted = _is_loopback(address)
        # Only guarded paths read the token: an unreadable file must not fail a probe.
        if self._token_file is not None and _is_guarded(scope["path"]):
            try:
                trusted = self._permits(headers.get(b"authorization", b""), self._token_file)
            except ConfigError:
                await _refuse(scope, send, 503, "cannot read the token in --admin-token-file")
                return
            if not trusted:
                challenge = ((b"www-authenticate", b'Bearer realm="policyd"'),)
                await _refuse(scope, send, 401, "expected Authorization: Bearer TOKEN", challenge)
                return
        scope.setdefault("state", {})[TRUSTED] = trusted
        await self._app(scope, receive, send)

    def _known(self, host: bytes) -> bool:
        """Whether a Host header is allowed; browsers always send one, HTTP/1.0 clients may not."""
        name = host.decode("latin-1").lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        else:
            name = name.partition(":")[0].rstrip(".")
        return not name or name in self._hosts or _address(name) is not None

    def _permits(self, authorization: bytes, file: Path) -> bool:
        scheme, _, given = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token(file))

    @staticmethod
    def _token(file: Path) -> bytes:
        """Return the current token. The file is read for each request, so that a new token is valid
        at once.
        """
        try:
            token = file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"--admin-token-file {file}: {error.strerror}") from None
        if not token:
            raise ConfigError(f"--admin-token-file {file}: expected a token; the file is empty")
        return token


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    address = _address(name)
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped is not None and mapped.is_loopback


def _is_guarded(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in GUARDED)


async def _refuse(
    scope: ASGIScope, send: Send, status: int, message: str, headers: tuple[Header, ...] = ()
) -> None:
    body = orjson.dumps({"error": message})
    await respond(scope, send, status, body, headers=headers, closing=True)
