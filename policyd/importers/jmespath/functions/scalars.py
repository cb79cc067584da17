"""Functions of strings, numbers, quantities, versions and times."""

import re
from collections.abc import Callable
from functools import partial

from policyd.export.expressions.cel import (
    AND,
    MEMBER,
    PRODUCT,
    RELATION,
    SUM,
    TERNARY,
    Cel,
    relation,
)
from policyd.importers.jmespath.cel import every, negated, some
from policyd.importers.jmespath.globs import globbed, pattern_of
from policyd.importers.jmespath.kinds import BOOL, NUMBER, STRING, STRINGS, JsonKind
from policyd.importers.jmespath.terms import CelTerm, Several
from policyd.importers.jmespath.values import CelValue, Constant, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable

# Makes CEL of the arguments of a call.
Function = Callable[..., CelTerm]

_COMPARISON = re.compile(r"(>=|<=|!=|==|>|<|=|!)?+([0-9]++[.][0-9]++[.][0-9]++[-+.0-9A-Za-z]*+)\Z")
_METHODS = {">": "isGreaterThan", "<": "isLessThan", ">=": "isLessThan", "<=": "isGreaterThan"}


def compared(one: str, sign: str, other: str) -> Cel:
    """Return CEL that compares two quantities or versions by ``<``, ``<=``, ``>`` or ``>=``."""
    asked = Cel(f"{one}.{_METHODS[sign]}({other})")
    return asked if sign in "<>" else negated(asked)


def joined(parts: list[str | CelTerm]) -> CelValue:
    """Return the concatenation of texts and values, as Kyverno substitutes them."""
    return Joined.of(each if isinstance(each, str) else as_string(each) for each in parts)


def as_string(term: CelTerm) -> Cel:
    """Return CEL of a value as it is put into a string.

    Raises NotTranslatable for lists and maps.
    """
    match term.kind.name:
        case "string":
            return term.cel()
        case "list" | "map":
            raise NotTranslatable("CEL cannot put a list or a map into a string")
        case "null":
            return Cel("'null'")
    return Cel(f"string({term.text()})")


def _to_string(whole: CelTerm) -> CelTerm:
    if whole.may_be_missing:
        # Of null, it is the string `null`.
        whole = CelValue(Cel(whole.or_value("'null'")), whole.kind, name=whole.name)
    return CelValue(as_string(whole), STRING, name=whole.name)


def _to_number(whole: CelTerm) -> CelTerm:
    if isinstance(whole, Constant) and isinstance(whole.constant, str):
        number = whole.constant
        if number.isascii() and number.isdigit():
            return CelValue(Cel(str(int(number))), NUMBER)
    if whole.kind == NUMBER:
        return whole
    return CelValue(Cel(f"double({whole.text()})"), NUMBER)


def _join(separator: CelTerm, whole: CelTerm) -> CelTerm:
    if isinstance(whole, Several) and isinstance(separator, Constant):
        parts: list[str | Cel] = []
        for part in whole.parts:
            written = part.constant if isinstance(part, Constant) else None
            parts += [str(separator.constant)] if parts else []
            parts.append(written if isinstance(written, str) else as_string(part))
        return Joined.of(parts)
    return CelValue(Cel(f"{whole.text(MEMBER)}.join({separator.text()})"), STRING)


def _trim(whole: CelTerm, letters: CelTerm) -> CelTerm:
    if not isinstance(letters, Constant) or letters.constant != " ":
        raise NotTranslatable("`trim()` of anything but white space has no counterpart")
    return CelValue(Cel(f"{whole.text(MEMBER)}.trim()"), STRING)


def _regex_match(pattern: CelTerm, text: CelTerm) -> CelTerm:
    return CelValue(Cel(f"{as_string(text).at(MEMBER)}.matches({pattern.text()})"), BOOL)


def _pattern_match(pattern: CelTerm, text: CelTerm) -> CelTerm:
    whole = as_string(text).at(MEMBER)
    if isinstance(pattern, Constant) and isinstance(pattern.constant, str):
        return CelValue(globbed(whole, pattern.constant), BOOL)
    return CelValue(Cel(f"{whole}.matches({pattern_of(pattern.text(MEMBER))})"), BOOL)


def _semver_compare(version: CelTerm, wanted: CelTerm) -> CelTerm:
    if not isinstance(wanted, Constant) or not isinstance(wanted.constant, str):
        raise NotTranslatable("`semver_compare()` with a range that is data has no counterpart")
    # Such as `>=1.2.0 <2.0.0 || 3.0.0`.
    text = f"semver({version.text()})"
    either = [
        every(*[_compared_version(text, each) for each in part.replace(",", " ").split()])
        for part in wanted.constant.split("||")
    ]
    return CelValue(some(*either), BOOL)


