"""Whatever the text and the JSON: an answer or an error of CEL, soon, and nothing left behind."""

import subprocess
import sys
from time import perf_counter_ns, thread_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.errors import BudgetExceeded, CelCompileError, EvaluationError
from tests.sampling import examples
from tests.shared import ROOT

KUBERNETES = Environment.kubernetes()
SECOND = 1_000_000_000

# Pieces that make up text which gets deeper than the lexer.
TOKENS = [
    "object",
    "params",
    "variables",
    "request",
    "a",
    "x",
    "true",
    "false",
    "null",
    "0",
    "1",
    "-1",
    "2u",
    "1.5",
    "9223372036854775807",
    "'a'",
    '"b"',
    "b'c'",
    "r'\\d'",
    "'\\u00e9'",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "?",
    ":",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    ".?",
    "[?",
    "has(",
    ".all(",
    ".exists(",
    ".map(",
    ".filter(",
    ".sortBy(",
    ".optMap(",
    ".transformMap(",
    ".exists_one(",
    ".size()",
    ".matches(",
    ".format(",
    ".split(",
    ".replace(",
    ".join(",
    ".flatten(",
    ".distinct()",
    ".sort()",
    ".first()",
    ".orValue(",
    ".value()",
    "optional.of(",
    "optional.none()",
    "quantity(",
    "semver(",
    "ip(",
    "cidr(",
    "url(",
    "duration(",
    "timestamp(",
    "int(",
    "string(",
    "type(",
    "dyn(",
    "lists.range(",
    "sets.contains(",
    "format.named(",
    "x,",
    "i,",
    "y,",
    "Object{",
    "JSONPatch{",
]
soup = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=25).map(" ".join)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from("ax"), inner, max_size=4)
    ),
    max_leaves=15,
)


def answer(text: str, variables: dict[str, Any]) -> object:
    """The value, or the error as an exception of policyd; nothing else is raised."""
    try:
        program = KUBERNETES.compile(text)
        return program.evaluate(variables, deadline=perf_counter_ns() + SECOND)
    except (CelCompileError, EvaluationError, BudgetExceeded) as error:
        assert str(error)
        return error


@given(st.text(max_size=60) | soup, json_values, json_values)
@settings(max_examples=examples(1_500))
def test_any_text_over_any_json_ends_well(text: str, subject: Any, params: Any) -> None:
    answer(text, {"object": subject, "params": params})


FUNCTIONS = (
    "size(object)", "object.matches(params)", "object[params]", "object.?a[?params]", "params in object",
    "object + params", "object == params", "object < params", "string(object)", "int(object)", "double(object)",
    "timestamp(object)", "duration(object)", "quantity(object).add(quantity(params))", "semver(object, true).compareTo(semver(params))",
    "ip(object).family()", "cidr(object).containsIP(params)", "url(object).getQuery()", "object.format([params])",
    "object.split(params)", "object.replace(params, object)", "object.sort()", "object.distinct()", "object.flatten(3)",
    "object.map(x, params)", "object.transformMap(k, v, v)", "object.all(k, v, k == v)", "optional.ofNonZeroValue(object).value()",
    "sets.intersects(object, params)", "object.find(params)", "object.substring(params)", "lists.range(object)",
    "timestamp('2024-01-01T00:00:00Z').getHours(object)", "format.named(object).value().validate(params)", "{object: params}",
)  # fmt: skip
PROGRAMS = [KUBERNETES.compile(text) for text in FUNCTIONS]


@given(st.sampled_from(PROGRAMS), json_values, json_values)
@settings(max_examples=examples(2_000))
def test_any_json_in_any_function_ends_well(program: Any, subject: Any, params: Any) -> None:
    try:
        program.evaluate({"object": subject, "params": params}, deadline=perf_counter_ns() + SECOND)
    except (EvaluationError, BudgetExceeded) as error:
        assert str(error)


