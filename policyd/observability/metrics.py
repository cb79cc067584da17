"""Prometheus: a Recorder that counts, and a collector that hands the counts over at each scrape.

On the request path nothing but integers is touched; names and labels are put together when somebody
scrapes. The names are API (docs/run/metrics.md).
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import time
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from policyd import __version__
from policyd._core.counting.histogram import Histogram
from policyd.admission.recorder import Happening, LookupResult, Phase, Question, Result, ShedReason
from policyd.admission.review import AdmissionRequest
from policyd.http.limits import InFlight
from policyd.observability.logs import Log
from policyd.policy.live.store import PolicySet
from policyd.tls.handshakes import REFUSALS, Refusal

WEBHOOKS = ("validate", "mutate")
PHASES: tuple[Phase, ...] = ("decode", "queue", "match", "lookup", "evaluate", "patch", "encode")
QUESTIONS: tuple[Question, ...] = (
    "authorizer",
    "namespace",
    "param",
    "kind",
    "definition",
)
CAPTURES = ("written", "dropped", "failed")
SHED_REASONS: tuple[ShedReason, ...] = ("requests", "bytes", "stalled", "deadline")

# Seconds: from an answer without any policy to the API server's longest timeout.
DURATIONS = (
    *(50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
# Phases are parts of that: from 5 µs.
PHASE_DURATIONS = (5e-6, 10e-6, 25e-6, *DURATIONS)


class PrometheusRecorder:
    """Counts what happens; the log gets what people want to read of it."""

    def __init__(self, log: Log | None = None) -> None:
        self._log = log
        self.requests: dict[tuple[str, str, str], int] = {}
        self.durations = {webhook: Histogram(DURATIONS) for webhook in WEBHOOKS}
        self.phases = {phase: Histogram(PHASE_DURATIONS) for phase in PHASES}
        self.sheds = dict.fromkeys(SHED_REASONS, 0)
        self.lookups: dict[tuple[str, str], int] = {}
        self.lookup_durations = {question: Histogram(DURATIONS) for question in QUESTIONS}
        self.captures = dict.fromkeys(CAPTURES, 0)
        self.refusals = dict.fromkeys(REFUSALS, 0)
        self.reloads = {"success": 0, "error": 0}
        self.last_successful_reload = 0.0
        self.patches: dict[str, int] = {}
        self.conflicts: dict[str, int] = {}

    def request(self, webhook: str, operation: str, result: Result, nanoseconds: int) -> None:
        """A request was answered."""
        key = (webhook, operation, result)
        self.requests[key] = self.requests.get(key, 0) + 1
        self.durations[webhook].observe(nanoseconds)
        if self._log is not None:
            self._log.flush()

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """One phase of one request ended."""
        self.phases[phase].observe(nanoseconds)

    def shed(self, reason: ShedReason) -> None:
        """A request was refused for lack of room, or came too late to be evaluated."""
        self.sheds[reason] += 1

    def lookup(self, what: Question, result: LookupResult, nanoseconds: int) -> None:
        """The cluster was asked something."""
        self.lookups[what, result] = self.lookups.get((what, result), 0) + 1
        self.lookup_durations[what].observe(nanoseconds)

    def captured(self, outcome: str) -> None:
        """A review was recorded, or not; called by the thread that records."""
        self.captures[outcome] += 1

    def refused(self, reason: Refusal) -> None:
        """A client was refused before it could ask anything."""
        self.refusals[reason] += 1

    def reload(self, succeeded: bool) -> None:
        """A new set of policies was taken into use, or refused."""
        self.reloads["success" if succeeded else "error"] += 1
        if succeeded:
            self.last_successful_reload = time()

    def patch_operations(self, policy: str, count: int) -> None:
        """A policy changed the object by ``count`` operations."""
        self.patches[policy] = self.patches.get(policy, 0) + count

    def mutation_conflict(self, policy: str) -> None:
        """A policy changed again what another one had changed."""
        self.conflicts[policy] = self.conflicts.get(policy, 0) + 1

    def happened(
        self,
        what: Happening,
        request: AdmissionRequest,
        *,
        policy: str,
        generation: str,
        message: str,
    ) -> None:
        """A policy denied, warned, failed or changed another's work: one line of the log."""
        if self._log is not None:
            self._log.about(what, request, policy=policy, generation=generation, message=message)


