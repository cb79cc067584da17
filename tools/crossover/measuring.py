"""Measure: interleaved rounds of dry-run creates, one request at a time on one connection.

Every round sends a few creates to each namespace in turn, and each round begins with another one,
so that noise hits all alike. Only differences within a round are compared.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from statistics import median

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.errors import ConfigError
from tools.crossover.cpu import CpuReading, CpuSource, CpuUnreadable
from tools.crossover.estimates import FEWEST
from tools.crossover.model import Arrangement, CreateRequest, Limits

_MICROS = 1e6
# A denial has one of these statuses, by the reason of the policy. Other errors are no decisions.
_DENIED = range(HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)
_NOT_DENIED = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.TOO_MANY_REQUESTS,
)


@dataclass(slots=True)
class Samples:
    """What one namespace took, for each round: the median latency, and CPU time for one create, by
    source. In microseconds. ``latencies`` are all single ones.
    """

    latencies: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    refused: int = 0
    message: str = ""


@dataclass(slots=True)
class Measured:
    """The samples of each arrangement, in the order of the arrangements."""

    samples: list[Samples]
    rounds: int = 0
    remarks: list[str] = field(default_factory=list)


async def measure(
    client: ObjectClient,
    arrangements: Sequence[Arrangement],
    requests: Sequence[CreateRequest],
    sources: Sequence[CpuSource],
    limits: Limits,
) -> Measured:
    """Run the rounds, until there are enough or the time is over. Raises ConfigError if that was
    after too few of them, and for creates that failed for another reason than a denial.
    """
    found = Measured([Samples() for _ in arrangements])
    end = time.monotonic() + limits.seconds
    for arrangement in arrangements:  # what is done for the first time takes longer
        await _phase(client, arrangement, requests, limits.each, Samples())
    readers = _Readers(sources, found.remarks)
    await readers.read()
    for number in range(limits.rounds):
        if time.monotonic() >= end:
            break
        for step in range(len(arrangements)):
            index = (number + step) % len(arrangements)
            samples = found.samples[index]
            await _phase(client, arrangements[index], requests, limits.each, samples)
            for name, seconds in (await readers.spent()).items():
                samples.cpu.setdefault(name, []).append(seconds / limits.each * _MICROS)
        found.rounds += 1
    if found.rounds < FEWEST:
        raise ConfigError(
            f"the time was over after {found.rounds} of {limits.rounds} rounds, and at least "
            f"{FEWEST} are needed: raise --duration or lower --requests"
        )
    for samples in found.samples:
        samples.cpu = {name: samples.cpu[name] for name in readers.readable}
    return found


async def create(
    client: ObjectClient, request: CreateRequest, arrangement: Arrangement, *, accepted: bool = True
) -> ObjectError | None:
    """Send one dry-run create; returns the denial if it is denied. Raises ConfigError for any other
    failure; with ``accepted`` also for a denial where there are no policies.
    """
    try:
        await client.create(request.path(arrangement.namespace), request.body, dry_run=True)
    except ObjectError as error:
        denied = error.status in _DENIED and error.status not in _NOT_DENIED
        if not denied or (arrangement.webhook is None and accepted):
            raise ConfigError(f"{request.label}: {error}") from None
        return error
    return None


async def _phase(
    client: ObjectClient,
    arrangement: Arrangement,
    requests: Sequence[CreateRequest],
    number: int,
    samples: Samples,
) -> None:
    taken: list[float] = []
    for index in range(number):
        request = requests[index % len(requests)]
        begin = time.perf_counter_ns()
        denied = await create(client, request, arrangement)
        taken.append((time.perf_counter_ns() - begin) / 1e3)
        if denied is not None:
            samples.refused += 1
            samples.message = samples.message or f"{request.label}: {_said(denied)}"
    samples.latencies += taken
    samples.medians.append(median(taken))


def _said(denied: ObjectError) -> str:
    """Return the API server's words."""
    return str(denied.body.get("message") or denied)


class _Readers:
    """Reads all sources after each phase. A source that fails once is not read again."""

    def __init__(self, sources: Sequence[CpuSource], remarks: list[str]) -> None:
        self._sources = {each.name: each for each in sources}
        self._last: dict[str, CpuReading] = {}
        self._remarks = remarks

    @property
    def readable(self) -> list[str]:
        """Return the names of the sources that never failed."""
        return list(self._sources)

    async def read(self) -> None:
        """Read where a phase begins."""
        for name, source in list(self._sources.items()):
            try:
                now = await source.read()
            except CpuUnreadable as error:
                self._drop(name, str(error))
                continue
            if name in self._last and now.process != self._last[name].process:
                self._drop(name, f"the CPU time of {name}: another process answered meanwhile")
            else:
                self._last[name] = now

    async def spent(self) -> dict[str, float]:
        """Read where a phase ends and the next one begins; returns the seconds of CPU between."""
        before = dict(self._last)
        await self.read()
        return {name: self._last[name].seconds - before[name].seconds for name in self._sources}

    def _drop(self, name: str, why: str) -> None:
        del self._sources[name]
        self._remarks.append(f"not measured: {why}")
