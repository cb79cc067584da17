"""Results of the samples of a run. Measures nothing."""

from collections.abc import Sequence
from statistics import median

from tools.crossover.estimates import Estimate, differences, percentile
from tools.crossover.measuring import Measured, Samples
from tools.crossover.model import (
    API_SERVER,
    POLICYD_PROCESS,
    TOGETHER,
    Arrangement,
    ArrangementResult,
    EngineComparison,
    Results,
)
from tools.crossover.planning import WEBHOOKS


def results(arrangements: Sequence[Arrangement], measured: Measured) -> Results:
    """Compare each arrangement with the first, which has no policies, and the engines with each
    other.
    """
    base = measured.samples[0]
    found = [
        _result(arrangement, samples, base)
        for arrangement, samples in zip(arrangements, measured.samples, strict=True)
    ]
    by_place = {
        (each.engine, each.webhook): samples
        for each, samples in zip(arrangements, measured.samples, strict=True)
    }
    comparisons = []
    for webhook in WEBHOOKS:
        inside = by_place.get(("in-tree", webhook))
        outside = by_place.get(("webhook", webhook))
        if inside is not None and outside is not None:
            cpu = None
            if POLICYD_PROCESS in inside.cpu and API_SERVER in inside.cpu:
                cpu = differences(_together(inside), _together(outside))
            comparisons.append(
                EngineComparison(webhook, differences(inside.medians, outside.medians), cpu)
            )
    return Results(
        measured.rounds, tuple(found), tuple(comparisons), (*measured.remarks, *_refusals(found))
    )


def _result(arrangement: Arrangement, samples: Samples, base: Samples) -> ArrangementResult:
    above, cpu = None, None
    if arrangement.webhook is not None:
        above, cpu = differences(samples.medians, base.medians), _cpu(samples, base)
    return ArrangementResult(
        arrangement,
        creates=len(samples.latencies),
        refused=samples.refused,
        message=samples.message,
        median=median(samples.latencies),
        p90=percentile(samples.latencies, 0.9),
        above=above,
        cpu=cpu,
    )


def _cpu(samples: Samples, base: Samples) -> dict[str, Estimate]:
    found = {name: differences(samples.cpu[name], base.cpu[name]) for name in samples.cpu}
    if API_SERVER in found and POLICYD_PROCESS in found:
        found[TOGETHER] = differences(_together(samples), _together(base))
    return found


def _together(samples: Samples) -> list[float]:
    return [sum(each) for each in zip(*samples.cpu.values(), strict=True)]


def _refusals(found: Sequence[ArrangementResult]) -> list[str]:
    """Return what refused creates mean: they cost another amount than accepted ones."""
    remarks = [
        f"{each.refused} of {each.creates} creates were refused in {each.arrangement.namespace}; "
        f"give manifests that your policies admit, or compare only refusals: {each.message}"
        for each in found
        if each.refused
    ]
    for webhook in WEBHOOKS:
        counts = {e.refused for e in found if e.arrangement.webhook == webhook}
        if len(counts) > 1:
            remarks.append(
                f"{webhook}: the API server and policyd refused different numbers of creates: they "
                "do not evaluate the same policies, and cannot be compared"
            )
    return remarks
