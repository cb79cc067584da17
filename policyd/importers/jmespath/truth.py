"""Truth and equality of JMESPath as CEL. False are null, false and what is empty; 0 is true."""

from typing import Protocol

from policyd.importers.jmespath.cel import (
    FALSE,
    MEMBER,
    RELATION,
    TRUE,
    Cel,
    negation,
    relation,
)
from policyd.importers.jmespath.kinds import BOOL, JsonKind
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.values import CelValue, Constant


class Valued(Protocol):
    """A term of any form."""

    @property
    def kind(self) -> JsonKind: ...
    @property
    def may_be_missing(self) -> bool: ...
    def cel(self) -> Cel: ...
    def text(self, level: int = 0) -> str: ...
    def or_value(self, default: str) -> str: ...
    def presence(self) -> Cel | None: ...


def truth(term: Valued) -> Cel:
    """Return CEL that is true where a value is not null, false or empty."""
    if isinstance(term, Constant):
        return TRUE if is_true(term.constant) else FALSE
    if isinstance(term, CelList):
        return term.exists(lambda element: element.presence() or TRUE)
    match term.kind.name:
        case "bool":
            return Cel(term.or_value("false")) if term.may_be_missing else term.cel()
        case "string":
            return relation(term.or_value("''"), "!=", "''")
        case "number" | "quantity":
            return term.presence() or TRUE
        case "list":
            return relation(term.or_value("[]"), "!=", "[]")
        case "map":
            return relation(term.or_value("{}"), "!=", "{}")
    return negation(relation(term.or_value("''"), "in", "[dyn(''), dyn(false), dyn([]), dyn({})]"))


def equality(left: Valued, right: Valued) -> Cel:
    """Return CEL that is true where two values are equal; null is equal to null only."""
    if isinstance(left, Constant) and not isinstance(right, Constant):
        left, right = right, left
    if isinstance(right, Constant):
        return _equals(left, right)
    if left.may_be_missing or right.may_be_missing:
        return relation(_optional(left), "==", _optional(right))
    return relation(left.text(MEMBER), "==", right.text(MEMBER))


def _equals(left: Valued, right: Constant) -> Cel:
    if right.constant is None:
        need = left.presence()
        return FALSE if need is None else negation(need)
    if left.kind == BOOL and isinstance(right.constant, bool) and not left.may_be_missing:
        return left.cel() if right.constant else negation(left.cel())
    if not left.may_be_missing:
        return relation(left.text(MEMBER), "==", right.text())
    neutral = {"string": "''", "number": "0", "bool": "false"}.get(right.kind.name)
    if neutral is None or neutral == right.text():
        return relation(_optional(left), "==", f"optional.of({right.text()})")
    return relation(left.or_value(neutral), "==", right.text())


def _optional(term: Valued) -> str:
    if isinstance(term, CelValue):
        return term.optional()
    need = term.presence()
    some = f"optional.of({term.text()})"
    return some if need is None else f"({need.at(RELATION)} ? {some} : optional.none())"


def is_true(value: object) -> bool:
    """Return whether JMESPath takes a literal for true."""
    return bool(value) or (isinstance(value, int | float) and not isinstance(value, bool))