def nested_json(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


MEGABYTE = 1_000_000
HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "10,000 parentheses": ("(" * 10_000 + "1" + ")" * 10_000, {}),
    "10,000 open parentheses": ("(" * 10_000, {}),
    "10,000 brackets": ("[" * 10_000 + "]" * 10_000, {}),
    "10,000 braces": ("{'a':" * 10_000 + "1" + "}" * 10_000, {}),
    "10,000 signs": ("-" * 10_001 + "object", {"object": 1}),
    "10,000 negations": ("!" * 10_000 + "true", {}),
    "10,000 selections": ("object" + ".a" * 10_000, {"object": {}}),
    "10,000 conditionals": ("true ? 1 : " * 10_000 + "2", {}),
    "10,000 conjunctions": (" && ".join(["object.a == 1"] * 5_000), {"object": {"a": 1}}),
    "99,999 characters of one name": ("a" * 99_999, {}),
    "more characters than allowed": ("1 + " * 25_001 + "1", {}),
    "nested macros": ("object.map(a, " * 200 + "1" + ")" * 200, {"object": [1] * 5}),
    "chain of optMap": ("optional.of(1)" + ".optMap(x, x)" * 40, {}),
    "types that double": ("[1]" + ".map(x, {x: x})" * 60, {}),
    "JSON of 10,000 levels: equal": (
        "object == params",
        {"object": nested_json(5_000), "params": nested_json(5_000)},
    ),
    "JSON of 10,000 levels: as text": (
        "string(object) == '' || '%s'.format([object]) != ''",
        {"object": nested_json(5_000)},
    ),
    "JSON of 10,000 levels: flat": ("object.flatten(10000)", {"object": [nested_json(5_000)]}),
    "JSON of 10,000 levels: a key": ("{object: 1}[object]", {"object": nested_json(5_000)}),
    "JSON of 10,000 levels: distinct": (
        "[object, object].distinct()",
        {"object": nested_json(5_000)},
    ),
    "pattern of 1 MB": ("'a'.matches(object)", {"object": "a?" * (MEGABYTE // 2)}),
    "pattern of 1 MB, nested": (
        "'a'.matches(object)",
        {"object": "(" * (MEGABYTE // 2) + ")" * (MEGABYTE // 2)},
    ),
    "pattern that repeats": (
        "object.matches('((a{0,100}){0,100}){0,100}')",
        {"object": "a" * 1_000},
    ),
    "pattern over 1 MB": ("object.matches('(a*)*b')", {"object": "a" * MEGABYTE}),
    "replace into more and more": ("object" + ".replace('a', 'aaaaaaaaaa')" * 12, {"object": "a"}),
    "replace of nothing": ("object" + ".replace('', object)" * 8, {"object": "abc" * 10}),
    "join of more and more": ("object" + ".map(x, object.join(','))" * 6, {"object": ["ab"] * 30}),
    "format of more and more": (
        "'%s%s'.format([object, object])" * 1,
        {"object": ["x" * MEGABYTE] * 50},
    ),
    "format of many digits": ("'%.1000000f'.format([1.5])", {}),
    "range of everything": ("lists.range(9223372036854775807)", {}),
    "power of quantities": ("quantity('1e1000000').add(quantity('1e-1000000'))", {}),
    "quantity of 1 MB": ("quantity(object).isInteger()", {"object": "9" * MEGABYTE}),
    "int of 1 MB": ("int(object)", {"object": "9" * MEGABYTE}),
    "double of 1 MB": ("double(object)", {"object": "9" * MEGABYTE}),
    "semver of 1 MB": ("semver(object, true)", {"object": "1." * (MEGABYTE // 2)}),
    "duration of 1 MB": ("duration(object)", {"object": "1h" * (MEGABYTE // 2)}),
    "integer beyond 64 bits": (
        "object + 1 > object - 1 || object * object == object",
        {"object": 10**400},
    ),
    "split of 1 MB": ("object.split('').distinct().size()", {"object": "ab" * (MEGABYTE // 2)}),
    "sort of many": ("object.sort().size()", {"object": [*range(500_000)]}),
    "sets of many": (
        "sets.equivalent(object, object)",
        {"object": [[number] for number in range(50_000)]},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_ends_soon(name: str) -> None:
    text, variables = HOSTILE[name]
    start = thread_time()
    answer(text, variables)
    # Not one of them takes a second. What is not bounded would take hours.
    assert thread_time() - start < 60


def test_a_million_evaluations_leave_nothing_behind() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.leftovers"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    blocks, kilobytes, references = map(int, run.stdout.split())
    assert blocks < 200  # of Python's allocator
    assert kilobytes < 4_096
    assert references < 50
