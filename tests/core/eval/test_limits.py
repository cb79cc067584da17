"""What an evaluation may use up: cost, time, depth, memory."""

from time import perf_counter_ns, thread_time
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.errors import CostExceeded, DeadlineExceeded, EvaluationError
from policyd.versions import KubernetesVersion

BEFORE = Environment.kubernetes(KubernetesVersion(1, 36))
KUBERNETES = Environment.kubernetes()
NUMBERS = {"object": list(range(2_000))}
NO_LIMIT = 10**15
MILLISECONDS = 1_000_000
LONG_TEXT = "x" * 1_000_000

# Each of these would take from seconds to years.
ENDLESS: dict[str, tuple[str, dict[str, Any]]] = {
    "nested loops": (
        "object.all(a, object.all(b, object.all(c, object.all(d, a + b + c + d >= 0))))",
        NUMBERS,
    ),
    "loops without cost": (
        "object.all(a, object.filter(b, false) == object.filter(c, false) && "
        "object.all(d, object.filter(e, false) == []))",
        NUMBERS,
    ),
    "long strings": (
        "object.all(a, params.contains('y') || params.startsWith(params))",
        {"object": list(range(100_000)), "params": LONG_TEXT},
    ),
    "large comparisons": (
        "object.all(a, object == params)",
        {"object": list(range(20_000)), "params": list(range(20_000))},
    ),
    "long memberships": (
        "object.all(a, !(-1 in object))",
        {"object": list(range(20_000))},
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_deadline_ends_an_evaluation(name: str) -> None:
    text, variables = ENDLESS[name]
    program = KUBERNETES.compile(text)
    deadline = perf_counter_ns() + 5 * MILLISECONDS
    start = thread_time()
    with pytest.raises(DeadlineExceeded):
        program.evaluate(variables, cost_limit=NO_LIMIT, deadline=deadline)
    # 5 ms, and some more on a slow machine: without the deadline it would be many seconds.
    assert thread_time() - start < 1.0


def test_passed_deadline_ends_even_a_short_evaluation() -> None:
    program = KUBERNETES.compile("object.a == 1")
    with pytest.raises(DeadlineExceeded, match="deadline exceeded"):
        program.evaluate({"object": {"a": 1}}, deadline=1)


def test_cost_limit_is_that_of_kubernetes() -> None:
    program = KUBERNETES.compile("object.all(a, object.all(b, a + b >= 0))")
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate(NUMBERS)


@pytest.mark.parametrize(
    "text",
    [
        "object.flatten(-2000)",
        "[object][0].flatten(-2)",
        "{'a': object}.a.flatten(-1)",
        "object[2000].flatten(-14)",
        "dyn('a').flatten(-13)",
        "dyn('a').flatten(-9223372036854775808)",
    ],
)
def test_cost_below_zero_is_beyond_the_limit(text: str) -> None:
    """The cel-go of 1.36 counts without a sign, and flatten costs its depth times the size."""
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        BEFORE.compile(text).evaluate(NUMBERS)
    with pytest.raises(EvaluationError):
        KUBERNETES.compile(text).evaluate(NUMBERS)


def test_a_map_that_cel_go_cannot_make_is_an_error_when_it_is_used() -> None:
    program = KUBERNETES.compile("{b'a': 1}")
    with pytest.raises(EvaluationError, match="hash of unhashable type"):
        program.evaluate({})


@pytest.mark.parametrize(("limit", "passes"), [(5, True), (4, False)])
def test_cost_may_reach_the_limit_but_not_pass_it(limit: int, passes: bool) -> None:
    program = KUBERNETES.compile("object.metadata.labels['app'] == 'web'")
    variables = {"object": {"metadata": {"labels": {"app": "web"}}}}
    if passes:
        assert program.evaluate(variables, cost_limit=limit) is True
    else:
        with pytest.raises(CostExceeded):
            program.evaluate(variables, cost_limit=limit)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_deep_values_are_compared_without_exhausting_the_stack() -> None:
    program = KUBERNETES.compile("object == params")
    assert program.evaluate({"object": nested(900), "params": nested(900)}) is True
    deep = {"object": nested(200_000), "params": nested(200_000)}
    with pytest.raises(CostExceeded, match="nested too deeply"):
        program.evaluate(deep)


@pytest.mark.parametrize(
    "text",
    [
        "object.map(x, x + x).map(x, x + x).map(x, x + x)[0]",
        "lists.range(1000).map(i, object[0] + string(i)).size()",
        "object.map(x, x.replace('', 'a' + x)).size()",
        "object.map(x, '%s%s%s%s%s%s%s%s%s%s'.format([x, x, x, x, x, x, x, x, x, x])).size()",
        "object.map(x, [x, x, x, x, x, x, x, x].join(x)).size()",
        "object.map(x, x.split('')).size()",
        "object.map(x, bytes(x) + bytes(x) + bytes(x)).size()",
        # What is left after a long string: quantities of many digits are read slowly.
        "[dyn(object[0] + object[0] + object[0]), dyn(lists.range(10000).map(i, quantity("
        "'12345678901234567890e9999' + string(i % 10))))].size()",
    ],
)
def test_values_end_before_memory_does(text: str) -> None:
    program = KUBERNETES.compile(text)
    with pytest.raises(CostExceeded, match="more than 64 MiB"):
        program.evaluate({"object": ["x" * 12_000_000]}, cost_limit=NO_LIMIT)


def test_lists_end_before_memory_does() -> None:
    doubled = "object"
    for _ in range(14):
        doubled = f"[{doubled}].map(x, x + x)[0]"
    with pytest.raises(CostExceeded, match="more than 64 MiB"):
        KUBERNETES.compile(doubled).evaluate(NUMBERS)
