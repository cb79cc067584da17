"""Patterns: a tree is refused with every fault, or compiled; what it says about a value is consistent.

An input is a list of a pattern and a value: [pattern, value].
"""

import json
from typing import Any

import orjson
import yaml

from policyd._core.json.tree import normal
from policyd.errors import UnreadableReview
from policyd.pattern import PatternError, compile_any_pattern, compile_pattern
from tests import shared
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import reviews

DEPTH = 500
WORDS = (
    "*",
    "?*",
    "!",
    "!a",
    "a|b",
    "a&b",
    ">1",
    ">=1Ki",
    "<100m",
    "<=2h",
    "1..2",
    "1!..2",
    "1Mi-2Gi",
    "null",
    "(name)",
    "=(name)",
    "^(name)",
    "<(name)",
    "X(name)",
    "+(name)",
    "(*)",
    "*(a)",
    "name",
    "containers",
    "true",
    "v1.*",
    "?.?",
    "***",
    "\\*",
    ">0 & <10 | 20",
    "!*:latest",
    "10.0.0.0/8",
    "",
    " ",
)


def check(data: bytes) -> None:
    try:
        found = orjson.loads(data)
        tree, value = found
        normal(found, DEPTH)
    except (ValueError, TypeError, UnreadableReview):
        return
    held = orjson.dumps(found)
    consistent(tree, value)
    if isinstance(tree, list):
        try:
            compile_any_pattern(tree)
        except PatternError as error:
            assert error.faults
    assert orjson.dumps(found) == held, "an argument was changed"


def consistent(tree: Any, value: Any) -> None:
    try:
        pattern = compile_pattern(tree)
    except PatternError as error:
        assert error.faults and str(error.faults[0])
        return
    holds = pattern.holds(value)
    said = pattern.check(value)
    # A pattern whose condition does not hold says nothing, and does not hold.
    assert said is None or (said and not holds)
    assert (pattern.holds(value), pattern.check(value)) == (holds, said), "not the same twice"
    if isinstance(value, dict):
        backwards = {key: value[key] for key in reversed(value)}
        assert pattern.holds(backwards) == holds, "depends on the order of keys"


def seeds() -> list[bytes]:
    pod = orjson.loads(reviews.seeds()[0])["request"]["object"]
    listed: list[Any] = [[pattern, pod] for pattern in _patterns()]
    listed.append(
        [{"a": ">1 & <3", "(b)": "x*", "c": [{"d": "?*"}]}, {"a": 2, "b": "xy", "c": [{"d": "e"}]}]
    )
    return [json.dumps(each).encode() for each in listed]


def _patterns() -> list[Any]:
    found = []
    for file in sorted(shared.ROOT.glob("policies/**/policy.yaml")):
        for document in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
            for validation in document.get("spec", {}).get("validations", []):
                found += [validation[key] for key in ("pattern", "anyPattern") if key in validation]
    return found


TARGET = FuzzTarget(check, seeds, mutating.json_mutation(WORDS))
