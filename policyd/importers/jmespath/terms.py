"""Terms of any form, and what JMESPath makes of them, as CEL: truth, equality, `||` and `&&`. False
are null, false and what is empty; 0 is true.
"""

from dataclasses import dataclass, replace

from policyd.export.expressions.cel import (
    FALSE,
    MEMBER,
    OR,
    RELATION,
    SUM,
    TERNARY,
    TRUE,
    Cel,
    relation,
)
from policyd.importers.jmespath.cel import every, negated, some
from policyd.importers.jmespath.kinds import (
    ANY,
    BOOL,
    LIST,
    NEVER_EMPTY,
    NUMBER,
    NUMBER_OR_STRING,
    QUANTITY,
    SCALARS,
    STRING,
    JsonKind,
    either,
)
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.values import CelValue, Constant


@dataclass(frozen=True, slots=True)
class Either:
    """The first of two values or, if it is null, false or empty, the second one."""

    first: "CelValue | CelList | Either"
    second: "CelValue | CelList | Either"

    @property
    def kind(self) -> JsonKind:
        """Return the kind that both have."""
        return either(self.first.kind, self.second.kind)

    @property
    def name(self) -> str:
        """Return the name of the field that the first value comes from."""
        return self.first.name

    @property
    def may_be_missing(self) -> bool:
        """Return whether both may be missing."""
        return self.second.may_be_missing

    def cel(self) -> Cel:
        """Return the value as CEL."""
        one, two = self.first.text(RELATION), self.second.text(RELATION)
        if self.first.kind.name != self.second.kind.name:
            one, two = f"dyn({one})", f"dyn({two})"
        return Cel(f"{truth(self.first).at(RELATION)} ? {one} : {two}", TERNARY)

    def text(self, level: int = TERNARY) -> str:
        """Return ``cel`` for a place of this level."""
        return self.cel().at(level)

    def or_value(self, default: str) -> str:
        """Return the value, or a default in CEL if both are null."""
        return single(self).or_value(default)

    def presence(self) -> Cel:
        """Return CEL that is true if there is a value; TRUE if there always is."""
        return single(self).presence()


CelTerm = CelValue | CelList | Either


@dataclass(frozen=True, slots=True)
class Several(CelValue):
    """A list whose items the expression spells out."""

    parts: tuple[CelTerm, ...] = ()

    def concatenated(self) -> CelValue:
        """Return the list with the items of those parts that are lists, without missing ones."""
        if all(each.kind.name in SCALARS for each in self.parts):
            if not any(each.may_be_missing for each in self.parts):
                return self
            optionals = ", ".join(single(each).optional() for each in self.parts)
            return CelValue(Cel(f"optional.unwrap([{optionals}])"), self.kind)
        lists = [
            f"[{each.text()}]" if each.kind.name in SCALARS else each.or_value("[]")
            for each in self.parts
        ]
        items = {each.kind.items for each in self.parts}
        kind = JsonKind("list", items.pop() if len(items) == 1 else None)
        return CelValue(Cel(" + ".join(lists), SUM), kind, name=self.parts[0].name)


def single(term: CelTerm) -> CelValue:
    """Return a term as one value."""
    match term:
        case CelValue():
            return term
        case CelList():
            return term.value()
        case Either():
            second = single(term.second)
            one = truth(term.first).at(RELATION)
            need = second.presence()
            needs = TRUE if need == TRUE else Cel(f"{one} || {need.at(RELATION)}", OR)
            return CelValue(term.cel(), term.kind, needs=needs, name=term.name)


def first_of(first: CelTerm, second: CelTerm) -> CelTerm:
    """Return ``first || second``."""
    if isinstance(first, Constant):
        return first if is_true(first.constant) else second
    if not first.may_be_missing and (first.kind == NUMBER or first.name in NEVER_EMPTY):
        return first
    if first.kind == BOOL and second.kind == BOOL and not isinstance(second, Constant):
        return CelValue(some(truth(first), truth(second)), BOOL)
    if not isinstance(second, Constant):
        return Either(first, second)
    if isinstance(first, CelList):
        return replace(first, needs=TRUE) if second.constant == [] else Either(first, second)
    if second.constant is None:
        value = single(first)
        return CelValue(value.cel(), value.kind, needs=value.presence(), name=value.name)
    if isinstance(first, Either):
        return first_of(first.first, first_of(first.second, second))
    if first.kind == ANY and second.constant == "" and first.name.endswith("s"):
        return Either(replace(first, kind=LIST), second)
    if first.kind == QUANTITY and second.constant == "":
        return Either(first, second)
    if first.kind.name not in ("any", "quantity", second.kind.name):
        return Either(first, second)
    return _with_default(first, second)


