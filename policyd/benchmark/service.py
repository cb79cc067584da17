"""A running server under load: latency, throughput, failures, and its CPU time per request."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from policyd.benchmark.admin import Admin, ServerState
from policyd.benchmark.client import LoadTarget, RequestFailed
from policyd.benchmark.figures import Figure, percentile
from policyd.benchmark.load import LoadOptions, LoadRound, load
from policyd.benchmark.rounds import Report
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.errors import ConfigError

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
MOST, THROUGHPUT, CPU = "max", "throughput", "server cpu"
_UNITS = {THROUGHPUT: "requests/s"}
_BUSY = 0.8  # of one core: above it the client may be what is measured
_HINTS = {
    "TLS": "verify the server with --ca-file FILE, or do not verify it: --insecure",
    "connection refused": "nothing listens there: correct --server, or start policyd there",
    "HTTP 404": "give the URL without the path of a webhook, such as https://127.0.0.1:8443",
}


@dataclass(frozen=True, slots=True)
class ServiceMeasurement:
    """The figures by their names; what was answered and what failed, in all rounds. ``latencies``
    are sorted seconds; ``remarks`` are why figures may mislead.
    """

    figures: dict[str, Figure]
    latencies: Sequence[float]
    denied: int
    failures: Counter[str]
    remarks: tuple[str, ...]

    def percentiles(self) -> dict[str, float]:
        """Return the percentiles of all requests together, in microseconds."""
        return _percentiles(self.latencies)


def try_once(target: LoadTarget, requests: Sequence[WebhookRequest]) -> None:
    """Send one request. Raises ConfigError if it gets no answer."""
    connection = target.connection()
    try:
        connection.ask(requests[0])
    except RequestFailed as failure:
        known = [hint for kind, hint in _HINTS.items() if str(failure).startswith(kind)]
        hint = f"\n  hint: {known[0]}" if known else ""
        raise ConfigError(f"--server: {target.host}:{target.port}: {failure}{hint}") from None
    finally:
        connection.close()


def measure(
    target: LoadTarget,
    requests: Sequence[WebhookRequest],
    options: LoadOptions,
    admin: Admin | None,
    report: Report,
) -> ServiceMeasurement:
    """Load a server. Raises ConfigError if not one request is answered."""
    states: list[ServerState] = []
    own: list[tuple[float, float]] = []

    def boundary(number: int) -> None:
        own.append((time.process_time(), time.perf_counter()))
        if admin is not None:
            states.append(admin.read())
        report("loading the server", number, options.rounds)

    rounds = load(target, requests, options, boundary)
    failures = sum((each.failures for each in rounds), Counter[str]())
    latencies = sorted(each for one in rounds for each in one.latencies)
    if not latencies:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in failures.most_common())
        raise ConfigError(
            f"--server: {target.host}:{target.port}: no answer in {options.seconds:g} s "
            f"({kinds or 'no request ended'})\n  hint: give a longer --duration, and see the log "
            "of the server"
        )
    figures = _figures(rounds, states)
    spent, taken = (last - first for first, last in zip(own[0], own[-1], strict=True))
    remarks = []
    if spent > _BUSY * taken:
        remarks.append(
            f"the client itself used {spent / taken:.0%} of a core: latency and throughput may be "
            "its own; the CPU time of the server is not"
        )
    if len({each.started for each in states}) > 1:
        figures.pop(CPU)
        remarks.append("the server restarted: its CPU time is not known")
    if len({each.generation for each in states}) > 1:
        remarks.append("the policies of the server changed while it was measured")
    denied = sum(each.denied for each in rounds)
    return ServiceMeasurement(figures, latencies, denied, failures, tuple(remarks))


def _figures(rounds: Sequence[LoadRound], states: Sequence[ServerState]) -> dict[str, Figure]:
    """Return the figures of the rounds that have answers."""
    values: dict[str, list[float]] = {}
    for number, each in enumerate(rounds):
        answered = len(each.latencies)
        if not answered:
            continue
        found = _percentiles(sorted(each.latencies))
        found[THROUGHPUT] = answered / each.seconds
        if states:
            spent = states[number + 1].cpu - states[number].cpu
            found[CPU] = spent / answered * 1e6
        for name, value in found.items():
            values.setdefault(name, []).append(value)
    return {
        name: Figure(name, _UNITS.get(name, "us"), tuple(each), unsteady=name == MOST)
        for name, each in values.items()
    }


def _percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """Return percentiles of sorted seconds, in microseconds."""
    found = {name: percentile(latencies, share) * 1e6 for name, share in SHARES.items()}
    return {**found, MOST: latencies[-1] * 1e6}