def _compared_version(version: str, written: str) -> Cel:
    found = _COMPARISON.match(written)
    if found is None:
        raise NotTranslatable(f"the range of versions `{written}` has no counterpart")
    sign, other = found[1] or "=", f"semver('{found[2]}')"
    if sign in _METHODS:
        return compared(version, sign, other)
    return relation(version, "!=" if sign.startswith("!") else "==", other)


def _compare(first: CelTerm, second: CelTerm) -> CelTerm:
    one, other = first.text(SUM), second.text(SUM)
    return CelValue(Cel(f"{one} == {other} ? 0 : ({one} < {other} ? -1 : 1)", TERNARY), NUMBER)


def _equal_fold(*both: CelTerm) -> CelTerm:
    one, other = (f"{each.text(MEMBER)}.lowerAscii()" for each in both)
    return CelValue(relation(one, "==", other), BOOL)


def _divided(one: CelTerm, other: CelTerm) -> CelTerm:
    if one.kind == NUMBER and other.kind == NUMBER:
        return CelValue(Cel(f"double({one.text()}) / double({other.text()})", PRODUCT), NUMBER)
    if one.kind.name in ("string", "any") and other.kind.name in ("string", "any"):
        parts = (f"quantity({each.text()}).asApproximateFloat()" for each in (one, other))
        return CelValue(Cel(" / ".join(parts), PRODUCT), NUMBER)
    raise NotTranslatable("`divide()` of a number and a quantity has no counterpart")


def _numbers(sign: str, level: int, one: CelTerm, other: CelTerm) -> CelTerm:
    """Return arithmetic of Kyverno (kyverno/kyverno pkg/engine/jmespath/arithmetic.go)."""
    if one.kind != NUMBER or other.kind != NUMBER:
        raise NotTranslatable("arithmetic on anything but numbers has no counterpart")
    return CelValue(Cel(f"{one.text(level)} {sign} {other.text(level + 1)}", level), NUMBER)


def _method(name: str, kind: JsonKind, whole: CelTerm, *others: CelTerm) -> CelTerm:
    text = f"{whole.text(MEMBER)}.{name}({', '.join(each.text() for each in others)})"
    return CelValue(Cel(text), kind, name=whole.name)


def _written(template: str, kind: JsonKind, level: int, *arguments: CelTerm) -> CelTerm:
    """Return CEL by a template: ``{0}`` is the first argument, and ``{it}`` the same where it is
    the target of a method.
    """
    texts = [each.text() for each in arguments]
    text = template.format(*texts, it=arguments[0].text(MEMBER))
    return CelValue(Cel(text, level), kind)


SCALARS: dict[str, tuple[int | None, Function]] = {
    "to_string": (1, _to_string),
    "to_number": (1, _to_number),
    "join": (2, _join),
    "split": (2, partial(_method, "split", STRINGS)),
    "to_upper": (1, partial(_method, "upperAscii", STRING)),
    "to_lower": (1, partial(_method, "lowerAscii", STRING)),
    "trim": (2, _trim),
    "trim_prefix": (
        2,
        partial(
            _written, "{it}.startsWith({1}) ? {it}.substring(size({1})) : {it}", STRING, TERNARY
        ),
    ),
    "starts_with": (2, partial(_method, "startsWith", BOOL)),
    "ends_with": (2, partial(_method, "endsWith", BOOL)),
    "replace": (4, partial(_method, "replace", STRING)),
    "replace_all": (3, partial(_method, "replace", STRING)),
    "regex_match": (2, _regex_match),
    "pattern_match": (2, _pattern_match),
    "semver_compare": (2, _semver_compare),
    "to_boolean": (1, partial(_written, "bool({it}.lowerAscii())", BOOL, MEMBER)),
    "time_before": (2, partial(_written, "timestamp({0}) < timestamp({1})", BOOL, RELATION)),
    "time_after": (2, partial(_written, "timestamp({0}) > timestamp({1})", BOOL, RELATION)),
    "time_between": (
        3,
        partial(
            _written,
            "timestamp({0}) > timestamp({1}) && timestamp({0}) < timestamp({2})",
            BOOL,
            AND,
        ),
    ),
    "truncate": (
        2,
        partial(_written, "size({it}) > {1} ? {it}.substring(0, {1}) : {it}", STRING, TERNARY),
    ),
    "compare": (2, _compare),
    "equal_fold": (2, _equal_fold),
    "add": (2, partial(_numbers, "+", SUM)),
    "subtract": (2, partial(_numbers, "-", SUM)),
    "multiply": (2, partial(_numbers, "*", PRODUCT)),
    "divide": (2, _divided),
    "modulo": (2, partial(_numbers, "%", PRODUCT)),
}