def or_empty_text(term: CelTerm) -> CelTerm | None:
    """Return ``x`` of ``x || ''``; None for any other value."""
    if (
        isinstance(term, Either)
        and isinstance(term.second, Constant)
        and term.second.constant == ""
    ):
        return term.first
    return None


def or_null(term: CelTerm) -> str:
    """Return the CEL of a value; null, and not an error, if both sides of ``||`` are missing."""
    if not isinstance(term, Either) or not term.may_be_missing:
        return term.text()
    first, second = term.first, term.second
    if isinstance(second, CelValue) and first.kind.name in ("number", "quantity"):
        return f"{single(first).optional()}.or({second.optional()}).orValue(null)"
    return f"{truth(first).at(RELATION)} ? dyn({first.text()}) : {second.or_value('null')}"


def both(first: CelTerm, second: CelTerm) -> CelValue:
    """Return ``first && second``: the second value, or the first one if that is not true."""
    holds = truth(first)
    if first.kind == BOOL and second.kind == BOOL:
        return CelValue(every(holds, truth(second)), BOOL)
    one, two = (f"dyn({each.or_value('null')})" for each in (first, second))
    return CelValue(Cel(f"{holds.at(RELATION)} ? {two} : {one}", TERNARY), nullable=True)


def _with_default(value: CelValue, default: Constant) -> CelValue:
    # A default that is itself empty, or that replaces what cannot be empty, is only for what is
    # missing.
    kind, text = default.kind, default.text()
    if value.kind.name in (default.kind.name, "quantity"):
        kind = value.kind
    empty = not is_true(default.constant)
    if value.name in NUMBER_OR_STRING and default.kind == STRING:
        kind, empty = ANY, True
    never = value.kind == QUANTITY or default.kind == NUMBER or value.name in NEVER_EMPTY
    if empty or never:
        return CelValue(Cel(value.or_value(text)), kind, name=value.name)
    if not value.may_be_missing:
        chosen = f"{truth(value).at(RELATION)} ? {value.text(RELATION)} : {text}"
        return CelValue(Cel(chosen, TERNARY), kind, name=value.name)
    some = "optional.ofNonZeroValue(it)"
    if value.kind == ANY and default.kind == STRING:
        some = "it != '' ? optional.of(it) : optional.none()"
    whole = Cel(f"{value.optional()}.optFlatMap(it, {some}).orValue({text})")
    return CelValue(whole, kind, name=value.name)


def truth(term: CelTerm) -> Cel:
    """Return CEL that is true where a value is not null, false or empty."""
    if isinstance(term, Constant):
        return TRUE if is_true(term.constant) else FALSE
    if isinstance(term, CelList):
        return term.exists(CelValue.presence)
    match term.kind.name:
        case "bool":
            return Cel(term.or_value("false")) if term.may_be_missing else term.cel()
        case "string":
            return relation(term.or_value("''"), "!=", "''")
        case "number" | "quantity":
            return term.presence()
        case "list":
            return relation(term.or_value("[]"), "!=", "[]")
        case "map":
            return relation(term.or_value("{}"), "!=", "{}")
    return negated(relation(term.or_value("''"), "in", "[dyn(''), dyn(false), dyn([]), dyn({})]"))


def equality(left: CelTerm, right: CelTerm) -> Cel:
    """Return CEL that is true where two values are equal; null is equal to null only."""
    if isinstance(left, Constant) and not isinstance(right, Constant):
        left, right = right, left
    if isinstance(right, Constant):
        return _equals(left, right)
    if left.may_be_missing or right.may_be_missing:
        return relation(single(left).optional(), "==", single(right).optional())
    return relation(left.text(MEMBER), "==", right.text(MEMBER))


def _equals(left: CelTerm, right: Constant) -> Cel:
    if right.constant is None:
        return negated(left.presence())
    if left.kind == BOOL and isinstance(right.constant, bool) and not left.may_be_missing:
        return left.cel() if right.constant else negated(left.cel())
    if not left.may_be_missing:
        one = left.text(MEMBER)
        return relation(f"dyn({one})" if one.startswith("double(") else one, "==", right.text())
    neutral = {"string": "''", "number": "0", "bool": "false"}.get(right.kind.name)
    if neutral is None or neutral == right.text():
        return relation(single(left).optional(), "==", f"optional.of({right.text()})")
    return relation(left.or_value(neutral), "==", right.text())


def is_true(value: object) -> bool:
    """Return whether JMESPath takes a literal for true."""
    return bool(value) or (isinstance(value, int | float) and not isinstance(value, bool))
