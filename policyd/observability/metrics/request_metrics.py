"""Metrics of requests: answers, phases, changes, lookups, captures."""

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric

from policyd.observability.metrics.scrape import Scrape, counter, histogram

MUTATING = ("MutatingAdmissionPolicy", "Policy")


def answered(scrape: Scrape) -> Iterator[Metric]:
    """How requests were answered, and how long that took."""
    recorder = scrape.recorder
    yield counter(
        "policyd_admission_requests",
        "Admission requests answered, by result.",
        "webhook operation result",
        [([*key], count) for key, count in sorted(recorder.requests.items())],
    )
    yield histogram(
        "policyd_admission_duration_seconds",
        "Time from the arrival of an admission request to its response.",
        "webhook",
        recorder.durations,
    )
    yield histogram(
        "policyd_admission_phase_duration_seconds",
        "Time spent in each phase of an admission request.",
        "phase",
        recorder.phases,
    )


def unauthenticated(scrape: Scrape) -> Iterator[Metric]:
    """Requests of clients that did not show that they are an API server; nothing if they need
    not.
    """
    if not scrape.recorder.unauthenticated:
        return
    yield counter(
        "policyd_unauthenticated_requests",
        "Requests refused because they had no valid token of the API server, by cause.",
        "cause",
        [([cause], count) for cause, count in scrape.recorder.unauthenticated.items()],
    )


def mutated(scrape: Scrape) -> Iterator[Metric]:
    """What policies changed."""
    yield counter(
        "policyd_patch_operations",
        "JSON Patch operations made by policies.",
        "policy",
        _by_policy(scrape.patches, scrape),
    )
    yield counter(
        "policyd_mutation_conflicts",
        "Requests in which a policy changed what another policy had changed.",
        "policy",
        _by_policy(scrape.conflicts, scrape),
    )


def _by_policy(counts: Mapping[str, int], scrape: Scrape) -> list[tuple[list[str], float]]:
    """The counts of policies, with those that may mutate and have not yet."""
    able = {each.name: 0 for each in scrape.policies.policies if each.kind in MUTATING}
    return [([name], count) for name, count in sorted((able | dict(counts)).items())]


def looked_up(scrape: Scrape) -> Iterator[Metric]:
    """What was looked up in the cluster."""
    recorder = scrape.recorder
    yield counter(
        "policyd_cluster_lookups",
        "Lookups in the API server, by result.",
        "question result",
        [([*key], count) for key, count in sorted(recorder.lookups.items())],
    )
    yield histogram(
        "policyd_cluster_lookup_duration_seconds",
        "Duration of lookups in the API server.",
        "question",
        recorder.lookup_durations,
    )


def captured(scrape: Scrape) -> Iterator[Metric]:
    """What became of the reviews that were to be recorded."""
    captures = [([outcome], count) for outcome, count in scrape.recorder.captures.items()]
    yield counter(
        "policyd_captured_reviews",
        "Admission requests recorded by --capture, by result.",
        "result",
        captures,
    )


def traced(scrape: Scrape) -> Iterator[Metric]:
    """What became of the requests that were traced; nothing without tracing."""
    if not scrape.recorder.traces:
        return
    yield counter(
        "policyd_traced_requests",
        "Admission requests traced by --trace-sample, by result.",
        "result",
        [([outcome], count) for outcome, count in scrape.recorder.traces.items()],
    )