class Loaded(Protocol):
    """Where the set in use comes from: the store."""

    @property
    def current(self) -> PolicySet:
        """The set in use; raises LookupError before the first one is loaded."""


class Connections(Protocol):
    """The connections of a port: ``server_connections.Connections``."""

    closed: dict[Any, int]

    @property
    def open(self) -> Mapping[Any, None]:
        """All of them."""

    @property
    def idle(self) -> int:
        """How many have no request under way."""


class Exposition:
    """Everything that ``/metrics`` shows, gathered from where it lives when it is asked for.

    ``certificate_expiry`` gives a Unix time, or None without a certificate; ``watches`` whether
    each watch works; ``log_lines_lost`` how many could not be written.
    """

    def __init__(
        self,
        recorder: PrometheusRecorder,
        store: Loaded,
        in_flight: InFlight,
        certificate_expiry: Callable[[], float | None] = lambda: None,
        *,
        watches: Callable[[], Mapping[str, bool]] = dict,
        log_lines_lost: Callable[[], int] = int,
        connections: Mapping[str, Connections] | None = None,
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._in_flight = in_flight
        self._certificate_expiry = certificate_expiry
        self._watches = watches
        self._log_lines_lost = log_lines_lost
        self._connections = connections or {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape and its Content-Type: OpenMetrics if asked for, else Prometheus."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def collect(self) -> Iterator[Metric]:
        """All metrics of policyd, in the order of docs/run/metrics.md."""
        yield from _requests(self._recorder)
        yield from _policies(self._store.current)
        yield from _server(self._recorder, self._in_flight)
        yield from _connections(self._connections)
        yield from _mutations(self._recorder)
        yield from _lookups(self._recorder)
        captures = [([outcome], count) for outcome, count in self._recorder.captures.items()]
        yield _counter(
            "policyd_captured_reviews", "Reviews recorded by --capture.", "result", captures
        )
        yield from _health(self._recorder, self._watches(), self._log_lines_lost())
        yield from _process(self._certificate_expiry())


def _counter(name: str, doc: str, labels: str, rows: Iterable[tuple[list[str], float]]) -> Metric:
    family = CounterMetricFamily(name, doc, labels=labels.split())
    for values, count in rows:
        family.add_metric(values, count)
    return family


def _gauge(name: str, doc: str, value: float) -> Metric:
    return GaugeMetricFamily(name, doc, value=value)


def _histogram(name: str, doc: str, label: str, rows: Mapping[Any, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, doc, labels=[label])
    for value, histogram in rows.items():
        buckets, count, total = histogram.snapshot()
        named = [(f"{bound:g}", float(below)) for bound, below in buckets]
        family.add_metric([value], [*named, ("+Inf", float(count))], total)
    return family


def _requests(recorder: PrometheusRecorder) -> Iterator[Metric]:
    yield _counter(
        "policyd_admission_requests",
        "Reviews answered.",
        "webhook operation result",
        [([*key], count) for key, count in sorted(recorder.requests.items())],
    )
    yield _histogram(
        "policyd_admission_duration_seconds",
        "From the arrival of a review to its answer.",
        "webhook",
        recorder.durations,
    )
    yield _histogram(
        "policyd_admission_phase_duration_seconds",
        "The phases of a review.",
        "phase",
        recorder.phases,
    )


def _policies(policies: PolicySet) -> Iterator[Metric]:
    counters = [(each.name, each.snapshot()) for each in policies.counters()]
    yield _counter(
        "policyd_policy_decisions",
        "What policies decided.",
        "policy decision",
        [
            ([name, decision], count)
            for name, shot in counters
            for decision, count in shot["decisions"].items()
        ],
    )
    yield _counter(
        "policyd_policy_evaluation_seconds",
        "Time spent evaluating policies.",
        "policy",
        [([name], shot["seconds"]) for name, shot in counters],
    )
    yield _counter(
        "policyd_policy_cost_units",
        "CEL cost units spent by policies.",
        "policy",
        [([name], shot["cost"]) for name, shot in counters],
    )
    states: dict[tuple[str, str], int] = {}
    for policy in policies.policies:
        states[policy.state, policy.kind] = states.get((policy.state, policy.kind), 0) + 1
    loaded = GaugeMetricFamily("policyd_policies", "Policies loaded.", labels=["state", "kind"])
    for (state, kind), count in sorted(states.items()):
        loaded.add_metric([state, kind], count)
    yield loaded
    empty = float(not policies.policies)
    yield _gauge("policyd_policy_set_empty", "Whether no policies are loaded.", empty)
    labels = {"generation": policies.generation, "kubernetes": str(policies.version)}
    yield InfoMetricFamily("policyd_policy_set", "The set of policies in use.", value=labels)


def _server(recorder: PrometheusRecorder, in_flight: InFlight) -> Iterator[Metric]:
    yield _counter(
        "policyd_reloads",
        "Changes of the policy sources, taken into use or refused.",
        "result",
        [([result], count) for result, count in recorder.reloads.items()],
    )
    yield _gauge(
        "policyd_last_successful_reload_timestamp_seconds",
        "When policies were last loaded without an error.",
        recorder.last_successful_reload,
    )
    yield _gauge("policyd_in_flight_requests", "Reviews under way.", in_flight.requests)
    yield _gauge("policyd_in_flight_bytes", "Bytes of the reviews under way.", in_flight.bytes)
    yield _counter(
        "policyd_shed_requests",
        "Reviews refused for lack of room, or too late to be evaluated.",
        "reason",
        [([reason], count) for reason, count in recorder.sheds.items()],
    )


def _connections(ports: Mapping[str, Connections]) -> Iterator[Metric]:
    labels = ["port", "state"]
    opened = GaugeMetricFamily("policyd_connections", "Open connections.", labels=labels)
    for port, connections in ports.items():
        idle = connections.idle
        opened.add_metric([port, "idle"], idle)
        opened.add_metric([port, "busy"], len(connections.open) - idle)
    yield opened
    yield _counter(
        "policyd_closed_connections",
        "Connections that ended, and why.",
        "port reason",
        [
            ([port, reason], count)
            for port, connections in ports.items()
            for reason, count in connections.closed.items()
        ],
    )


def _mutations(recorder: PrometheusRecorder) -> Iterator[Metric]:
    yield _counter(
        "policyd_patch_operations",
        "Operations of the patches that policies caused.",
        "policy",
        [([name], count) for name, count in sorted(recorder.patches.items())],
    )
    yield _counter(
        "policyd_mutation_conflicts",
        "Changes of what another policy had changed.",
        "policy",
        [([name], count) for name, count in sorted(recorder.conflicts.items())],
    )


def _lookups(recorder: PrometheusRecorder) -> Iterator[Metric]:
    yield _counter(
        "policyd_cluster_lookups",
        "Questions to the API server.",
        "question result",
        [([*key], count) for key, count in sorted(recorder.lookups.items())],
    )
    yield _histogram(
        "policyd_cluster_lookup_duration_seconds",
        "From a question to the API server until its answer.",
        "question",
        recorder.lookup_durations,
    )


def _health(
    recorder: PrometheusRecorder, watches: Mapping[str, bool], lines_lost: int
) -> Iterator[Metric]:
    healthy = GaugeMetricFamily(
        "policyd_watch_healthy", "Whether changes are noticed.", labels=["watch"]
    )
    for name, well in watches.items():
        healthy.add_metric([name], well)
    yield healthy
    refusals = [([str(reason)], count) for reason, count in recorder.refusals.items()]
    yield _counter("policyd_refused_clients", "Clients refused.", "reason", refusals)
    lost = "Lines of the log that could not be written."
    yield _counter("policyd_log_lines_lost", lost, "", [([], lines_lost)])


def _process(certificate_expiry: float | None) -> Iterator[Metric]:
    if certificate_expiry is not None:
        yield _gauge(
            "policyd_certificate_expiry_timestamp_seconds",
            "When the serving certificate ends.",
            certificate_expiry,
        )
    build = {"version": __version__, "python": platform.python_version()}
    yield InfoMetricFamily("policyd_build", "The running version.", value=build)
