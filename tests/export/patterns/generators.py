"""Random patterns, and objects that have much in common with them. Types are mixed on purpose."""

from random import Random
from typing import Any

from policyd.pattern import PatternError, compile_pattern

KEYS = ["a", "b", "c", "data", "kind", "a/b", "é", "in", "a.b", "x\ny", "", "\u200b😀\x7f"]
WILD_KEYS = ["*", "a*", "?", "*b", "da*", "a?b", "stringData*"]
ODD_AMOUNTS = [
    "0", "1", "5m", "1h", "60m", "1h30m", "90m", "0s", "1e3", "1e1000", "1e-1000", "-0",
    "+", "-", ".", ".5", "1.", "m", "Ki", "1s1h", "9999999h", "999999h", "1.5e3", "0.0",
    "1Gi", "1073741824", "0.000000001", "1e-10", "1µs", "1000ns", ".h", "1.h", "1e0003",
    "999999999999999999999", "1.0000000000001", "12345678901234567.1",
]  # fmt: skip
UNITS = ["", "", "", "m", "k", "M", "Ki", "Mi", "e1", "E-2", "s", "h", "ms", "E", "Ei", "n"]
ODD_WORDS = [
    "", "web", "true", "false", "null", "a b", "aab", "nginx:latest", "é", "😀x", "*", "a*c",
    "<1", "a.b",
]  # fmt: skip
ODD_NUMBERS: list[int | float] = [
    2**31, 2**53, 2**53 + 1, 2.0**53, 2.0**63, -(2**63), 2**63 - 1, 2**63, 60, 1000, 1073741824, 0.0, -0.0, 0.5, 1.0, 1e6, 1e15,
    1e16, 1.5e15, 1234567.25, -2500000.0, 1e-5, 1e300, 5e-324, 123456789012345.6, -1e20,
]  # fmt: skip
ODD_TERMS = ["*", "?*", "!*", "**", "*:*", "!*:latest", "t*", "1*", "*.?", "?", "-*", "0.?", "??*e"]
CHARACTERS = "ab.:/1\\'\"\n\t\a\v\x01\x7fé😀 "
MARKS = ["", "", "", "({})", "=({})", "<({})"]


def pattern(random: Random) -> dict[str, Any]:
    """A pattern that compiles."""
    while True:
        tree = _map(random, 0)
        try:
            compile_pattern(tree)
        except PatternError:
            continue
        return tree


def _tree(random: Random, depth: int) -> Any:
    if depth > 4 or random.random() < 0.5:
        return _leaf(random)
    if random.random() < 0.6:
        return _map(random, depth)
    return [_tree(random, depth + 1) for _ in range(random.choice([0, 1, 1, 1, 2, 2]))]


def _map(random: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(random.choice([0, 1, 1, 2, 2, 3]) if depth else random.randint(1, 3)):
        wild = random.random() < 0.25
        name = random.choice(WILD_KEYS if wild else KEYS)
        kind = random.random()
        if kind < 0.1:
            made[f"X({name})"] = None
        elif kind < 0.2:
            wanted = [_tree(random, depth + 1) for _ in range(random.randint(1, 2))]
            made[f"^({name})"] = wanted
        else:
            mark = random.choice(MARKS)
            made[mark.format(name) if mark else name] = _tree(random, depth + 1)
    return made


def _leaf(random: Random) -> Any:
    kind = random.random()
    if kind < 0.1:
        return None
    if kind < 0.2:
        return random.random() < 0.5
    if kind < 0.35:
        return _number(random)
    terms = [_term(random) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    return "".join(
        term + (random.choice([" | ", "&"]) if at < len(terms) else "")
        for at, term in enumerate(terms, 1)
    )


def _term(random: Random) -> str:
    kind = random.random()
    if kind < 0.2:
        return random.choice(ODD_TERMS)
    if kind < 0.35:
        return "!" + _word(random)
    if kind < 0.6:
        return random.choice([">", ">=", "<", "<="]) + _amount(random)
    if kind < 0.7:
        return _amount(random) + random.choice(["-", "!-", " - "]) + _amount(random)
    if kind < 0.8:
        return "".join(random.choice("a1.*?-e+") for _ in range(random.randint(1, 4)))
    return _word(random)


def _amount(random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(ODD_AMOUNTS)
    number = str(random.choice([random.randint(0, 20), random.randint(0, 2000), random.random()]))
    return random.choice(["", "", "-", "+"]) + number[:6] + random.choice(UNITS)


def _word(random: Random) -> str:
    kind = random.random()
    if kind < 0.3:
        return _amount(random)
    if kind < 0.8:
        return random.choice(ODD_WORDS)
    size = random.choice([3, 6, 70, 80, 90]) if random.random() < 0.3 else 3
    return "".join(random.choice(CHARACTERS) for _ in range(size))


def _number(random: Random) -> int | float:
    kind = random.random()
    if kind < 0.4:
        return random.randint(-3, 20)
    if kind < 0.8:
        return random.choice(ODD_NUMBERS)
    return random.uniform(-1, 1) * 10.0 ** random.randint(-12, 20)


def _scalar(random: Random) -> Any:
    kind = random.random()
    if kind < 0.5:
        return _word(random)
    return random.choice([_in_json(_number(random)), _in_json(_number(random)), True, False, None])


def _in_json(scalar: Any) -> Any:
    """A number as policyd and the API server decode it."""
    if type(scalar) is int and not -(2**63) <= scalar < 2**63:
        return float(scalar)
    return scalar


def value(random: Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = random.random()
    if depth > 2 or kind < 0.6:
        return _scalar(random)
    if kind < 0.8:
        return [value(random, depth + 1) for _ in range(random.randint(0, 3))]
    return {random.choice(KEYS): value(random, depth + 1) for _ in range(random.randint(0, 3))}


def like(random: Random, tree: Any, depth: int = 0) -> Any:
    """A value shaped by a pattern: mostly what it names, with values of every type."""
    if depth and random.random() < 0.08:
        return value(random)
    if isinstance(tree, dict):
        made = {}
        for key, wanted in tree.items():
            name = key[key.index("(") + 1 : -1] if key.endswith(")") else key
            for _ in range(random.choice([0, 1, 2, 3]) if {"*", "?"} & set(name) else 1):
                if random.random() < 0.85:
                    made[_filled(random, name)] = like(random, wanted, depth + 1)
        if random.random() < 0.2:
            made[random.choice(KEYS)] = value(random)
        return made
    if isinstance(tree, list):
        size = random.choice([0, 1, 2, 3]) if random.random() < 0.97 else 14
        return [like(random, random.choice(tree or [1]), depth + 1) for _ in range(size)]
    kind = random.random()
    if kind < 0.3 and isinstance(tree, str):
        parts = tree.replace("&", "|").replace("!-", "|").replace("-", "|").split("|")
        return _filled(random, random.choice(parts).strip(" !<>="))
    if kind < 0.5:
        return _in_json(tree)
    if kind < 0.6:
        return [_scalar(random) for _ in range(random.randint(0, 3))]
    return _scalar(random)


def _filled(random: Random, text: str) -> str:
    """A string that matches wildcards."""
    stars = ["", "ab", "/", "é\x00", "z", "\ue000", "名", "z" * 310, "b-\\\"'"]
    return "".join(
        random.choice(stars)
        if char == "*"
        else random.choice("abx\u200b7")
        if char == "?"
        else char
        for char in text
    )
