"""What ``python -m tools.crossover`` prints: the plan, and the results as text and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policyd.cli.shared.output import counted
from policyd.json_types import JSONObject
from tools.crossover.estimates import Estimate
from tools.crossover.model import (
    API_SERVER,
    POLICYD_PROCESS,
    TOGETHER,
    Arrangement,
    ArrangementResult,
    CreateRequest,
    EngineComparison,
    Results,
)
from tools.crossover.options import CrossoverOptions
from tools.crossover.planning import LABEL, PLURALS, CrossoverPlan

NO_DIFFERENCE = "no measurable difference"
_ADJECTIVES = {"validate": "validating", "mutate": "mutating"}
_ENGINES = {"in-tree": "in the API server", "webhook": "at the webhook"}
_CPU = {
    API_SERVER: "CPU: API server",
    POLICYD_PROCESS: "CPU: policyd",
    TOGETHER: "CPU: both",
}
_GAP = "  "


def plan_text(
    plan: CrossoverPlan,
    requests: Sequence[CreateRequest],
    options: CrossoverOptions,
    where: str,
) -> str:
    """Return what a run does, exactly."""
    lines = [f"On {where} this run", *(f"  - {line}" for line in _steps(plan, requests, options))]
    if plan.left_out:
        lines.append("Left out:")
        lines += [
            f"  - {_ADJECTIVES[each.webhook]} part of {each.policy}: {each.why}"
            for each in plan.left_out
        ]
    return "\n".join(lines)


def _steps(
    plan: CrossoverPlan, requests: Sequence[CreateRequest], options: CrossoverOptions
) -> Iterator[str]:
    names = ", ".join(each.namespace for each in plan.arrangements)
    yield f"creates {counted(len(plan.arrangements), 'namespace')}: {names}"
    for kind, plural in PLURALS.items():
        found = [each for each in plan.documents if each["kind"] == kind]
        if found:
            limits = "each limited to one of these namespaces"
            yield f"creates {len(found)} {plural} named {plan.name}-…, {limits}"
    for each in plan.arrangements:
        if each.engine == "webhook" and each.webhook:
            kind = (
                f"{'Validating' if each.webhook == 'validate' else 'Mutating'}WebhookConfiguration"
            )
            yield f"creates the {kind} {plan.name}, limited to {each.namespace}: {_called(options)}"
    number = options.limits.each * (options.limits.rounds + 1)
    labels = ", ".join(dict.fromkeys(each.label for each in requests))
    yield (
        f"sends {number:,} dry-run creates to each namespace ({labels}), one at a time, for at "
        f"most {options.limits.seconds:.0f} s; nothing of them is stored"
    )
    reads = len(plan.arrangements) * options.limits.rounds + 1
    yield f"reads /metrics of the API server {reads:,} times, if you may"
    yield f"removes what it created; all of it has the label {LABEL}={plan.run}"


def _called(options: CrossoverOptions) -> str:
    if options.serve is not None:
        return f"calls a policyd that is started on {options.serve}"
    assert options.called is not None
    service = options.called.service
    if service is None:
        return f"calls {options.called.url}"
    return f"calls the Service {service.namespace}/{service.name}:{service.port}"


def results_text(plan: CrossoverPlan, results: Results) -> str:
    """Return the table and what it means."""
    head = ("", "median", "p90", "latency", *_CPU.values())
    rows = [head, *(_row(each) for each in results.arrangements)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(head))]
    # A column of which nothing could be measured is not shown.
    shown = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows[1:])]
    creates = results.arrangements[0].creates
    lines = [
        f"{creates:,} dry-run creates for each line, in {results.rounds} rounds; microseconds.",
        "latency and CPU time are for one create, above the same create without policies, with "
        "95 % intervals; ? where they include 0",
        "",
    ]
    for row in rows:
        cells = [row[i].ljust(widths[i]) if i == 0 else row[i].rjust(widths[i]) for i in shown]
        lines.append(_GAP.join(cells).rstrip())
    lines.append("")
    lines += [_verdict(each, plan) for each in results.comparisons]
    lines += [f"note: {remark}" for remark in results.remarks]
    return "\n".join(lines)


def _row(result: ArrangementResult) -> tuple[str, ...]:
    cpu = result.cpu or {}
    return (
        _called_line(result.arrangement),
        f"{result.median:,.0f}",
        f"{result.p90:,.0f}",
        _cell(result.above),
        *(_cell(cpu.get(name)) for name in _CPU),
    )


def _called_line(arrangement: Arrangement) -> str:
    if arrangement.webhook is None:
        return "no policies"
    count = f"{len(arrangement.policies)} {_ADJECTIVES[arrangement.webhook]}"
    return f"{count}, {_ENGINES[arrangement.engine]}"


def _cell(value: Estimate | None) -> str:
    if value is None:
        return ""
    mark = "" if value.measurable else "?"
    return f"{mark}{value.value:+,.0f} ({value.low:+,.0f} to {value.high:+,.0f})"


def _verdict(comparison: EngineComparison, plan: CrossoverPlan) -> str:
    what, value = "CPU time", comparison.cpu
    if value is None:
        what, value = "latency", comparison.latency
    subject = f"{_ADJECTIVES[comparison.webhook]} policies"
    if not value.measurable:
        return f"{subject}: {NO_DIFFERENCE} in {what} ({_interval(value)})"
    where = _ENGINES["in-tree" if value.value < 0 else "webhook"]
    return (
        f"{subject}: cheaper {where}, by {abs(value.value):,.0f} µs of {what} for each create "
        f"({_interval(value)})"
    )


def _interval(value: Estimate) -> str:
    return f"API server minus webhook: {value.low:+,.0f} to {value.high:+,.0f} µs"


def results_json(plan: CrossoverPlan, results: Results) -> JSONObject:
    """Return the results for programs; durations are microseconds for one create."""
    return {
        "rounds": results.rounds,
        "arrangements": [_result_json(each) for each in results.arrangements],
        "comparisons": [
            {
                "webhook": each.webhook,
                "latency": _estimate_json(each.latency),
                "cpu": _estimate_json(each.cpu),
            }
            for each in results.comparisons
        ],
        "leftOut": [
            {"policy": each.policy, "webhook": each.webhook, "reason": each.why}
            for each in plan.left_out
        ],
        "notes": list(results.remarks),
    }


def _result_json(result: ArrangementResult) -> JSONObject:
    cpu: Mapping[str, Estimate] = result.cpu or {}
    return {
        "engine": result.arrangement.engine,
        "webhook": result.arrangement.webhook,
        "policies": list(result.arrangement.policies),
        "creates": result.creates,
        "refused": result.refused,
        "latency": {
            "medianMicros": round(result.median, 1),
            "p90Micros": round(result.p90, 1),
            "above": _estimate_json(result.above),
        },
        "cpu": {name: _estimate_json(each) for name, each in cpu.items()},
    }


def _estimate_json(value: Estimate | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "micros": round(value.value, 1),
        "low": round(value.low, 1),
        "high": round(value.high, 1),
        "measurable": value.measurable,
    }
