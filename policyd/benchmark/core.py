"""What the core takes for each request, bytes in to bytes out: as a whole, and by policies.

Without HTTP, TLS, limits, metrics and logs.
"""

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns

import orjson

from policyd.admission import engine
from policyd.admission.decision import Verdict
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode, encode
from policyd.benchmark.figures import Figure, percentile
from policyd.benchmark.rounds import Report, RoundLimits, Work, measured, warm_up
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.offline.ignored import EffectRecorder
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

SortKey = tuple[str, str]  # the sort_key of a policy: name, kind

# What the whole request takes: CPU time, and how the requests of a round are distributed.
CPU, SHARES = "cpu", {"p50": 0.5, "p99": 0.99}
YARDSTICK = "parse+print"
UNIT = "us"
_UNSTEADY = "/p99"  # of few requests
_ROUND = 0.02  # seconds of CPU time of one kind of work in one round, at least


@dataclass(frozen=True, slots=True)
class Census:
    """The calls of one webhook: how many matched a policy, were denied, and had an error in a
    policy; for each policy that matched, the number of calls and its cost units in all of them.
    """

    webhook: Webhook
    calls: int
    matched: int
    denied: int
    errors: int
    matches: dict[SortKey, int]
    units: dict[SortKey, int]


@dataclass(frozen=True, slots=True)
class CoreMeasurement:
    """The figures by their names, ``WEBHOOK/WHAT``, and what the calls did."""

    figures: dict[str, Figure]
    censuses: tuple[Census, ...]


def policy_figure(webhook: Webhook, key: SortKey) -> str:
    """Return the name of the figure of a policy."""
    name, kind = key
    return f"{webhook}/policy/{kind}/{name}"


def measure(
    policies: CompiledPolicySet,
    calls: Sequence[WebhookRequest],
    limits: RoundLimits,
    report: Report,
    authorizer: Authorizer | None = None,
) -> CoreMeasurement:
    """Measure all calls. Every figure is in microseconds for one call; a policy's, for one
    call that it matched, as its counters have it.
    """
    works: list[Work] = []
    censuses = []
    for webhook in dict.fromkeys(call.webhook for call in calls):
        own = [call.body for call in calls if call.webhook == webhook]
        censuses.append(census(policies, own, webhook, authorizer))
        works += _works(policies, own, censuses[-1], authorizer)
    with _settled():
        rounds = measured(works, limits, report)
    figures = {}
    for name, values in rounds.items():
        yardstick = f"{name.partition('/')[0]}/{YARDSTICK}"
        base = () if name == yardstick else rounds[yardstick]
        unsteady = name == yardstick or name.endswith(_UNSTEADY)
        figures[name] = Figure(name, UNIT, values, base, unsteady)
    return CoreMeasurement(figures, tuple(censuses))


def census(
    policies: CompiledPolicySet,
    bodies: Sequence[bytes],
    webhook: Webhook,
    authorizer: Authorizer | None = None,
) -> Census:
    """Evaluate every call of a webhook once, and count what it does."""
    matches: Counter[SortKey] = Counter()
    before = _counted(policies.policies, "cost")
    matched = denied = errors = 0
    for body in bodies:
        seen: set[SortKey] = set()

        def note(policy: CompiledPolicy, seen: set[SortKey] = seen) -> bool:
            seen.add(policy.sort_key)
            return True

        verdict, recorder = Verdict(), EffectRecorder()
        response = engine.review(
            policies,
            decode(body),
            webhook=webhook,
            recorder=recorder,
            only=note,
            authorizer=authorizer,
            verdict=verdict,
        )
        matches.update(seen)
        matched += bool(seen)
        denied += not response.allowed
        found = verdict.findings
        errors += any(each.error for each in found) or bool(recorder.ignored(found))
    after = _counted(policies.policies, "cost")
    units = {key: round(after[key] - before[key]) for key in matches}
    return Census(webhook, len(bodies), matched, denied, errors, dict(matches), units)


def _works(
    policies: CompiledPolicySet,
    bodies: Sequence[bytes],
    found: Census,
    authorizer: Authorizer | None,
) -> list[Work]:
    """Return what is repeated in every round: the yardstick, and the calls of a webhook."""
    webhook, review = found.webhook, engine.review
    matched = [each for each in policies.policies if each.sort_key in found.matches]

    def answered() -> list[int]:
        """Answer the calls; return the nanoseconds of each."""
        times, clock = list[int](), perf_counter_ns
        for body in bodies:
            begin = clock()
            encode(review(policies, decode(body), webhook=webhook, authorizer=authorizer))
            times.append(clock() - begin)
        return times

    passes = max(1, round(_ROUND / max(warm_up(answered), 1e-6)))
    calls = passes * len(bodies)

    def parse_and_print() -> dict[str, float]:
        """The yardstick: JSON alone, by a library that no change of policyd touches."""
        started = process_time_ns()
        for _ in range(passes):
            for body in bodies:
                orjson.dumps(orjson.loads(body))
        return {f"{webhook}/{YARDSTICK}": (process_time_ns() - started) / 1e3 / calls}

    def whole() -> dict[str, float]:
        before, started = _counted(matched, "seconds"), process_time_ns()
        times = [each for _ in range(passes) for each in answered()]
        spent = process_time_ns() - started
        after = _counted(matched, "seconds")
        times.sort()
        values = {f"{webhook}/{CPU}": spent / 1e3 / calls}
        for name, share in SHARES.items():
            values[f"{webhook}/{name}"] = percentile(times, share) / 1e3
        for key, count in found.matches.items():
            taken = (after[key] - before[key]) * 1e6
            values[policy_figure(webhook, key)] = taken / (count * passes)
        return values

    return [parse_and_print, whole]


def _counted(policies: Sequence[CompiledPolicy], what: str) -> dict[SortKey, float]:
    """Return what the core has counted for each policy so far: ``seconds`` or ``cost``."""
    return {each.sort_key: each.counters.snapshot()[what] for each in policies}  # type: ignore[literal-required]


@contextmanager
def _settled() -> Iterator[None]:
    """Keep what is loaded out of the garbage collector, as a server does."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
