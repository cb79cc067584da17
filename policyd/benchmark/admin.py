"""What a server says of itself on its admin port: CPU time, and the policies in use."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from policyd.admin_port import HINT, AdminPort
from policyd.errors import ConfigError

_CPU, _STARTED = "process_cpu_seconds_total", "process_start_time_seconds"
_SET = "policyd_policy_set_info{"


@dataclass(frozen=True, slots=True)
class ServerState:
    """The seconds of CPU so far, when the process started, and the policies in use: their
    generation, or "".
    """

    cpu: float
    started: float
    generation: str


class Admin:
    """The metrics of a server, by the URL of its admin port."""

    def __init__(self, url: str, token_file: Path | None = None) -> None:
        self._port = AdminPort(url, token_file, "--admin-token-file")
        self._path = "" if urlsplit(url).path.strip("/") else "/metrics"

    def read(self) -> ServerState:
        """Read the metrics. Raises ConfigError."""
        text = self._port.get(self._path).decode(errors="replace")
        found = _values(text)
        if found.keys() < {_CPU, _STARTED}:
            url = self._port.url + self._path
            raise ConfigError(f"--admin {url}: no {_CPU} in its metrics\n  hint: {HINT}")
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
