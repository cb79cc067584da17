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
    opposite: str | None = None

    def at(self, level: int) -> str:
        """Return the text for a place of this level."""
        return self.text if self.level >= level else f"({self.text})"


TRUE = Cel("true", opposite="false")
FALSE = Cel("false", opposite="true")


def relation(left: str, operator: str, right: str) -> Cel:
    """Return a comparison; both sides bind tighter."""
    opposite = _OPPOSITE.get(operator)
    return Cel(f"{left} {operator} {right}", RELATION, opposite and f"{left} {opposite} {right}")


def negation(what: Cel) -> Cel:
    """Return the opposite."""
    if what.opposite is not None:
        level = MEMBER if what.level == UNARY else what.level
        return Cel(what.opposite, level, what.text)
    return Cel(f"!{what.at(UNARY)}", UNARY, what.text)


def conjunction(parts: Iterable[Cel]) -> Cel:
    """Return CEL that is true if all parts are."""
    return _joined([each for each in parts if each != TRUE], FALSE, TRUE, " && ", AND)


def disjunction(parts: Iterable[Cel]) -> Cel:
    """Return CEL that is true if any part is."""
    return _joined([each for each in parts if each != FALSE], TRUE, FALSE, " || ", OR)


def choice(condition: Cel, first: Cel, second: Cel) -> Cel:
    """Return ``condition ? first : second``."""
    if first == TRUE:
        return disjunction([condition, second])
    if second == FALSE:
        return conjunction([condition, first])
    return Cel(f"{condition.at(OR)} ? {first.at(OR)} : {second.at(TERNARY)}", TERNARY)


def _joined(parts: list[Cel], end: Cel, empty: Cel, joint: str, level: int) -> Cel:
    parts = list(dict.fromkeys(parts))
    if end in parts:
        return end
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    return Cel(joint.join(each.at(level) for each in parts), level)
