"""What `||` of JMESPath yields, as CEL: the first value that is not null, false or empty."""

from dataclasses import dataclass, replace

from policyd.importers.jmespath.cel import RELATION, TERNARY, Cel
from policyd.importers.jmespath.kinds import ANY, NUMBER, STRING, JsonKind, either
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.truth import is_true, truth
from policyd.importers.jmespath.values import CelValue, Constant

# Fields that always hold a string that is not empty.
_NEVER_EMPTY = frozenset({"operation", "kind", "apiVersion", "username"})


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

    def presence(self) -> Cel | None:
        """Return CEL that is true if there is a value; None if there always is."""
        return single(self).presence()


CelTerm = CelValue | CelList | Either


def single(term: CelTerm) -> CelValue:
    """Return a term as one value."""
    match term:
        case CelValue():
            return term
        case CelList():
            return CelValue(term.cel(), term.kind, needs=term.needs, name=term.name)
        case Either():
            second = single(term.second)
            one = truth(term.first).at(RELATION)
            need = second.presence()
            needs = None if need is None else Cel(f"{one} || {need.at(RELATION)}", 1)
            return CelValue(term.cel(), term.kind, needs=needs, name=term.name)


def first_of(first: CelTerm, second: CelTerm) -> CelTerm:
    """Return ``first || second``."""
    if isinstance(first, Constant):
        return first if is_true(first.constant) else second
    if not first.may_be_missing and (first.kind == NUMBER or first.name in _NEVER_EMPTY):
        return first
    if not isinstance(second, Constant):
        return Either(first, second)
    if isinstance(first, CelList):
        return replace(first, needs=None) if second.constant == [] else Either(first, second)
    if isinstance(first, Either) or not _may_be(first.kind, second.kind):
        return Either(first, second)
    return _with_default(first, second)


def _may_be(found: JsonKind, default: JsonKind) -> bool:
    return found.name in ("any", default.name)


def _with_default(value: CelValue, default: Constant) -> CelValue:
    kind = value.kind if value.kind.name == default.kind.name else default.kind
    text = default.text()
    if default.kind == NUMBER or default.constant in ("", False, [], {}):
        return CelValue(Cel(value.or_value(text)), kind, name=value.name)
    if not value.may_be_missing:
        return CelValue(
            Cel(f"{truth(value).at(RELATION)} ? {value.text(RELATION)} : {text}", TERNARY),
            kind,
            name=value.name,
        )
    some = "optional.ofNonZeroValue(it)"
    if value.kind == ANY:
        some = "it != '' ? optional.of(it) : optional.none()" if default.kind == STRING else some
    return CelValue(
        Cel(f"{value.optional()}.optFlatMap(it, {some}).orValue({text})"), kind, name=value.name
    )
