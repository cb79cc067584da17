"""Metrics of the server: reloads, room, connections, health, version."""

import platform
from collections.abc import Iterator

from prometheus_client.core import InfoMetricFamily
from prometheus_client.metrics_core import Metric

from policyd import __version__
from policyd.observability.metrics.scrape import Scrape, counter, gauge, gauges


def room(scrape: Scrape) -> Iterator[Metric]:
    """Reloads, and the room for requests."""
    recorder, in_flight = scrape.recorder, scrape.in_flight
    yield counter(
        "policyd_reloads",
        "Reloads of the policy sources, by result.",
        "result",
        [([result], count) for result, count in recorder.reloads.items()],
    )
    yield gauge(
        "policyd_last_reload_successful",
        "1 if the last load of the policies had no errors, else 0.",
        float(recorder.last_reload_succeeded),
    )
    yield gauge(
        "policyd_last_successful_reload_timestamp_seconds",
        "Unix time of the last reload without an error.",
        recorder.last_successful_reload,
    )
    yield gauge(
        "policyd_in_flight_requests", "Admission requests being answered.", in_flight.requests
    )
    yield gauge(
        "policyd_in_flight_bytes",
        "Bytes of the admission requests being answered.",
        in_flight.bytes,
    )
    yield counter(
        "policyd_shed_requests",
        "Admission requests not evaluated because of overload, by reason.",
        "reason",
        [([reason], count) for reason, count in recorder.sheds.items()],
    )


def connections(scrape: Scrape) -> Iterator[Metric]:
    """Connections by port."""
    ports = scrape.connections
    opened: list[tuple[list[str], float]] = []
    for port, each in ports.items():
        idle = each.idle
        opened += [([port, "idle"], idle), ([port, "busy"], len(each.open) - idle)]
    yield gauges("policyd_connections", "Open connections.", "port state", opened)
    yield counter(
        "policyd_closed_connections",
        "Closed connections, by reason.",
        "port reason",
        [
            ([port, reason], count)
            for port, each in ports.items()
            for reason, count in each.closed.items()
        ],
    )


def caches(scrape: Scrape) -> Iterator[Metric]:
    """What is kept in step with the cluster; nothing without one."""
    if not scrape.caches:
        return
    yield gauges(
        "policyd_cluster_cache_staleness_seconds",
        "Seconds since the cache was last known to be current.",
        "cache",
        [([name], each.staleness) for name, each in scrape.caches.items()],
    )
    yield gauges(
        "policyd_cluster_cache_objects",
        "Objects of the cluster that the cache holds.",
        "cache",
        [([name], each.objects) for name, each in scrape.caches.items()],
    )


def health(scrape: Scrape) -> Iterator[Metric]:
    """Whether the server notices changes, whom it refused, what its log lost."""
    healthy = [([name], float(well)) for name, well in scrape.watches.items()]
    yield gauges(
        "policyd_watch_healthy", "1 if the watch notices changes, else 0.", "watch", healthy
    )
    refusals = [([str(reason)], count) for reason, count in scrape.recorder.refusals.items()]
    yield counter(
        "policyd_refused_clients",
        "Clients refused in the TLS handshake, by reason.",
        "reason",
        refusals,
    )
    lost = "Log lines that could not be written."
    yield counter("policyd_log_lines_lost", lost, "", [([], scrape.log_lines_lost)])
    yield counter(
        "policyd_recording_errors",
        "Defects while a request was recorded, by part; its answer was not affected.",
        "part",
        [([part], count) for part, count in scrape.recorder.errors.counts.items()],
    )


def process(scrape: Scrape) -> Iterator[Metric]:
    """The certificate, and the running version."""
    if scrape.certificate_expiry is not None:
        yield gauge(
            "policyd_certificate_expiry_timestamp_seconds",
            "Unix time when the serving certificate expires.",
            scrape.certificate_expiry,
        )
    build = {"version": __version__, "python": platform.python_version()}
    yield InfoMetricFamily(
        "policyd_build", "The running version of policyd and Python.", value=build
    )
