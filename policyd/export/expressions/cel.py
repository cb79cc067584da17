"""CEL as text that knows how tightly it binds, so that it is combined with few parentheses."""

from dataclasses import dataclass, field

# How tightly CEL binds, loosest first.
TERNARY, OR, AND, RELATION, SUM, PRODUCT, UNARY, MEMBER = range(8)

_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Cel:
    """An expression and its level. ``opposite`` is its negation where that is more than a ``!``,
    ``parts`` are the operands of ``&&`` or ``||``. ``any_of`` is a head such as ``xs.exists(x,``
    and the condition on an item.
    """

    text: str
    level: int = MEMBER
    opposite: "Cel | None" = field(default=None, compare=False)
    parts: tuple["Cel", ...] = field(default=(), compare=False)
    any_of: "tuple[str, Cel] | None" = field(default=None, compare=False)

    def at(self, level: int) -> str:
        """Return the text for a place of this level."""
        return self.text if self.level >= level else f"({self.text})"


TRUE, FALSE = Cel("true"), Cel("false")


def relation(left: str, operator: str, right: str) -> Cel:
    """Return a comparison; both sides bind tighter."""
    other = _OPPOSITES.get(operator)
    opposite = None if other is None else Cel(f"{left} {other} {right}", RELATION)
    return Cel(f"{left} {operator} {right}", RELATION, opposite)
