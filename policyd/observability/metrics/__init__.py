"""Prometheus: a Recorder that counts, and a collector that returns the counts at each scrape.

The names of metrics are API (docs/reference/metrics.md).
"""

from policyd.observability.metrics.exposition import Exposition
from policyd.observability.metrics.recorder import PrometheusRecorder

__all__ = ["Exposition", "PrometheusRecorder"]
