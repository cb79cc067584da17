"""What stands before the admin port: who may ask for what there, and how often.

- The Host header must be an IP address, localhost, this Pod's name or one that ``--admin-host``
  allows: a web page whose name resolves to a Pod's address (DNS rebinding) has another one.
- With ``--admin-token-file`` metrics and policies need that bearer token; probes never do.
- Without it texts of errors and names of files are shown to loopback only: strangers read from them
  what policies look for and where they come from.
- An address has so many requests a second, so that a flood here does not keep reviews waiting.
"""

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import monotonic

import orjson

from policyd.errors import ConfigError
from policyd.http.messages import ASGIScope, Header, Receive, Send, respond

# Set in scope["state"]: whether the client may see everything.
TRUSTED = "policyd.trusted"
# Paths that show what a token is needed for, with all below them.
GUARDED = ("/metrics", "/policies")
# Requests of one address: a second, and at once. A probe or a scrape is one in seconds.
RATE = 200.0
BURST = 400
# Addresses remembered before those that were quiet are forgotten.
REMEMBERED = 1024

App = Callable[[ASGIScope, Receive, Send], Awaitable[None]]


class AdminGate:
    """An ASGI app before another."""

    def __init__(
        self,
        app: App,
        hosts: Sequence[str] = (),
        token_file: Path | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._app = app
        self._hosts = {name.lower().rstrip(".") for name in (*hosts, "localhost", _own_name())}
        self._token_file = token_file
        self._clock = clock
        # When each address has made up for its requests so far.
        self._even: dict[str, float] = {}
        if token_file is not None:
            self._token(token_file)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer, or let the app do so."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("", 0))[0]
        if not self._in_time(address):
            await _refuse(scope, send, 429, "too many requests", ((b"retry-after", b"1"),))
            return
        headers = dict(scope["headers"])
        if not self._known(headers.get(b"host", b"")):
            message = "expected an IP address or a known name in the Host header (see --admin-host)"
            await _refuse(scope, send, 421, message)
            return
        trusted = _is_loopback(address)
        # Nothing else needs the token: a file that cannot be read must not fail a probe.
        if self._token_file is not None and _is_guarded(scope["path"]):
            try:
                trusted = self._permits(headers.get(b"authorization", b""), self._token_file)
            except ConfigError:
                await _refuse(scope, send, 503, "the file of --admin-token-file cannot be used")
                return
            if not trusted:
                challenge = ((b"www-authenticate", b'Bearer realm="policyd"'),)
                await _refuse(scope, send, 401, "expected Authorization: Bearer TOKEN", challenge)
                return
        scope.setdefault("state", {})[TRUSTED] = trusted
        await self._app(scope, receive, send)

    def _in_time(self, address: str) -> bool:
        now = self._clock()
        even = max(now, self._even.get(address, 0.0)) + 1 / RATE
        if even - now > BURST / RATE:
            return False
        if len(self._even) >= REMEMBERED:
            self._even = {each: then for each, then in self._even.items() if then > now}
        self._even[address] = even
        return True

    def _known(self, host: bytes) -> bool:
        """Whether a Host header is ours; one that is absent (HTTP/1.0) comes from no browser."""
        name = host.decode("latin-1").lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        else:
            name = name.partition(":")[0].rstrip(".")
        return not name or name in self._hosts or _is_address(name)

    def _permits(self, authorization: bytes, file: Path) -> bool:
        scheme, _, given = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token(file))

    @staticmethod
    def _token(file: Path) -> bytes:
        """The token now: the file is read each time, so that a new one counts at once."""
        try:
            token = file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"--admin-token-file {file}: {error.strerror}") from None
        if not token:
            raise ConfigError(f"--admin-token-file {file}: expected a token, the file is empty")
        return token


def _own_name() -> str:
    """What a Pod calls itself."""
    return socket.gethostname()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    if not _is_address(address):
        return False
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _is_guarded(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in GUARDED)


async def _refuse(
    scope: ASGIScope, send: Send, status: int, message: str, headers: tuple[Header, ...] = ()
) -> None:
    text = orjson.dumps({"error": message})
    await respond(scope, send, status, text, headers=headers, closing=True)
