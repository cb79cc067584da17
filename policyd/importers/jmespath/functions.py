"""The functions of JMESPath, and those that Kyverno adds, as CEL (kyverno/kyverno
pkg/engine/jmespath/functions.go). A function of null is an error there; here, one of a value that
is missing.
"""

from collections.abc import Callable, Sequence

from policyd.importers.jmespath.alternatives import CelTerm, Either, first_of, single
from policyd.importers.jmespath.arithmetic import ARITHMETIC
from policyd.importers.jmespath.cel import MEMBER, RELATION, SUM, TERNARY, Cel, relation
from policyd.importers.jmespath.inner import as_string
from policyd.importers.jmespath.kinds import BOOL, MAP, NUMBER, STRING, STRINGS, JsonKind
from policyd.importers.jmespath.refused import REFUSED
from policyd.importers.jmespath.streams import CelList, Generator
from policyd.importers.jmespath.truth import equality
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.jmespath.vocabulary import NotTranslatable
from policyd.importers.jmespath.words import variable

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
        return CelValue(whole.size(), NUMBER)
    if isinstance(whole, Either):
        first, second = whole.first, whole.second
        if second.kind == STRING and isinstance(second, Constant) and second.constant == "":
            return _length([_or_empty(first)], taken)
    return CelValue(Cel(f"size({whole.text()})"), NUMBER)


def _or_empty(term: CelTerm) -> CelTerm:
    # `x || ''` is as long as x, whatever is empty of it.
    return first_of(term, Constant(Cel("[]"), JsonKind("list"), constant=[]))


def _contains(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole, part = arguments
    if isinstance(whole, CelList):
        if whole.keys is not None:
            return CelValue(relation(part.text(SUM), "in", whole.keys.text(SUM)), BOOL)
        if whole.needs is None or len(whole.generators) > 1:
            return CelValue(
                whole.exists(lambda each: equality(each, part)), BOOL, needs=whole.needs
            )
        return CelValue(_strict_exists(whole, part), BOOL)
    if whole.kind == STRING:
        return CelValue(Cel(f"{whole.text(MEMBER)}.contains({part.text()})"), BOOL)
    inside = relation(part.text(SUM), "in", whole.text(SUM))
    if whole.kind.name == "list" or part.kind.name not in ("string", "any"):
        return CelValue(inside, BOOL)
    text = whole.text(MEMBER)
    unknown = f"type({whole.text()}) == string ? {text}.contains({part.text()}) : {inside.text}"
    return CelValue(Cel(unknown, TERNARY), BOOL)


def _strict_exists(stream: CelList, part: CelTerm) -> Cel:
    generator = stream.generators[0]
    condition = stream.exists(lambda each: equality(each, part)).text
    lenient, strict = generator.whole(strict=False), generator.whole(strict=True)
    return Cel(strict + condition.removeprefix(lenient))


def _keys(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    whole = single(arguments[0])
    key = CelValue(Cel(name := variable("keys", taken)), STRING, name=name)
    return CelList((Generator(name, whole),), key, needs=whole.presence(), keys=whole)


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
    return CelValue(Cel(as_string(whole), RELATION), STRING, name=whole.name)


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
    whole = Cel(as_string(text), SUM)
    return CelValue(
        Cel(f"{whole.at(MEMBER) if ' ' in whole.text else whole.text}.matches({pattern.text()})"),
        BOOL,
    )


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


def _of_list(name: str) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        (whole,) = arguments
        items = whole.kind.items if name in ("min", "max") else whole.kind
        return CelValue(Cel(f"{whole.text(MEMBER)}.{name}()"), items, name=whole.name)

    return function


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
    "truncate": (2, _truncate),
    "compare": (2, _compare),
    "equal_fold": (2, _equal_fold),
    "label_match": (2, _label_match),
    "min": (1, _of_list("min")),
    "max": (1, _of_list("max")),
    "sort": (1, _of_list("sort")),
    "reverse": (1, _of_list("reverse")),
    **{name: (2, function) for name, function in ARITHMETIC.items()},
}
