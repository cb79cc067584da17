"""Metrics of the policies in use."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product

from prometheus_client.core import InfoMetricFamily
from prometheus_client.metrics_core import Metric

from policyd.observability.metrics.scrape import Scrape, counter, gauge, gauges
from policyd.policy.source.files import BundleState

KINDS = ("MutatingAdmissionPolicy", "Policy", "ValidatingAdmissionPolicy")
STATES = ("active", "quarantined")
EXCEPTION_STATES = ("active", "expiring", "expired")
# How long before its end an exception is expiring: a week to extend it or to correct the objects.
EXPIRING = timedelta(days=7)


def decided(scrape: Scrape) -> Iterator[Metric]:
    """What each policy decided and spent."""
    counters = scrape.counters
    yield counter(
        "policyd_policy_decisions",
        "Decisions of policies.",
        "policy decision",
        [
            ([name, decision], count)
            for name, shot in counters
            for decision, count in shot["decisions"].items()
        ],
    )
    yield counter(
        "policyd_policy_evaluation_seconds",
        "Time spent evaluating policies.",
        "policy",
        [([name], shot["seconds"]) for name, shot in counters],
    )
    yield counter(
        "policyd_policy_cost_units",
        "CEL cost units spent by policies.",
        "policy",
        [([name], shot["cost"]) for name, shot in counters],
    )


def loaded(scrape: Scrape) -> Iterator[Metric]:
    """The policies in use."""
    policies = scrape.policies
    states = dict.fromkeys(product(STATES, KINDS), 0)  # a series that is absent alerts nobody
    for policy in policies.policies:
        states[policy.state, policy.kind] += 1
    rows = [([*key], count) for key, count in sorted(states.items())]
    yield gauges("policyd_policies", "Policies loaded, by state and kind.", "state kind", rows)
    ends = [
        ([each.name], each.rollout.until.timestamp())
        for each in policies.policies
        if each.rollout is not None and each.rollout.until is not None
    ]
    yield gauges(
        "policyd_policy_rollout_until_timestamp_seconds",
        "When the rollout of a policy is over: from then on it is enforced everywhere.",
        "policy",
        ends,
    )
    empty = float(not policies.policies)
    yield gauge("policyd_policy_set_empty", "1 if no policies are loaded, else 0.", empty)
    yield gauge(
        "policyd_serving_last_good",
        "1 if the policies were broken at start and the last good ones are served, else 0.",
        float(scrape.serves_last_good),
    )
    labels = {"generation": policies.generation, "kubernetes": str(policies.version)}
    yield InfoMetricFamily(
        "policyd_policy_set", "The policy set in use and its Kubernetes version.", value=labels
    )


def exceptions(scrape: Scrape) -> Iterator[Metric]:
    """The exceptions of Policies and the PolicyExceptions, as they are now."""
    states = dict.fromkeys(EXCEPTION_STATES, 0)
    now = datetime.now(UTC)
    for ends in scrape.policies.exemption_ends:
        states[_state(ends, now)] += 1
    yield gauges(
        "policyd_policy_exceptions",
        "Exceptions by state; expiring: it ends within 7 days.",
        "state",
        [([state], count) for state, count in states.items()],
    )


def _state(ends: datetime | None, now: datetime) -> str:
    if ends is None or ends - now > EXPIRING:
        return "active"
    return "expiring" if ends > now else "expired"


def config_maps(scrape: Scrape) -> Iterator[Metric]:
    """The ConfigMaps that policies are read from, and the edits of them that were checked."""
    held = "held: a later edit of it has errors."
    of_policies = [each for each in scrape.bundles if not each.confined]
    yield gauges(
        "policyd_policy_configmaps",
        f"ConfigMaps that policies are read from; {held}",
        "state",
        _by_state(of_policies),
    )
    of_teams = [each for each in scrape.bundles if each.confined]
    yield gauges(
        "policyd_exception_configmaps",
        f"ConfigMaps of teams that exceptions are read from; {held}",
        "state",
        _by_state(of_teams),
    )
    yield counter(
        "policyd_policy_edits",
        "Edits of ConfigMaps with policies that were checked, by result.",
        "result",
        [([result], count) for result, count in scrape.recorder.edits.items()],
    )


def _by_state(bundles: Sequence[BundleState]) -> list[tuple[list[str], int]]:
    held = sum(bool(each.held) for each in bundles)
    return [(["current"], len(bundles) - held), (["held"], held)]
