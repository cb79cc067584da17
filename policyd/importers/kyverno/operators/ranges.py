"""Ranges of numbers and quantities in Kyverno's conditions: `10-20`, and `10!-20` for what is
outside (kyverno/kyverno pkg/engine/operator).
"""

import re
from dataclasses import dataclass

from policyd.importers.jmespath.cel import SUM, Cel, conjunction, disjunction, negation, relation
from policyd.importers.jmespath.inner import as_string
from policyd.importers.jmespath.values import CelValue, Constant

_RANGE = re.compile(
    r"([-+]?[0-9]+(?:[.][0-9]+)?[A-Za-z]*)(!?)-([-+]?[0-9]+(?:[.][0-9]+)?[A-Za-z]*)\Z"
)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Two limits that belong to the range, and whether what is outside is meant."""

    lowest: str
    highest: str
    outside: bool


def range_of(text: str) -> NumberRange | None:
    """Return the range that a string is, None for any other."""
    found = _RANGE.match(text)
    return None if found is None else NumberRange(found[1], found[3], bool(found[2]))


def in_range(key: CelValue, limits: NumberRange) -> Cel:
    """Return CEL that is true if a key is in a range."""
    if limits.lowest.isdigit() and limits.highest.isdigit():
        text, low, high = _number(key), limits.lowest, limits.highest
        inside = conjunction([relation(text, ">=", low), relation(text, "<=", high)])
        outside = disjunction([relation(text, "<", low), relation(text, ">", high)])
    else:
        text = f"quantity({as_string(key).text})"
        below = Cel(f"{text}.isLessThan(quantity('{limits.lowest}'))")
        above = Cel(f"{text}.isGreaterThan(quantity('{limits.highest}'))")
        inside = conjunction([negation(below), negation(above)])
        outside = disjunction([below, above])
    if limits.outside:
        inside, outside = outside, inside
    return Cel(inside.text, inside.level, outside)


def _number(key: CelValue) -> str:
    if isinstance(key, Constant):
        return str(key.constant)
    return f"double({key.text()})" if key.kind.name == "string" else key.text(SUM)
