"""Functions of lists and maps."""

from functools import partial

from policyd.export.expressions.cel import MEMBER, SUM, TERNARY, Cel, relation
from policyd.importers.jmespath.cel import every, quoted, variable
from policyd.importers.jmespath.functions.scalars import Function
from policyd.importers.jmespath.kinds import BOOL, MAP, NUMBER, STRING, JsonKind
from policyd.importers.jmespath.streams import CelList, Generator
from policyd.importers.jmespath.terms import CelTerm, equality, first_of, or_empty_text, single
from policyd.importers.jmespath.values import CelValue, Constant, Count, Nulls, Ordered
from policyd.importers.jmespath.vocabulary import NotTranslatable

_NOTHING = Constant(Cel("[]"), JsonKind("list"), constant=[])


def _length(whole: CelTerm) -> CelTerm:
    if isinstance(whole, CelList):
        some = whole.exists(CelValue.presence, strict=True)
        simple = whole.whole is not None
        return Count(whole.size(), NUMBER, some=None if simple else some)
    if (value := or_empty_text(whole)) is not None:  # as long as x, whatever is empty of it
        return _length(first_of(value, _NOTHING))
    return CelValue(Cel(f"size({whole.text()})"), NUMBER)


def _contains(whole: CelTerm, part: CelTerm) -> CelTerm:
    if isinstance(whole, CelList):
        inside = whole.has(part.text(SUM), strict=True)
        found = whole.exists(lambda each: equality(each, part), strict=True)
        return CelValue(found if inside is None else inside, BOOL)
    if whole.kind == STRING:
        return CelValue(Cel(f"{whole.text(MEMBER)}.contains({part.text()})"), BOOL)
    inside = relation(part.text(SUM), "in", whole.text(SUM))
    if whole.kind.name == "list" or part.kind.name not in ("string", "any"):
        return CelValue(inside, BOOL)
    text = whole.text(MEMBER)
    unknown = f"type({whole.text()}) == string ? {text}.contains({part.text()}) : {inside.text}"
    return CelValue(Cel(unknown, TERNARY), BOOL)


def _keys(taken: frozenset[str], given: CelTerm) -> CelTerm:
    whole = single(given)
    name = variable("keys", taken)
    key = CelValue(Cel(name), STRING, name="keys")
    return CelList((Generator(name, whole, of_keys=True),), key, needs=whole.presence())


def _values(taken: frozenset[str], given: CelTerm) -> CelTerm:
    whole = single(given)
    key, name = variable("keys", taken), variable("values", taken)
    value = CelValue(Cel(name), whole.kind.items, name=name)
    return CelList((Generator(name, whole, key=key),), value, needs=whole.presence())


def _items(taken: frozenset[str], whole: CelTerm, *names: CelTerm) -> CelTerm:
    key, value = variable("keys", taken), variable("values", taken)
    fields = [f"{each.text()}: dyn({name})" for each, name in zip(names, (key, value), strict=True)]
    text = f"{whole.text(MEMBER)}.transformList({key}, {value}, {{{', '.join(fields)}}})"
    return CelValue(Cel(text), JsonKind("list", MAP))


def _not_null(*arguments: CelTerm) -> CelTerm:
    *first, last = [single(each) for each in arguments]
    if not first:
        return last
    optional = first[0].optional()
    for each in first[1:]:
        optional = f"{optional}.or({each.optional()})"
    if last.may_be_missing:
        return CelValue(Cel(f"{optional}.or({last.optional()}).value()"), last.kind)
    return CelValue(Cel(f"{optional}.orValue({last.text()})"), last.kind)


def _merge(taken: frozenset[str], whole: CelTerm, *others: CelTerm) -> CelTerm:
    names: list[str] = []
    for each in others:
        if not isinstance(each, Nulls):
            raise NotTranslatable("`merge()` has no counterpart other than for removing fields")
        names += each.names
    key, value = variable("keys", taken), variable("values", taken)
    condition = every(*[relation(key, "!=", quoted(each)) for each in names]).text
    text = f"{whole.text(MEMBER)}.transformMap({key}, {value}, {condition}, {value})"
    return CelValue(Cel(text), MAP)


def _sum(whole: CelTerm) -> CelTerm:
    if whole.kind.items.name not in ("number", "any"):
        raise NotTranslatable("`sum()` of anything but numbers has no counterpart")
    return CelValue(Cel(f"{whole.text(MEMBER)}.sum()"), NUMBER)


def _label_match(taken: frozenset[str], *both: CelTerm) -> CelTerm:
    wanted, found = (each.text(MEMBER) for each in both)
    key, value = variable("keys", taken), variable("values", taken)
    holds = f"{found}[?{key}] == optional.of({value})"
    return CelValue(Cel(f"{wanted}.all({key}, {value}, {holds})"), BOOL)


def _most(name: str, whole: CelTerm) -> CelTerm:
    return CelValue(_untyped(f"{whole.text(MEMBER)}.{name}()", whole), whole.kind.items)


def _ordered(name: str, whole: CelTerm) -> CelTerm:
    if whole.kind.name not in ("list", "any"):
        raise NotTranslatable(f"`{name}()` of anything but a list has no counterpart")
    text = _untyped(f"{whole.text(MEMBER)}.{name}()", whole)
    return Ordered(text, whole.kind, needs=whole.presence(), name=whole.name, items=whole)


def _untyped(text: str, whole: CelTerm) -> Cel:
    # Of unknown items, the type checker takes integers; doubles are compared with integers.
    known = whole.kind.items == NUMBER and "double(" not in text
    return Cel(text if known else f"dyn({text})")


LISTS: dict[str, tuple[int | None, Function]] = {
    "length": (1, _length),
    "contains": (2, _contains),
    "not_null": (None, _not_null),
    "sum": (1, _sum),
    "min": (1, partial(_most, "min")),
    "max": (1, partial(_most, "max")),
    "sort": (1, partial(_ordered, "sort")),
    "reverse": (1, partial(_ordered, "reverse")),
}
# Functions that become macros: their first argument is the names of variables around them.
MACROS: dict[str, tuple[int | None, Function]] = {
    "keys": (1, _keys),
    "values": (1, _values),
    "items": (3, _items),
    "merge": (None, _merge),
    "label_match": (2, _label_match),
}
