"""The functions of JMESPath, and those that Kyverno adds, as CEL (kyverno/kyverno
pkg/engine/jmespath/functions.go). A function of null is an error there; here, one of a value that
is missing.
"""

from collections.abc import Callable, Sequence

from policyd.importers.jmespath.alternatives import CelTerm, Either, Several, first_of, single
from policyd.importers.jmespath.arithmetic import ARITHMETIC
from policyd.importers.jmespath.cel import MEMBER, SUM, TERNARY, TRUE, Cel, conjunction, relation
from policyd.importers.jmespath.globs import globbed, pattern_of
from policyd.importers.jmespath.inner import as_string
from policyd.importers.jmespath.kinds import BOOL, MAP, NUMBER, STRING, STRINGS, JsonKind
from policyd.importers.jmespath.refused import REFUSED
from policyd.importers.jmespath.streams import CelList, Generator
from policyd.importers.jmespath.truth import equality
from policyd.importers.jmespath.values import CelValue, Constant, Count, Joined, Nulls, Ordered
from policyd.importers.jmespath.versions import versions_in
from policyd.importers.jmespath.vocabulary import NotTranslatable
from policyd.importers.jmespath.words import quoted, variable

# What a function makes of its arguments, and of the variables of macros around it.
Function = Callable[[Sequence[CelTerm], frozenset[str]], CelTerm]


