"""Metrics of requests: answers, phases, changes, lookups, captures."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from policyd.observability.metrics.scrape import Scrape, counter, histogram


def answered(scrape: Scrape) -> Iterator[Metric]:
    """How requests were answered, and how long that took."""
    recorder = scrape.recorder
    yield counter(
        "policyd_admission_requests",
        "Reviews answered.",
        "webhook operation result",
        [([*key], count) for key, count in sorted(recorder.requests.items())],
    )
    yield histogram(
        "policyd_admission_duration_seconds",
        "From the arrival of a review to its answer.",
        "webhook",
        recorder.durations,
    )
    yield histogram(
        "policyd_admission_phase_duration_seconds",
        "The phases of a review.",
        "phase",
        recorder.phases,
    )


def mutated(scrape: Scrape) -> Iterator[Metric]:
    """What policies changed."""
    recorder = scrape.recorder
    yield counter(
        "policyd_patch_operations",
        "Operations of the patches that policies caused.",
        "policy",
        [([name], count) for name, count in sorted(recorder.patches.items())],
    )
    yield counter(
        "policyd_mutation_conflicts",
        "Changes of what another policy had changed.",
        "policy",
        [([name], count) for name, count in sorted(recorder.conflicts.items())],
    )


def looked_up(scrape: Scrape) -> Iterator[Metric]:
    """What was looked up in the cluster."""
    recorder = scrape.recorder
    yield counter(
        "policyd_cluster_lookups",
        "Questions to the API server.",
        "question result",
        [([*key], count) for key, count in sorted(recorder.lookups.items())],
    )
    yield histogram(
        "policyd_cluster_lookup_duration_seconds",
        "From a question to the API server until its answer.",
        "question",
        recorder.lookup_durations,
    )


def captured(scrape: Scrape) -> Iterator[Metric]:
    """What became of the reviews that were to be recorded."""
    captures = [([outcome], count) for outcome, count in scrape.recorder.captures.items()]
    yield counter("policyd_captured_reviews", "Reviews recorded by --capture.", "result", captures)
