"""What ``policyd bench core`` prints, as text and JSON. Measures nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policyd.benchmark.census import Census, SortKey
from policyd.benchmark.core import (
    CPU,
    PHASES,
    SHARES,
    YARDSTICK,
    CoreMeasurement,
    policy_figure,
)
from policyd.benchmark.figures import Figure
from policyd.cli.bench.values import aligned
from policyd.cli.shared.output import counted
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet

_DOES = {"validate": "validation", "mutate": "mutation"}


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """What one policy costs at one webhook. ``micros`` and ``units``: for one call that it matched;
    None if it matched none.
    """

    webhook: str
    policy: CompiledPolicy
    matched: int
    micros: Figure | None
    share: float
    units: float | None


@dataclass(frozen=True, slots=True)
class CoreResult:
    """Everything that was measured."""

    policies: CompiledPolicySet
    reviews: int
    measurement: CoreMeasurement

    def rows(self, census: Census) -> list[PolicyRow]:
        """Return the policies of a webhook, the one that took most time first."""
        found = [
            self._row(census, each)
            for each in self.policies.policies
            if _acts(each, census.webhook)
        ]
        return sorted(found, key=lambda row: (-row.share, row.policy.sort_key))

    def document(self) -> JSONObject:
        """Return what the figures do not show, as JSON."""
        return {
            "webhooks": [
                {
                    "webhook": each.webhook,
                    "calls": each.calls,
                    "matched": each.matched,
                    "denied": each.denied,
                    "errors": each.errors,
                    "policies": [_policy(row) for row in self.rows(each)],
                }
                for each in self.measurement.censuses
            ]
        }

    def _row(self, census: Census, policy: CompiledPolicy) -> PolicyRow:
        key: SortKey = policy.sort_key
        matched = census.matches.get(key, 0)
        figures = self.measurement.figures
        micros = figures.get(policy_figure(census.webhook, key))
        whole = figures[f"{census.webhook}/{CPU}"].median * census.calls
        share = 0.0 if micros is None else micros.median * matched / whole
        units = census.units[key] / matched if matched else None
        return PolicyRow(census.webhook, policy, matched, micros, share, units)


def core_text(result: CoreResult) -> Iterator[str]:
    """Yield the lines of the report."""
    figures = result.measurement.figures
    rounds = max(len(each.rounds) for each in figures.values())
    policies = len(result.policies.policies)
    yield (
        f"{policies} {'policy' if policies == 1 else 'policies'}, "
        f"{counted(result.reviews, 'review')}, {rounds} rounds; microseconds of one request, and "
        "the quartiles of the rounds"
    )
    for each in result.measurement.censuses:
        yield ""
        yield (
            f"{_DOES[each.webhook]}: {counted(each.calls, 'request')}, {each.matched} matched a "
            f"policy, {each.denied} denied, {each.errors} with errors"
        )
        yield from _whole(each, figures)
        yield ""
        yield from aligned(list(_policy_rows(result.rows(each))))


def _whole(census: Census, figures: Mapping[str, Figure]) -> Iterator[str]:
    webhook = census.webhook
    whole = figures[f"{webhook}/{CPU}"]
    rows = []
    for name in (CPU, *SHARES):
        rows.append((f"  {name}", *_spread(figures[f"{webhook}/{name}"]), ""))
    yardstick = figures[f"{webhook}/{YARDSTICK}"]
    multiple = Figure("", "", whole.relative()).median
    rows[0] = (*rows[0][:-1], f"{multiple:.2f} times parse and print, {yardstick.median:,.2f}")
    phases = {name: figures.get(f"{webhook}/phase/{name}") for name in PHASES}
    total = sum(each.median for each in phases.values() if each is not None)
    for name, phase in phases.items():
        if phase is not None:
            rows.append((f"    {name}", *_spread(phase), f"{phase.median / total:.0%}"))
    yield from aligned(rows)


def _policy_rows(rows: Sequence[PolicyRow]) -> Iterator[tuple[str, ...]]:
    yield ("POLICY", "MATCHED", "TIME", "", "SHARE", "COST")
    for row in rows:
        name = row.policy.name
        if row.micros is None or row.units is None:
            yield (name, "0", "-", "", "-", "-")
            continue
        yield (
            name,
            f"{row.matched:,}",
            *_spread(row.micros),
            f"{row.share:.1%}",
            f"{row.units:,.0f}",
        )


def _spread(figure: Figure) -> tuple[str, str]:
    low, high = figure.quartiles
    return f"{figure.median:,.2f}", f"({low:,.2f} to {high:,.2f})"


def _acts(policy: CompiledPolicy, webhook: str) -> bool:
    plan = policy.validation if webhook == "validate" else policy.mutation
    return plan is not None


def _policy(row: PolicyRow) -> JSONObject:
    return {
        "name": row.policy.name,
        "kind": row.policy.kind,
        "file": row.policy.source,
        "matched": row.matched,
        "micros": None if row.micros is None else row.micros.median,
        "quartiles": None if row.micros is None else list(row.micros.quartiles),
        "share": row.share,
        "units": row.units,
    }
