"""Metrics of the policies that the API server enforces itself (``--in-tree``)."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from policyd.observability.metrics.scrape import Scrape, counter, gauges


def placed(scrape: Scrape) -> Iterator[Metric]:
    """Where each policy runs, and writes of documents; nothing without ``--in-tree``."""
    recorder = scrape.recorder
    if recorder.placed is None:
        return
    yield gauges(
        "policyd_policies_placed",
        "1 for the engine that enforces what a policy does at a webhook: api-server or webhook.",
        "policy webhook engine",
        [([*row], 1.0) for row in recorder.placed()],
    )
    yield counter(
        "policyd_placements",
        "Writes of documents with which the API server enforces policies, by result.",
        "result",
        [([result], count) for result, count in recorder.placements.items()],
    )
