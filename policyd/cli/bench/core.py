"""``policyd bench core``: measures policies in this process. Starts no server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.admission.lookups.authorizer import Authorizer
from policyd.benchmark import core
from policyd.benchmark.core import CPU, SHARES, YARDSTICK, Census, CoreMeasurement, policy_figure
from policyd.benchmark.figures import FEWEST, Figure
from policyd.benchmark.rounds import RoundLimits
from policyd.benchmark.saved import MeasuredInput, Saved
from policyd.benchmark.webhook_requests import digest, requests_of
from policyd.cli.bench.reviews import REVIEWS, read_reviews
from policyd.cli.bench.saving import SavingOptions, saving_options
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.output import counted, fields_json, format_option
from policyd.cli.shared.policy_options import loaded, policies_option
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.progress import counting
from policyd.cli.shared.terminal.wrapping import aligned
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.versions import KubernetesVersion

NAME = "core"
_DOES = {"validate": "validation", "mutate": "mutation"}
_EPILOG = """\b
Examples:
  policyd bench core -p policies/                  # the built-in reviews
  policyd bench core -p policies/ capture/         # of serve --capture
  policyd bench core -p policies/ deployment.yaml  # a manifest
  policyd bench core -p policies/ capture/ --save before.json
  policyd bench core -p policies/ capture/ --compare before.json \\
      --threshold 10%

\b
What it prints, in microseconds for one request:
  cpu, p50, p99  from the bytes of a review to the bytes of its answer,
                 without HTTP and TLS
  policies       for one request that the policy matched; the share of all
                 CPU time; the cost in units of Kubernetes

