"""Functions, named in ``metrics.json``, for metrics that are not an attribute of a Scrape.

Each takes a Scrape and returns the values by label (or tuple of labels), or one value; None hides
the metric.
"""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product

from policyd import __version__
from policyd.observability.metrics.scrape import Scrape
from policyd.policy.source.files import BundleState

ByLabel = Mapping[str, float]
ByTuple = Mapping[tuple[str, ...], float]

KINDS = ("MutatingAdmissionPolicy", "Policy", "ValidatingAdmissionPolicy")
MUTATING = ("MutatingAdmissionPolicy", "Policy")
STATES = ("active", "quarantined")
EXCEPTION_STATES = ("active", "expiring", "expired")
# How long before its end an exception counts as expiring: a week to extend it or fix the objects.
EXPIRING = timedelta(days=7)


def requests(scrape: Scrape) -> ByTuple:
    return dict(sorted(scrape.recorder.requests.items()))


def lookups(scrape: Scrape) -> ByTuple:
    return dict(sorted(scrape.recorder.lookups.items()))


def decisions(scrape: Scrape) -> ByTuple:
    return {
        (name, decision): count
        for name, shot in scrape.counters
        for decision, count in shot["decisions"].items()
    }


def seconds(scrape: Scrape) -> ByLabel:
    return {name: shot["seconds"] for name, shot in scrape.counters}


def cost(scrape: Scrape) -> ByLabel:
    return {name: shot["cost"] for name, shot in scrape.counters}


def policies(scrape: Scrape) -> ByTuple:
    states = dict.fromkeys(product(STATES, KINDS), 0)  # alerts do not see missing series
    for policy in scrape.policies.policies:
        states[policy.state, policy.kind] += 1
    return {key: states[key] for key in sorted(states)}


def rollout_ends(scrape: Scrape) -> ByLabel:
    return {
        each.name: each.rollout.until.timestamp()
        for each in scrape.policies.policies
        if each.rollout is not None and each.rollout.until is not None
    }


def empty(scrape: Scrape) -> float:
    return not scrape.policies.policies


def policy_set(scrape: Scrape) -> Mapping[str, str]:
    policies = scrape.policies
    return {"generation": policies.generation, "kubernetes": str(policies.version)}


def exceptions(scrape: Scrape) -> ByLabel:
    """The current exceptions of Policies, and the PolicyExceptions."""
    states, now = dict.fromkeys(EXCEPTION_STATES, 0), datetime.now(UTC)
    for ends in scrape.policies.exemption_ends:
        if ends is None or ends - now > EXPIRING:
            states["active"] += 1
        else:
            states["expiring" if ends > now else "expired"] += 1
    return states


def policy_config_maps(scrape: Scrape) -> ByLabel:
    return _by_state([each for each in scrape.bundles if not each.confined])


def exception_config_maps(scrape: Scrape) -> ByLabel:
    return _by_state([each for each in scrape.bundles if each.confined])


def _by_state(bundles: Sequence[BundleState]) -> ByLabel:
    held = sum(bool(each.held) for each in bundles)
    return {"current": len(bundles) - held, "held": held}


def open_connections(scrape: Scrape) -> ByTuple:
    found: dict[tuple[str, ...], float] = {}
    for port, each in scrape.connections.items():
        idle = each.idle
        found |= {(port, "idle"): idle, (port, "busy"): len(each.open) - idle}
    return found


def closed_connections(scrape: Scrape) -> ByTuple:
    return {
        (port, reason): count
        for port, each in scrape.connections.items()
        for reason, count in each.closed.items()
    }


def patches(scrape: Scrape) -> ByLabel:
    return _by_policy(scrape.patches, scrape)


def conflicts(scrape: Scrape) -> ByLabel:
    return _by_policy(scrape.conflicts, scrape)


def _by_policy(counts: ByLabel, scrape: Scrape) -> ByLabel:
    """The counts of policies, including zero for those that have not mutated yet."""
    able = {each.name: 0 for each in scrape.policies.policies if each.kind in MUTATING}
    return dict(sorted((able | dict(counts)).items()))


def leads(scrape: Scrape) -> float | None:
    return None if scrape.recorder.leads is None else scrape.recorder.leads()


def unreached(scrape: Scrape) -> float | None:
    return scrape.recorder.unreached()


def placed(scrape: Scrape) -> ByTuple | None:
    found = scrape.recorder.placed
    return None if found is None else dict.fromkeys(found(), 1.0)


def placements(scrape: Scrape) -> ByLabel | None:
    return None if scrape.recorder.placed is None else scrape.recorder.placements


def build(scrape: Scrape) -> Mapping[str, str]:
    return {"version": __version__, "python": platform.python_version()}
