"""Questions for policyd and the oracle: expressions at random over one document."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.fuzz import words
from tests.fuzz.grammar import Grammar
from tests.fuzz.misfits import Misfits
from tests.fuzz.misspelt import Misspelt
from tests.fuzz.phrases import ADMISSION, Phrases
from tests.fuzz.splices import Splices

BREAKS = 0.05
PATCH_TYPE = re.compile("Object|JSONPatch|jsonpatch")


def typed(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Expressions led by types; some of them broken afterwards."""
    random = Random(seed)
    grammar, phrases = Grammar(random), Phrases(random)
    for number in range(count):
        text = grammar.expression(number)
        yield question(random, phrases.broken(text) if random.random() < BREAKS else text)


def untyped(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Expressions of another grammar."""
    random = Random(seed)
    phrases = Phrases(random)
    for _ in range(count):
        yield question(random, phrases.expression())


def misfits(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Calls of arguments that only show at run time that they do not fit."""
    random = Random(seed)
    made = Misfits(random)
    for _ in range(count):
        yield question(random, made.expression())


def misspelt(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Names of functions, types and variables with one to three letters wrong."""
    random = Random(seed)
    made = Misspelt(random)
    for _ in range(count):
        yield question(random, made.expression())


def admission(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """What policies see: typed requests and namespaces, the types of mutations."""
    random = Random(seed)
    phrases = Phrases(random, ADMISSION)
    for _ in range(count):
        made = question(random, phrases.phrase(random.randrange(1, 4)))
        made["mode"] = "map"
        made["variables"] |= words.ADMISSION
        yield made


def spliced(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Recorded expressions, bent; asked of every environment."""
    random = Random(seed)
    splices = Splices(random)
    for _ in range(count):
        made = question(random, splices.expression())
        mode = random.choice(("", "", "vap", "map"))
        if PATCH_TYPE.search(made["expression"]):
            mode = "map"  # the only environment of the API server that has them
        if mode:
            made["mode"] = mode
            made["variables"] |= words.ADMISSION
        yield made


def question(random: Random, expression: str) -> dict[str, Any]:
    variables = {
        "object": words.DOCUMENT,
        "oldObject": None,
        "params": {"max": 5, "names": ["web", "db"]},
        "request": {"operation": "CREATE"},
        "namespaceObject": None,
        "variables": {"a": 1},
        "a0": random.choice(words.ANY_VALUES),
        "a1": random.choice(words.ANY_VALUES),
    }
    return {"expression": expression, "variables": variables}
