"""Metrics of what a server does in its cluster: registration, certificates, the Lease."""

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
