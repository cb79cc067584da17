"""What is known of a value before there is one: its JSON type, and that of its items. Only data."""

from dataclasses import dataclass
from typing import Literal

# A quantity is a string or a number. What is any may be of different kinds in different objects.
KindName = Literal["any", "null", "bool", "number", "string", "quantity", "list", "map"]


@dataclass(frozen=True, slots=True)
class JsonKind:
    """A JSON type. ``item`` is the kind of a list's items or of a map's values."""

    name: KindName
    item: "JsonKind | None" = None

    @property
    def items(self) -> "JsonKind":
        """Return the kind of the items."""
        return self.item or ANY


ANY = JsonKind("any")
NULL = JsonKind("null")
BOOL = JsonKind("bool")
NUMBER = JsonKind("number")
STRING = JsonKind("string")
QUANTITY = JsonKind("quantity")
QUANTITIES = JsonKind("map", QUANTITY)
LIST = JsonKind("list")
MAP = JsonKind("map")
STRINGS = JsonKind("list", STRING)
TEXTS = JsonKind("map", STRING)
SCALARS = frozenset({"null", "bool", "number", "string", "quantity"})


def kind_of(value: object) -> JsonKind:
    """Return the kind of a decoded JSON value; that of a list's items if they are of one kind."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int() | float():
            return NUMBER
        case str():
            return STRING
        case list():
            return JsonKind("list", _common(value))
        case _:
            return MAP


def either(first: JsonKind, second: JsonKind) -> JsonKind:
    """Return the kind of a value that has one of two kinds."""
    if first.name != second.name:
        return ANY
    return first if first.item == second.item else JsonKind(first.name)


def _common(values: list[object]) -> JsonKind | None:
    kinds = {kind_of(each) for each in values}
    return kinds.pop() if len(kinds) == 1 else None
