"""A map that is only read by key answers, and costs, as the map that it stands for."""

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd._core.values.types import KeyedMap
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.types.types import DYN, STRING, list_of, map_of

INDEX = {"a": [1], "b": [2, 3], "long-key": [4]}
KEYED = KeyedMap({"a": [1], "gone": None, "b": [2, 3]}, {"b": [9], "gone": [9], "long-key": [4]})
TYPES = {"reads.r": map_of(STRING, list_of(DYN)), "key": DYN}
KEYS: tuple[object, ...] = ("a", "b", "gone", "none", "long-key", 1, 1.5, True, None, b"a", [], {})
EXPRESSIONS = (
    "reads.r['a']",
    "reads.r['gone']",
    "reads.r['none'][0]",
    "reads.r['b'][1]",
    "reads.r['b'][2]",
    "reads.r[?'a']",
    "reads.r[?'gone'].hasValue()",
    "reads.r[?'none'].orValue([]).size() == 0",
    "reads.r[?'b'][?1].orValue(0)",
    "reads.r.a",
    "reads.r.gone",
    "reads.r.b[0]",
    "reads.r.?a.orValue([])",
    "reads.r.?gone.orValue([])",
    "has(reads.r.a)",
    "has(reads.r.gone)",
    "has(reads.r.none)",
    "'a' in reads.r",
    "'gone' in reads.r && true",
    "!('none' in reads.r)",
    "reads.r[key]",
    "reads.r[?key]",
    "reads.r[?key].orValue([]).map(x, x)",
    "key in reads.r",
    "true ? reads.r[key] : []",
    "reads.r['a'].all(x, x in reads.r['b'])",
)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_it_is_as_the_map(text: str) -> None:
    program = plan(Environment(TYPES).check(text), Layout(tuple(TYPES)))
    keys = KEYS if "key" in text.replace("long-key", "") else ("a",)
    for key in keys:
        whole, keyed = (
            program.evaluate_with_cost({"reads.r": each, "key": key}) for each in (INDEX, KEYED)
        )
        assert (str(whole[0]), whole[1]) == (str(keyed[0]), keyed[1]), key
        assert isinstance(whole[0], CelError) == isinstance(keyed[0], CelError)
