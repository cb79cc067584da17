"""What ``python -m tools.crossover`` prints for what was measured."""

import re
from collections.abc import Sequence

import pytest

from tools.crossover.measuring import Measured, Samples
from tools.crossover.model import Arrangement, Results
from tools.crossover.output import results_json, results_text
from tools.crossover.planning import CrossoverPlan, LeftOut
from tools.crossover.results import results

ARRANGEMENTS = (
    Arrangement("none", None, "none"),
    Arrangement("in-tree", "validate", "tree", ("p", "q")),
    Arrangement("webhook", "validate", "hook", ("p", "q")),
)
PLAN = CrossoverPlan("r", ARRANGEMENTS, (), (), (LeftOut("x", "mutate", "no"),))
NOISE = (0.0, 3.0, -2.0, 5.0, 1.0, 40.0)  # of whole rounds


def samples(level: float, refused: int = 0, spread: float = 1.0, **cpu: float) -> Samples:
    medians = [level + noise + spread * (-1) ** i for i, noise in enumerate(NOISE)]
    times = {name: [value + n for n in NOISE] for name, value in cpu.items()}
    return Samples(medians, medians, times, refused, "Pod web: no" if refused else "")


def found(*each: Samples, remarks: Sequence[str] = ()) -> Results:
    return results(ARRANGEMENTS, Measured([*each], len(NOISE), [*remarks]))


FULL = found(
    samples(1000, apiServer=500, policyd=0),
    samples(1300, spread=2, apiServer=850, policyd=0),
    samples(2200, spread=3, apiServer=1100, policyd=350),
)


def test_each_arrangement_is_a_line_with_what_it_takes_above_no_policies() -> None:
    lines = results_text(PLAN, FULL).splitlines()
    head = ["median", "p90", "latency", "CPU: API server", "CPU: policyd", "CPU: both"]
    assert re.split("  +", lines[3].strip()) == head
    assert lines[4].split("  ")[0] == "no policies"
    assert lines[5].startswith("2 validating, in the API server")
    assert "+350 (+350 to +350)" in lines[5]
    assert lines[6].startswith("2 validating, at the webhook")
    assert "+600 (+600 to +600)  +350 (+350 to +350)  +950 (+950 to +950)" in lines[6]


def test_the_engines_are_compared_by_the_cpu_time_of_both_processes() -> None:
    assert (
        "validating policies: cheaper in the API server, by 600 µs of CPU time for each create "
        "(API server minus webhook: -600 to -600 µs)"
    ) in results_text(PLAN, FULL)


def test_without_cpu_time_they_are_compared_by_latency() -> None:
    one = found(samples(1000, apiServer=1), samples(1300, apiServer=1), samples(2200, apiServer=1))
    text = results_text(PLAN, one)
    assert "cheaper in the API server, by 900 µs of latency for each create" in text
    header = text.splitlines()[3]
    assert "CPU: API server" in header
    assert "CPU: policyd" not in header
    assert "CPU: both" not in header


def test_a_difference_within_the_noise_is_none() -> None:
    same = found(samples(1000), samples(1300, spread=50), samples(1300, spread=-60))
    text = results_text(PLAN, same)
    assert "validating policies: no measurable difference in latency" in text


def test_a_value_within_the_noise_is_marked() -> None:
    text = results_text(PLAN, found(samples(1000), samples(1003, spread=90), samples(2000)))
    assert "  ?+" in text.splitlines()[5]


def test_the_webhook_may_be_the_cheaper_one() -> None:
    other = found(samples(1000), samples(4000), samples(2200))
    assert "cheaper at the webhook, by 1,800 µs of latency" in results_text(PLAN, other)


def test_remarks_and_refused_creates_are_noted() -> None:
    text = results_text(
        PLAN, found(samples(1), samples(2, refused=3), samples(3), remarks=["not measured: x"])
    )
    notes = [line for line in text.splitlines() if line.startswith("note: ")]
    assert notes[0] == "note: not measured: x"
    assert notes[1].startswith("note: 3 of 6 creates were refused in tree;")
    assert notes[1].endswith("Pod web: no")
    assert "do not evaluate the same policies" in notes[2]


@pytest.mark.parametrize("cpu", [True, False])
def test_json_has_every_number(cpu: bool) -> None:
    measured = FULL if cpu else found(samples(1000), samples(1300), samples(2200))
    report = results_json(PLAN, measured)
    assert report["rounds"] == 6
    last = report["arrangements"][2]
    assert last["engine"], last["webhook"] == ("webhook", "validate")
    assert last["policies"] == ["p", "q"]
    assert last["latency"]["above"]["micros"] == 1200.0
    assert last["latency"]["above"]["measurable"]
    names = {"apiServer", "policyd", "together"} if cpu else set()
    assert set(last["cpu"]) == names
    assert (report["comparisons"][0]["cpu"] is not None) is cpu
    assert report["leftOut"] == [{"policy": "x", "webhook": "mutate", "reason": "no"}]
