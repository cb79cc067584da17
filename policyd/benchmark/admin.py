"""What a server says of itself on its admin port: CPU time, and the policies in use."""

import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from policyd.errors import ConfigError

_TIMEOUT = 10.0  # seconds
_CPU, _STARTED = "process_cpu_seconds_total", "process_start_time_seconds"
_SET = "policyd_policy_set_info{"
_HINT = "give the admin port of policyd serve (--admin-bind), such as http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class ServerState:
    """The seconds of CPU so far, when the process started, and the policies in use: their
    generation, or "".
    """

    cpu: float
    started: float
    generation: str


class Admin:
    """The admin port of a server, by its URL."""

    def __init__(self, url: str, token_file: Path | None = None) -> None:
        if not url.startswith(("http://", "https://")):  # urllib would read files, too
            raise ConfigError(f"--admin {url}: expected a URL of HTTP\n  hint: {_HINT}")
        path = "" if urlsplit(url).path.strip("/") else "/metrics"
        self._url = url.rstrip("/") + path
        self._headers = {}
        if token_file is not None:
            try:
                self._headers["Authorization"] = f"Bearer {token_file.read_text().strip()}"
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise ConfigError(f"--admin-token-file {token_file}: {reason}") from None

    def read(self) -> ServerState:
        """Read the metrics. Raises ConfigError."""
        try:
            request = urllib.request.Request(self._url, headers=self._headers)  # noqa: S310 - of HTTP
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
                text = answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                hint = "give --admin-token-file" if error.code == 401 else _HINT
                raise ConfigError(
                    f"--admin {self._url}: answered {error.code}\n  hint: {hint}"
                ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise ConfigError(f"--admin {self._url}: {reason}\n  hint: {_HINT}") from None
        found = _values(text)
        if found.keys() < {_CPU, _STARTED}:
            raise ConfigError(f"--admin {self._url}: no {_CPU} in its metrics\n  hint: {_HINT}")
        return ServerState(found[_CPU], found[_STARTED], _generation(text))


def _values(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in (_CPU, _STARTED):
            found[name] = float(value.split()[0])
    return found


def _generation(text: str) -> str:
    for line in text.splitlines():
        if line.startswith(_SET) and line.rpartition(" ")[2] in ("1", "1.0"):
            return line.partition('generation="')[2].partition('"')[0]
    return ""
