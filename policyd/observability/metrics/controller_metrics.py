"""Metrics of what a server does in its cluster: the Lease, registration, certificates, Events."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from policyd.observability.metrics.scrape import Scrape, counter, gauge


def registered(scrape: Scrape) -> Iterator[Metric]:
    """Writes of webhook configurations and certificates, and what they reach."""
    recorder = scrape.recorder
    yield counter(
        "policyd_registrations",
        "Writes of webhook configurations, by result.",
        "result",
        [([result], count) for result, count in recorder.registrations.items()],
    )
    yield counter(
        "policyd_certificate_rotations",
        "Writes of the Secret of the managed certificates, by result.",
        "result",
        [([result], count) for result, count in recorder.rotations.items()],
    )
    if recorder.leads is not None:
        yield gauge(
            "policyd_leader",
            "1 on the replica that holds the Lease and writes for all, else 0.",
            float(recorder.leads()),
        )
    unreached = recorder.unreached()
    if unreached is not None:
        yield gauge(
            "policyd_policies_unreached",
            "Policies that no rule of the webhook configurations reaches.",
            unreached,
        )


def reported(scrape: Scrape) -> Iterator[Metric]:
    """What became of the denials that are reported as Events; nothing without ``--events``."""
    if not scrape.recorder.events:
        return
    yield counter(
        "policyd_events",
        "Denials to report as Kubernetes Events, by result.",
        "result",
        [([result], count) for result, count in scrape.recorder.events.items()],
    )
