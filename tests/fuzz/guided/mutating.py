"""Random changes of JSON trees, texts and bytes that keep most of their form."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import yaml

Mutation = Callable[[bytes, Random], bytes]

SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
    0.1,
    -0.0,
    1e308,
    5e-324,
    "",
    "0",
    "-",
    "1Ki",
    "100m",
    "a/b",
    "~1",
    "é",
    "\U0001f600",
    "\x00",
    "\n",
    " ",
    "*",
    "a" * 70,
    "2024-01-01T00:00:00Z",
    "1h",
    "10.0.0.1",
    "::1",
    [],
    {},
)
# What is special somewhere: to JSON, YAML, CEL, patterns, regular expressions, pointers or paths.
SIGNS = "aZ09-_./:*?#%@[](){}<>\"'\\ \n\t\r|&=+,;~`$^!\u2028é\U0001f600\x7f\x00"
MOST = 1 << 16  # bytes of an input; mutations that grow stop there


def tree(value: Any, chance: Random, words: Sequence[str] = ()) -> Any:
    """Return the tree with one to four changes; the argument is not changed."""
    holder = [deepcopy(value)]
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        places = _places(holder)
        holding, key = chance.choice(places)
        _change(holding, key, places, chance, words)
        if not holder:
            holder = [deepcopy(value)]
    return holder[0]


def text(value: str, chance: Random, words: Sequence[str] = ()) -> str:
    """Return the string with one to four changes of characters, words and parts."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        start = chance.randint(0, len(value))
        end = min(len(value), start + chance.choice((0, 1, 1, 3, 10)))
        way = chance.randrange(6)
        if way == 0:
            inserted = ""
        elif way == 1 and words:
            inserted = chance.choice(words)
        elif way == 2:
            inserted = value[start:end] * chance.choice((2, 2, 3, 20))
        elif way == 3 and value:
            other = chance.randrange(len(value))
            inserted = value[other : other + chance.choice((1, 5, 30))]
        elif way == 4:
            inserted = str(chance.choice(SCALARS[3:17]))
        else:
            inserted = chance.choice(SIGNS)
        value = value[:start] + inserted + value[end:]
    return value[:MOST]


def octets(data: bytes, chance: Random) -> bytes:
    """Return the bytes with one to four changes, whatever they mean."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randint(0, len(changed))
        way = chance.randrange(4)
        if way == 0:
            del changed[at : at + chance.choice((1, 2, 8, 64))]
        elif way == 1:
            changed[at:at] = bytes([chance.choice((0, 9, 10, 34, 92, 127, 128, 192, 237, 255))])
        elif way == 2 and changed:
            changed[at % len(changed)] ^= 1 << chance.randrange(8)
        else:
            other = chance.randint(0, len(changed))
            changed[at:at] = changed[other : other + chance.choice((1, 4, 16))]
    return bytes(changed[:MOST])


def json_mutation(words: Sequence[str] = ()) -> Mutation:
    """Return the mutation of inputs that are JSON; of other inputs, and at times, it changes bytes."""

    def mutate(data: bytes, chance: Random) -> bytes:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return octets(data, chance)
        if chance.random() < 0.1:
            return octets(data, chance)
        changed = tree(value, chance, words)
        return json.dumps(changed, ensure_ascii=chance.random() < 0.3).encode(errors="replace")

    return mutate


def text_mutation(words: Sequence[str] = ()) -> Mutation:
    """Return the mutation of inputs that are text; at times it changes bytes."""

    def mutate(data: bytes, chance: Random) -> bytes:
        if chance.random() < 0.05:
            return octets(data, chance)
        return text(data.decode(errors="replace"), chance, words).encode(errors="surrogatepass")

    return mutate


def yaml_mutation(words: Sequence[str], longest: int = MOST) -> Mutation:
    """Return the mutation of YAML: it changes the text, or the trees, which are then JSON."""
    of_text = text_mutation(words)

    def mutate(data: bytes, chance: Random) -> bytes:
        if chance.random() < 0.5:
            return of_text(data, chance)[:longest]
        try:
            documents = [*yaml.load_all(data, yaml.CSafeLoader)]
            changed = [json.dumps(tree(each, chance, words), default=str) for each in documents]
        except (yaml.YAMLError, ValueError, TypeError, LookupError, RecursionError, OverflowError):
            return of_text(data, chance)[:longest]
        return "\n---\n".join(changed).encode("utf-8", "replace")[:longest]

    return mutate


def _places(holder: list[Any]) -> list[tuple[Any, Any]]:
    """Return every place of a tree: what holds it, and the key or index in it."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [holder]
    while waiting:
        holding = waiting.pop()
        keys = holding if isinstance(holding, dict) else range(len(holding))
        for key in keys:
            found.append((holding, key))
            if isinstance(holding[key], dict | list):
                waiting.append(holding[key])
    return found


def _change(
    holding: Any, key: Any, places: list[tuple[Any, Any]], chance: Random, words: Sequence[str]
) -> None:
    value = holding[key]
    way = chance.randrange(9)
    if way == 0:
        del holding[key]
    elif way == 1:
        holding[key] = deepcopy(chance.choice(SCALARS))
    elif way == 2:
        other, its = chance.choice(places)
        if its in other if isinstance(other, dict) else its < len(other):
            holding[key] = deepcopy(other[its])
    elif way == 3:
        holding[key] = chance.choice(([value], {"a": value}, [value, deepcopy(value)]))
    elif way == 4 and words:
        holding[key] = chance.choice(words)
    elif way == 5 and isinstance(holding, dict):
        name = chance.choice(words) if words and chance.random() < 0.5 else text(key, chance)
        holding[name] = deepcopy(value)
        if chance.random() < 0.5 and name != key:
            del holding[key]
    elif way == 6 and isinstance(holding, list):
        holding.insert(key, deepcopy(value))
    elif isinstance(value, str):
        holding[key] = text(value, chance, words)
    elif isinstance(value, int | float):
        holding[key] = chance.choice((-value, value + 1, value * 2, str(value), value / 3))
    else:
        holding[key] = deepcopy(chance.choice(SCALARS))
