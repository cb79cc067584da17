"""The CPU time that processes have taken, from their metrics. Compares nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from policyd.cluster.bounds import InvalidAnswer
from policyd.cluster.objects import ObjectClient, ObjectError
from tools.crossover.fetching import Unfetched, fetched
from tools.crossover.model import API_SERVER, POLICYD_PROCESS

_CPU, _STARTED = "process_cpu_seconds_total", "process_start_time_seconds"


class CpuUnreadable(Exception):
    """Why the CPU time of a process cannot be read."""


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Seconds of CPU so far, and what identifies the processes that they are of."""

    seconds: float
    process: tuple[float, ...]


class CpuSource(Protocol):
    """Reads the CPU time of one side; raises CpuUnreadable."""

    name: str

    async def read(self) -> CpuReading:
        """Read it now."""


class ApiServerCpu:
    """The API server that answers on the connection of this client."""

    name = API_SERVER

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    async def read(self) -> CpuReading:
        """Read ``/metrics``, which takes the API server some CPU time itself."""
        try:
            return reading((await self._client.read("metrics", {}, "text/plain")).decode())
        except (ObjectError, InvalidAnswer, UnicodeDecodeError) as error:
            raise CpuUnreadable(f"the CPU time of the API server: {error}") from None


class PolicydCpu:
    """All replicas of policyd, by the URLs of their metrics."""

    name = POLICYD_PROCESS

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls

    async def read(self) -> CpuReading:
        """Read every URL; nothing else waits in the meantime."""
        found = [self._one(url) for url in self._urls]
        started = tuple(part for each in found for part in each.process)
        return CpuReading(sum(each.seconds for each in found), started)

    def _one(self, url: str) -> CpuReading:
        try:
            return reading(fetched(url))
        except (Unfetched, CpuUnreadable) as error:
            raise CpuUnreadable(f"the CPU time of policyd: {url}: {error}") from None


def reading(text: str) -> CpuReading:
    """Return what the metrics of a process say."""
    values: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in (_CPU, _STARTED):
            values[name] = float(value.split()[0])
    if not values.keys() >= {_CPU, _STARTED}:
        raise CpuUnreadable(f"no {_CPU} and {_STARTED} in its metrics")
    return CpuReading(values[_CPU], (values[_STARTED],))
