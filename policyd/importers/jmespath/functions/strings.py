"""Functions of strings, numbers as strings, versions and times."""

from collections.abc import Sequence

from policyd.importers.jmespath.alternatives import CelTerm, Several
from policyd.importers.jmespath.cel import MEMBER, SUM, TERNARY, Cel, conjunction, relation
from policyd.importers.jmespath.functions.signature import Function
from policyd.importers.jmespath.functions.versions import versions_in
from policyd.importers.jmespath.globs import globbed, pattern_of
from policyd.importers.jmespath.inner import as_string
from policyd.importers.jmespath.kinds import BOOL, NUMBER, STRING, STRINGS, JsonKind
from policyd.importers.jmespath.values import CelValue, Constant, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable


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


def _method(name: str, kind: JsonKind) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        whole, *others = arguments
        text = f"{whole.text(MEMBER)}.{name}({', '.join(each.text() for each in others)})"
        return CelValue(Cel(text), kind, name=whole.name)

    return function


STRINGS_AND_TIMES: dict[str, tuple[int | None, Function]] = {
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
    "to_boolean": (1, _to_boolean),
    "time_before": (2, _before("<")),
    "time_after": (2, _before(">")),
    "time_between": (3, _between),
    "truncate": (2, _truncate),
    "compare": (2, _compare),
    "equal_fold": (2, _equal_fold),
}
