"""Pieces of CEL that know how tightly they bind, so that they are joined with few parentheses."""

from collections.abc import Iterable
from dataclasses import dataclass

# How tightly CEL binds, loosest first.
TERNARY, OR, AND, RELATION, SUM, PRODUCT, UNARY, MEMBER = range(8)

_OPPOSITE = {"==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Cel:
    """An expression and its level; ``opposite`` is its negation where that is more than a ``!``."""

    text: str
    level: int = MEMBER
    opposite: "Cel | None" = None

    def at(self, level: int) -> str:
        """Return the text for a place of this level."""
        return self.text if self.level >= level else f"({self.text})"


TRUE = Cel("true", opposite=Cel("false"))
FALSE = Cel("false", opposite=Cel("true"))


def relation(left: str, operator: str, right: str) -> Cel:
    """Return a comparison; both sides bind tighter."""
    whole = Cel(f"{left} {operator} {right}", RELATION)
    if operator not in _OPPOSITE:
        return whole
    return Cel(whole.text, RELATION, Cel(f"{left} {_OPPOSITE[operator]} {right}", RELATION))


def negation(what: Cel) -> Cel:
    """Return the opposite."""
    if what == TRUE:
        return FALSE
    if what == FALSE:
        return TRUE
    if what.opposite is not None:
        return Cel(what.opposite.text, what.opposite.level, Cel(what.text, what.level))
    return Cel(f"!{what.at(UNARY)}", UNARY, what)


def conjunction(parts: Iterable[Cel]) -> Cel:
    """Return CEL that is true if all parts are."""
    return _joined([each for each in parts if each != TRUE], FALSE, TRUE, " && ", AND)


def disjunction(parts: Iterable[Cel]) -> Cel:
    """Return CEL that is true if any part is."""
    return _joined([each for each in parts if each != FALSE], TRUE, FALSE, " || ", OR)


def _joined(parts: list[Cel], end: Cel, empty: Cel, joint: str, level: int) -> Cel:
    parts = list(dict.fromkeys(parts))
    if end in parts:
        return end
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    return Cel(joint.join(each.at(level) for each in parts), level)
