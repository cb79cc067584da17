"""A client of a running server's admin port, for commands. Knows none of its pages."""

import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from policyd.errors import ConfigError

_TIMEOUT = 10.0  # seconds
_MOST_BYTES = 256 * 2**20
HINT = "give the admin port of policyd serve (--admin-bind), such as http://127.0.0.1:8080"


class AdminError(ConfigError):
    """The admin port is not reachable, or refuses. ``status`` is 0 without an answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class AdminPort:
    """The admin port of a server, by its URL; ``token_option`` is the option that names the token
    file. The file is read for each request, so that a new token is used at once.
    """

    def __init__(self, url: str, token_file: Path | None, token_option: str) -> None:
        if not url.startswith(("http://", "https://")):  # urllib would also read files
            raise ConfigError(f"--admin {url}: expected a URL of HTTP\n  hint: {HINT}")
        self.url = url.rstrip("/")
        self._token_file = token_file
        self._token_option = token_option
        self._headers()

    def get(self, path: str, hint: str = HINT) -> bytes:
        """Return the body at a path below the URL. Raises AdminError, with ``hint`` if the server
        is not reachable or not policyd.
        """
        url = self.url + path.partition("?")[0]
        try:
            request = urllib.request.Request(self.url + path, headers=self._headers())  # noqa: S310 - of HTTP
            with _OPENER.open(request, timeout=_TIMEOUT) as answer:
                content: bytes = answer.read(_MOST_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                advice = f"give {self._token_option}" if error.code == 401 else hint
                raise AdminError(
                    f"--admin {url}: answered {error.code}\n  hint: {advice}", error.code
                ) from None
        except (OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            reason = getattr(reason, "strerror", None) or reason
            raise AdminError(f"--admin {url}: {reason}\n  hint: {hint}") from None
        return content

    def _headers(self) -> dict[str, str]:
        if self._token_file is None:
            return {}
        try:
            token = self._token_file.read_text().strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"{self._token_option} {self._token_file}: {reason}") from None
        if not (token and token.isascii() and token.isprintable()):
            raise ConfigError(f"{self._token_option} {self._token_file}: expected a token")
        return {"Authorization": f"Bearer {token}"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, which would pass the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: its status is the error."""


_OPENER = urllib.request.build_opener(_NoRedirects)