Exit status: 0 on success, 1 if something is slower than --threshold allows, 2 if the input or a
policy is invalid, or another measurement cannot be compared, 130 after Ctrl-C.
"""


@click.command(NAME, epilog=_EPILOG)
@policies_option("Measure the policies in this file or directory; may be repeated.")
@option(
    "--rounds NUMBER",
    "Measure everything this many times, one after the other.",
    type=click.IntRange(FEWEST),
    default=30,
)
@option(
    "--duration DURATION",
    f"Stop measuring after this time, if there were {FEWEST} rounds.",
    default="1m",
)
@saving_options
@AUTHORIZER
@format_option("text", "json")
@REVIEWS
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    reviews: tuple[Path, ...],
    rounds: int,
    duration: float,
    saving: SavingOptions,
    authorizer: Authorizer | None,
    form: str,
    version: KubernetesVersion,
) -> None:
    """Measure what your policies cost for each request, policy by policy.

    PATHS are files and directories that policyd serve --capture recorded, files with one JSON
    AdmissionReview per line (.jsonl or .jsonl.gz; - is standard input), or manifests, whose reviews
    are built as policyd apply does. Without PATHS, built-in reviews of Pods, Deployments and other
    objects are used. A review that does not record its webhook is mutated and then validated.

    Every round measures everything once, with work that never changes beside it (parse and print
    the same JSON): --compare uses multiples of that, so that a slower machine alone is no change.
    """
    _, policies = loaded(paths, version)
    given = read_reviews(reviews, policies.mapper)
    policies = policies.with_definitions(given.definitions).with_namespaces(given.namespaces)
    of_policies = MeasuredInput(f"{policies.generation}-{version}", len(policies.policies))
    of_reviews = MeasuredInput(digest(given.reviews), len(given.reviews))
    former = saving.former(Saved(NAME, of_policies, of_reviews, {}))
    calls = requests_of(policies, given.reviews, authorizer, policies.defaults)
    if not calls:
        raise ConfigError(
            "there is nothing to measure: no review is for a webhook that these policies use"
        )
    with counting() as report:
        found = core.measure(policies, calls, RoundLimits(rounds, duration), report, authorizer)
    rows = {each.webhook: list(_rows(policies, each, found)) for each in found.censuses}
    saved = Saved(NAME, of_policies, of_reviews, found.figures, _details(found, rows))
    if saving.finish(saved, former, form, _text(saved, found, rows)):
        raise SystemExit(1)


@dataclass(frozen=True, slots=True)
class _PolicyRow:
    """The cost of one policy at one webhook. ``micros`` and ``units``: for one call that it
    matched; None if it matched none.
    """

    policy: CompiledPolicy
    matched: int
    micros: Figure | None
    share: float
    units: float | None


_Rows = Mapping[Webhook, list[_PolicyRow]]


def _rows(
    policies: CompiledPolicySet, census: Census, found: CoreMeasurement
) -> Iterator[_PolicyRow]:
    """Yield the policies of a webhook, the one that took most time first."""
    whole = found.figures[f"{census.webhook}/{CPU}"].median * census.calls
    rows = []
    for each in policies.policies:
        if (each.validation if census.webhook == "validate" else each.mutation) is None:
            continue
        matched = census.matches.get(each.sort_key, 0)
        micros = found.figures.get(policy_figure(census.webhook, each.sort_key))
        share = 0.0 if micros is None else micros.median * matched / whole
        units = census.units[each.sort_key] / matched if matched else None
        rows.append(_PolicyRow(each, matched, micros, share, units))
    yield from sorted(rows, key=lambda row: (-row.share, row.policy.sort_key))


def _details(found: CoreMeasurement, rows: _Rows) -> JSONObject:
    """Return what the figures do not show, as JSON."""
    return {
        "webhooks": [
            {
                **fields_json(each, "webhook", "calls", "matched", "denied", "errors"),
                "policies": [
                    {
                        **fields_json(row.policy, "name", "kind"),
                        "file": row.policy.source,
                        "matched": row.matched,
                        "micros": None if row.micros is None else row.micros.median,
                        **fields_json(row, "share", "units"),
                    }
                    for row in rows[each.webhook]
                ],
            }
            for each in found.censuses
        ]
    }


def _text(saved: Saved, found: CoreMeasurement, rows: _Rows) -> Iterator[str]:
    """Yield the lines of the report."""
    rounds = max(len(each.rounds) for each in saved.figures.values())
    policies = counted(saved.policies.count, "policy", "policies")
    yield (
        f"{policies}, {counted(saved.reviews.count, 'review')}, {rounds} rounds; microseconds of "
        "one request, and the quartiles of the rounds"
    )
    for each in found.censuses:
        figures = {name: saved.figures[f"{each.webhook}/{name}"] for name in (CPU, *SHARES)}
        yardstick = saved.figures[f"{each.webhook}/{YARDSTICK}"].median
        multiple = Figure("", "", figures[CPU].relative()).median
        yield ""
        yield (
            f"{_DOES[each.webhook]}: {counted(each.calls, 'request')}, {each.matched} matched a "
            f"policy, {each.denied} denied, {each.errors} with errors"
        )
        beside = {CPU: f"{multiple:.2f} times parse and print, {yardstick:,.2f}"}
        yield from aligned(
            [
                (f"  {name}", *_spread(figure), beside.get(name, ""))
                for name, figure in figures.items()
            ]
        )
        yield ""
        heads = ("POLICY", "MATCHED", "TIME", "", "SHARE", "COST")
        yield from aligned([heads, *map(_cells, rows[each.webhook])])


def _cells(row: _PolicyRow) -> tuple[str, ...]:
    if row.micros is None or row.units is None:
        return (row.policy.name, "0", "-", "", "-", "-")
    share, units = f"{row.share:.1%}", f"{row.units:,.0f}"
    return (row.policy.name, f"{row.matched:,}", *_spread(row.micros), share, units)


def _spread(figure: Figure) -> tuple[str, str]:
    low, high = figure.quartiles
    return f"{figure.median:,.2f}", f"({low:,.2f} to {high:,.2f})"
