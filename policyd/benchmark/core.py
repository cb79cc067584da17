"""What the core takes for each request, bytes in to bytes out: as a whole, by phases, by policies.
Without HTTP, TLS, limits, metrics and logs.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter_ns, process_time_ns

import orjson

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.recorder import Phase, Recorder
from policyd.admission.review import decode, encode
from policyd.benchmark.census import Census, SortKey, census
from policyd.benchmark.figures import Figure, percentile
from policyd.benchmark.observed import MutationTimes, observe
from policyd.benchmark.rounds import (
    Report,
    Result,
    RoundLimits,
    Work,
    measured,
    undisturbed,
    warm_up,
)
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

# What the whole request takes: CPU time, and how the requests of a round are distributed.
CPU, SHARES = "cpu", {"p50": 0.5, "p90": 0.9, "p99": 0.99}
# In the order of a request; ``respond`` is what no other phase has.
PHASES = ("decode", "match", "evaluate", "patch", "respond", "encode")
YARDSTICK = "parse+print"
UNIT = "us"
_UNSTEADY = "/p99"  # of few requests
# Seconds of CPU time: of one kind of work in one round, at least, and of one piece of it.
_ROUND, _PIECE = 0.02, 0.001


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
    """Measure all calls. Every figure is in microseconds for one call; that of a policy, for one
    call that it matched.
    """
    webhooks = tuple(dict.fromkeys(call.webhook for call in calls))
    censuses = tuple(census(policies, calls, webhook, authorizer) for webhook in webhooks)
    works: list[Work] = []
    for each in censuses:
        own = [call for call in calls if call.webhook == each.webhook]
        works += _Webhook(policies, own, each, authorizer).works()
    with _settled():
        rounds = measured(works, limits, report)
    figures = {}
    for name, values in rounds.items():
        yardstick = f"{name.partition('/')[0]}/{YARDSTICK}"
        base = () if name == yardstick else rounds[yardstick]
        unsteady = name == yardstick or name.endswith(_UNSTEADY)
        figures[name] = Figure(name, UNIT, values, base, unsteady)
    return CoreMeasurement(figures, censuses)


class _Webhook:
    """The works of one webhook. Calls are timed in pieces so short that most are not disturbed."""

    def __init__(
        self,
        policies: CompiledPolicySet,
        calls: Sequence[WebhookRequest],
        found: Census,
        authorizer: Authorizer | None,
    ) -> None:
        self._policies = policies
        self._webhook = found.webhook
        self._matches = found.matches
        self._matched = [each for each in policies.policies if each.sort_key in found.matches]
        self._authorizer = authorizer
        self._pieces = _in_pieces(calls, warm_up(lambda: self._answer(calls)))
        self._calls = sum(map(len, self._pieces))
        # How often the pieces have each call.
        self._times = self._calls // len(calls)

    def works(self) -> list[Work]:
        """Return what is repeated in every round."""
        found: list[Work] = [self._parse_and_print, self._whole, self._phases]
        if self._webhook == "mutate":
            found.append(self._mutations)
        return found

    def _answer(self, calls: Sequence[WebhookRequest]) -> list[int]:
        """Answer the calls; return the nanoseconds of each."""
        policies, webhook, authorizer = self._policies, self._webhook, self._authorizer
        review, times, clock = engine.review, list[int](), perf_counter_ns
        for call in calls:
            begin = clock()
            encode(review(policies, decode(call.body), webhook=webhook, authorizer=authorizer))
            times.append(clock() - begin)
        return times

    def _parse_and_print(self) -> dict[str, float]:
        """The yardstick: JSON alone, by a library that no change of policyd touches."""

        def work(calls: Sequence[WebhookRequest]) -> int:
            started = process_time_ns()
            for call in calls:
                orjson.dumps(orjson.loads(call.body))
            return process_time_ns() - started

        return self._named({YARDSTICK: self._micros(sum(self._in_turn(work)))})

    def _whole(self) -> dict[str, float]:
        def work(calls: Sequence[WebhookRequest]) -> tuple[int, list[int], dict[SortKey, float]]:
            before = self._evaluation()
            started = process_time_ns()
            times = self._answer(calls)
            spent = process_time_ns() - started
            after = self._evaluation()
            return spent, times, {key: after[key] - before[key] for key in after}

        pieces = self._in_turn(work)
        times = sorted(self._of_each([each for _, found, _ in pieces for each in found]))
        found = {CPU: self._micros(sum(spent for spent, _, _ in pieces))}
        found |= {name: percentile(times, share) / 1e3 for name, share in SHARES.items()}
        named = self._named(found)
        if self._webhook == "validate":
            named |= self._of_policies([taken for _, _, taken in pieces])
        return named

    def _phases(self) -> dict[str, float]:
        """Time the parts with clocks between them, which the whole is measured without."""
        policies, webhook, authorizer = self._policies, self._webhook, self._authorizer

        def work(calls: Sequence[WebhookRequest]) -> dict[str, int]:
            recorder, clock = _PhaseRecorder(), perf_counter_ns
            decoding = reviewing = encoding = 0
            for call in calls:
                begin = clock()
                request = decode(call.body)
                decoded = clock()
                response = engine.review(
                    policies, request, webhook=webhook, recorder=recorder, authorizer=authorizer
                )
                reviewed = clock()
                encode(response)
                encoding += clock() - reviewed
                reviewing += reviewed - decoded
                decoding += decoded - begin
            inside = recorder.nanoseconds
            rest = reviewing - sum(inside.values())
            return {"decode": decoding, "encode": encoding, "respond": rest, **inside}

        pieces = self._in_turn(work)
        spent = {name: sum(each.get(name, 0) for each in pieces) for name in PHASES}
        return self._named(
            {f"phase/{name}": self._micros(each) for name, each in spent.items() if each}
        )

    def _mutations(self) -> dict[str, float]:
        def work(calls: Sequence[WebhookRequest]) -> dict[SortKey, float]:
            times = MutationTimes()
            for call in calls:
                observe(self._policies, call, times, self._authorizer)
            return {key: float(each) for key, each in times.nanoseconds.items()}

        return self._of_policies(self._in_turn(work))

    def _in_turn(self, work: Callable[[Sequence[WebhookRequest]], Result]) -> list[Result]:
        return [undisturbed(partial(work, piece)) for piece in self._pieces]

    def _of_each(self, times: Sequence[int]) -> list[float]:
        """Return the median of each request: its own time, not what disturbed it once."""
        distinct = len(times) // self._times
        return [median(times[number::distinct]) for number in range(distinct)]

    def _evaluation(self) -> dict[SortKey, float]:
        """The nanoseconds that the core has counted for each policy."""
        return {each.sort_key: each.counters.snapshot()["seconds"] * 1e9 for each in self._matched}

    def _of_policies(self, pieces: Sequence[Mapping[SortKey, float]]) -> dict[str, float]:
        return {
            policy_figure(self._webhook, key): sum(each.get(key, 0) for each in pieces)
            / (count * self._times * 1e3)
            for key, count in self._matches.items()
        }

    def _named(self, values: Mapping[str, float]) -> dict[str, float]:
        return {f"{self._webhook}/{name}": value for name, value in values.items()}

    def _micros(self, nanoseconds: int) -> float:
        return nanoseconds / 1e3 / self._calls


def _in_pieces(calls: Sequence[WebhookRequest], seconds: float) -> list[Sequence[WebhookRequest]]:
    """Split calls that take these seconds together into pieces; few calls are repeated."""
    whole = max(1, round(_ROUND / max(seconds, 1e-6)))
    repeated = [*calls] * whole
    size = max(1, round(len(calls) * _PIECE / max(seconds, 1e-6)))
    return [repeated[start : start + size] for start in range(0, len(repeated), size)]


class _PhaseRecorder(Recorder):
    """Adds up the phases that the engine reports."""

    def __init__(self) -> None:
        self.nanoseconds: dict[str, int] = {}

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """Add one phase of one request."""
        self.nanoseconds[phase] = self.nanoseconds.get(phase, 0) + nanoseconds


@contextmanager
def _settled() -> Iterator[None]:
    """Keep what is loaded out of the garbage collector, as a server does."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