def called(name: str, arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    """Return the value of a call.

    Raises NotTranslatable for a function that has no counterpart, and for one that does not exist.
    """
    if name in REFUSED:
        raise NotTranslatable(f"`{name}()` has no counterpart: {REFUSED[name]}")
    if name not in _FUNCTIONS:
        raise NotTranslatable(f"`{name}()` is not a function of JMESPath or Kyverno")
    count, function = _FUNCTIONS[name]
    if count is not None and len(arguments) != count:
        raise NotTranslatable(f"`{name}()` takes {count} arguments, not {len(arguments)}")
    return function(arguments, taken)


def _length(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    (whole,) = arguments
    if isinstance(whole, CelList):
        some = whole.exists(lambda each: each.presence() or TRUE, strict=True)
        simple = whole.whole is not None
        return Count(whole.size(), NUMBER, some=None if simple else some)
    if isinstance(whole, Either) and _is_empty_text(whole.second):
        return _length([first_of(whole.first, _NOTHING)], taken)
    return CelValue(Cel(f"size({whole.text()})"), NUMBER)


def _is_empty_text(term: CelTerm) -> bool:
    # `x || ''` is as long as x, whatever is empty of it.
    return isinstance(term, Constant) and term.constant == ""


_NOTHING = Constant(Cel("[]"), JsonKind("list"), constant=[])


def _contains(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, part = arguments
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


def _keys(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole = single(arguments[0])
    name = variable("keys", taken)
    key = CelValue(Cel(name), STRING, name="keys")
    return CelList((Generator(name, whole, of_keys=True),), key, needs=whole.presence())


def _values(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole = single(arguments[0])
    key, name = variable("keys", taken), variable("values", taken)
    value = CelValue(Cel(name), whole.kind.items, name=name)
    return CelList((Generator(name, whole, key=key),), value, needs=whole.presence())


def _items(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, *names = arguments
    key, value = variable("keys", taken), variable("values", taken)
    fields = [f"{each.text()}: dyn({name})" for each, name in zip(names, (key, value), strict=True)]
    text = f"{whole.text(MEMBER)}.transformList({key}, {value}, {{{', '.join(fields)}}})"
    return CelValue(Cel(text), JsonKind("list", MAP))


def _not_null(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    *first, last = [single(each) for each in arguments]
    if not first:
        return last
    optional = first[0].optional()
    for each in first[1:]:
        optional = f"{optional}.or({each.optional()})"
    if last.may_be_missing:
        return CelValue(Cel(f"{optional}.or({last.optional()}).value()"), last.kind)
    return CelValue(Cel(f"{optional}.orValue({last.text()})"), last.kind)


def _to_string(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    (whole,) = arguments
    if whole.may_be_missing:
        # Of null, it is the string `null`.
        whole = CelValue(Cel(whole.or_value("'null'")), whole.kind, name=whole.name)
    return CelValue(as_string(whole), STRING, name=whole.name)


def _to_number(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    (whole,) = arguments
    if isinstance(whole, Constant) and isinstance(whole.constant, str):
        number = whole.constant
        if number.isascii() and number.isdigit():
            return CelValue(Cel(str(int(number))), NUMBER)
    if whole.kind == NUMBER:
        return whole
    return CelValue(Cel(f"double({whole.text()})"), NUMBER)


def _join(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    separator, whole = arguments
    if isinstance(whole, Several) and isinstance(separator, Constant):
        parts: list[str | Cel] = []
        for part in whole.parts:
            written = part.constant if isinstance(part, Constant) else None
            parts += [str(separator.constant)] if parts else []
            parts.append(written if isinstance(written, str) else as_string(part))
        return Joined.of(parts)
    return CelValue(Cel(f"{whole.text(MEMBER)}.join({separator.text()})"), STRING)


def _trim(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, letters = arguments
    if not isinstance(letters, Constant) or letters.constant != " ":
        raise NotTranslatable("`trim()` of anything but white space has no counterpart")
    return CelValue(Cel(f"{whole.text(MEMBER)}.trim()"), STRING)


def _trim_prefix(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, prefix = arguments
    text, start = whole.text(MEMBER), prefix.text()
    rest = f"{text}.substring(size({start}))"
    return CelValue(Cel(f"{text}.startsWith({start}) ? {rest} : {text}", TERNARY), STRING)


def _regex_match(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    pattern, text = arguments
    return CelValue(Cel(f"{as_string(text).at(MEMBER)}.matches({pattern.text()})"), BOOL)


def _pattern_match(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    pattern, text = arguments
    whole = as_string(text).at(MEMBER)
    if isinstance(pattern, Constant) and isinstance(pattern.constant, str):
        return CelValue(globbed(whole, pattern.constant), BOOL)
    return CelValue(Cel(f"{whole}.matches({pattern_of(pattern.text(MEMBER))})"), BOOL)


def _merge(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, *others = arguments
    names: list[str] = []
    for each in others:
        if not isinstance(each, Nulls):
            raise NotTranslatable("`merge()` has no counterpart other than for removing fields")
        names += each.names
    key, value = variable("keys", taken), variable("values", taken)
    condition = conjunction([relation(key, "!=", quoted(each)) for each in names]).text
    text = f"{whole.text(MEMBER)}.transformMap({key}, {value}, {condition}, {value})"
    return CelValue(Cel(text), MAP)


def _sum(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    (whole,) = arguments
    if whole.kind.items.name not in ("number", "any"):
        raise NotTranslatable("`sum()` of anything but numbers has no counterpart")
    return CelValue(Cel(f"{whole.text(MEMBER)}.sum()"), NUMBER)


def _to_boolean(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    (whole,) = arguments
    return CelValue(Cel(f"bool({whole.text(MEMBER)}.lowerAscii())"), BOOL)


def _semver_compare(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    version, wanted = arguments
    if not isinstance(wanted, Constant) or not isinstance(wanted.constant, str):
        raise NotTranslatable("`semver_compare()` with a range that is data has no counterpart")
    return CelValue(versions_in(f"semver({version.text()})", wanted.constant), BOOL)


def _before(sign: str) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        one, other = (f"timestamp({each.text()})" for each in arguments)
        return CelValue(relation(one, sign, other), BOOL)

    return function


def _between(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    time, start, end = (f"timestamp({each.text()})" for each in arguments)
    return CelValue(conjunction([relation(time, ">", start), relation(time, "<", end)]), BOOL)


def _truncate(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, number = arguments
    text, end = whole.text(MEMBER), number.text()
    short = f"{text}.substring(0, {end})"
    return CelValue(Cel(f"size({text}) > {end} ? {short} : {text}", TERNARY), STRING)


def _compare(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    one, other = (each.text(SUM) for each in arguments)
    return CelValue(Cel(f"{one} == {other} ? 0 : ({one} < {other} ? -1 : 1)", TERNARY), NUMBER)


def _equal_fold(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    one, other = (f"{each.text(MEMBER)}.lowerAscii()" for each in arguments)
    return CelValue(relation(one, "==", other), BOOL)


def _label_match(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    wanted, found = (each.text(MEMBER) for each in arguments)
    key, value = variable("keys", taken), variable("values", taken)
    holds = f"{found}[?{key}] == optional.of({value})"
    return CelValue(Cel(f"{wanted}.all({key}, {value}, {holds})"), BOOL)


def _method(name: str, kind: JsonKind) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        whole, *others = arguments
        text = f"{whole.text(MEMBER)}.{name}({', '.join(each.text() for each in others)})"
        return CelValue(Cel(text), kind, name=whole.name)

    return function


def _most(name: str) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        (whole,) = arguments
        return CelValue(_untyped(f"{whole.text(MEMBER)}.{name}()", whole), whole.kind.items)

    return function


def _ordered(name: str) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        (whole,) = arguments
        if whole.kind.name not in ("list", "any"):
            raise NotTranslatable(f"`{name}()` of anything but a list has no counterpart")
        text = _untyped(f"{whole.text(MEMBER)}.{name}()", whole)
        needs = whole.presence()
        return Ordered(text, whole.kind, needs=needs, name=whole.name, items=whole)

    return function


def _untyped(text: str, whole: CelTerm) -> Cel:
    # Of unknown items, the type checker takes integers.
    return Cel(text if whole.kind.items == NUMBER else f"dyn({text})")


# How many arguments each has (None: any number), and what makes CEL of them.
_FUNCTIONS: dict[str, tuple[int | None, Function]] = {
    "length": (1, _length),
    "contains": (2, _contains),
    "keys": (1, _keys),
    "values": (1, _values),
    "items": (3, _items),
    "not_null": (None, _not_null),
    "to_string": (1, _to_string),
    "to_number": (1, _to_number),
    "join": (2, _join),
    "split": (2, _method("split", STRINGS)),
    "to_upper": (1, _method("upperAscii", STRING)),
    "to_lower": (1, _method("lowerAscii", STRING)),
    "trim": (2, _trim),
    "trim_prefix": (2, _trim_prefix),
    "starts_with": (2, _method("startsWith", BOOL)),
    "ends_with": (2, _method("endsWith", BOOL)),
    "replace": (4, _method("replace", STRING)),
    "replace_all": (3, _method("replace", STRING)),
    "regex_match": (2, _regex_match),
    "pattern_match": (2, _pattern_match),
    "semver_compare": (2, _semver_compare),
    "merge": (None, _merge),
    "sum": (1, _sum),
    "to_boolean": (1, _to_boolean),
    "time_before": (2, _before("<")),
    "time_after": (2, _before(">")),
    "time_between": (3, _between),
    "truncate": (2, _truncate),
    "compare": (2, _compare),
    "equal_fold": (2, _equal_fold),
    "label_match": (2, _label_match),
    "min": (1, _most("min")),
    "max": (1, _most("max")),
    "sort": (1, _ordered("sort")),
    "reverse": (1, _ordered("reverse")),
    **{name: (2, function) for name, function in ARITHMETIC.items()},
}
