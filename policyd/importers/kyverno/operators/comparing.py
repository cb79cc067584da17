"""Operators about one value: equality and order of numbers, quantities, durations, versions, and
strings with wildcards.

A string that is like a number is not compared with a word: `NotEquals` of `10` and `web` is true,
which Kyverno takes for an error and false.
"""

import re

from policyd.export.expressions.cel import FALSE, MEMBER, SUM, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, negated
from policyd.importers.jmespath.functions.scalars import as_string, compared
from policyd.importers.jmespath.globs import globbed, has_wildcards, like, matches, pattern_of
from policyd.importers.jmespath.images import ImageRegistry
from policyd.importers.jmespath.kinds import SCALARS
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.terms import CelTerm, or_empty_text, single
from policyd.importers.jmespath.values import Constant, Count, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable
from policyd.importers.kyverno.operators.finding import needs

_QUANTITY = re.compile(
    r"[+-]?([0-9]++[.]?[0-9]*+|[.][0-9]++)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]++)?\Z"
)
_DURATION = re.compile(r"[+-]?(([0-9]++[.]?[0-9]*+|[.][0-9]++)(ns|us|ms|s|m|h))++\Z")
_VERSION = re.compile(r"[0-9]++[.][0-9]++[.][0-9]++(-[0-9A-Za-z.-]++)?\Z")


def equals(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `Equals` is."""
    return every(needs(key), needs(value), _equal(key, value))


def not_equals(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `NotEquals` is."""
    return every(needs(key), negated(_equal(key, value)))


def ordered(sign: str, key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `GreaterThan` (`>`) and its like are."""
    for one in (key, value):
        if (first := or_empty_text(one)) is not None:
            # An empty string is neither more nor less than anything.
            sides = (first, value) if one is key else (key, first)
            return every(first.presence(), ordered(sign, *sides))
    return every(needs(key), needs(value), _ordered(key, sign, value))


def _equal(key: CelTerm, value: CelTerm) -> Cel:
    if isinstance(key, Constant) and isinstance(value, Constant):
        return TRUE if _same(key.constant, value.constant) else FALSE
    if isinstance(key, Constant):
        key, value = value, key
    if not isinstance(value, Constant):
        return _equal_data(key, value)
    written = value.constant
    if (found := _any_of(key, "==", value)) is not None:
        return found
    if _differ(key, value):
        return FALSE
    if isinstance(key, ImageRegistry) and (short := key.one_of([written])) is not None:
        return short
    if isinstance(written, str) and has_wildcards(written):
        return globbed(key.text(MEMBER), written)
    if isinstance(written, str) and key.kind.name in ("string", "quantity"):
        function = "duration" if _DURATION.match(written) else "quantity"
        if key.kind.name == "quantity" or _DURATION.match(written):
            return relation(f"{function}({key.text()})", "==", f"{function}({value.text()})")
        if _QUANTITY.match(written):
            same = relation(f"quantity({key.text()})", "==", f"quantity({value.text()})")
            return every(Cel(f"isQuantity({key.text()})"), same)
    if isinstance(written, bool) and key.kind.name == "bool":
        return key.cel() if written else negated(key.cel())
    return relation(key.text(SUM), "==", value.text())


def _equal_data(key: CelTerm, value: CelTerm) -> Cel:
    if isinstance(value, Joined) and value.is_pattern:
        return like(as_string(key), value)
    if "quantity" in (key.kind.name, value.kind.name):
        return relation(f"quantity({key.text()})", "==", f"quantity({value.text()})")
    pattern = single(value)
    if pattern.base.text.startswith("params.") and key.kind.name == "string":
        return Cel(f"{key.text(MEMBER)}.matches({pattern_of(pattern.text(MEMBER))})")
    return relation(key.text(SUM), "==", value.text(SUM))


def _differ(key: CelTerm, value: Constant) -> bool:
    # Whether values of these kinds are never equal.
    kinds = {key.kind.name, value.kind.name}
    return "any" not in kinds and len(kinds) > 1 and not kinds <= {"string", "quantity", "number"}


def _same(one: object, other: object) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return matches(other, one)
    return type(one) is type(other) and one == other


def _ordered(key: CelTerm, sign: str, value: CelTerm) -> Cel:
    if (found := _any_of(key, sign, value)) is not None:
        return found
    sides = (key, value)
    written = [each.constant for each in sides if isinstance(each, Constant)]
    texts = [each for each in written if isinstance(each, str)]
    if isinstance(key, CelList) or isinstance(value, CelList):
        return FALSE
    if any(_DURATION.match(each) for each in texts):
        return relation(_duration(key), sign, _duration(value))
    if any(_VERSION.match(each) for each in texts):
        return compared(f"semver({key.text()})", sign, f"semver({value.text()})")
    if any(not _QUANTITY.match(each) for each in texts):
        return FALSE
    if any(each.kind.name == "number" for each in sides):
        return relation(_number(key), sign, _number(value))
    if texts or any(each.kind.name == "quantity" for each in sides):
        return compared(f"quantity({key.text()})", sign, f"quantity({value.text()})")
    return relation(_number(key), sign, _number(value))


def _number(term: CelTerm) -> str:
    if isinstance(term, Constant):
        if not isinstance(term.constant, str):
            return term.text(SUM)
        try:
            return str(int(term.constant))
        except ValueError:
            pass
    if term.kind.name == "quantity" or isinstance(term, Constant):
        return f"quantity({as_string(term).text}).asApproximateFloat()"
    return f"double({term.text()})" if term.kind.name == "string" else term.text(SUM)


def _duration(term: CelTerm) -> str:
    if term.kind.name == "number":
        return f"duration(string({term.text()}) + 's')"
    if term.kind.name not in SCALARS | {"any"}:
        raise NotTranslatable("a list or a map has no order")
    return f"duration({term.text()})"


def _any_of(key: CelTerm, sign: str, value: CelTerm) -> Cel | None:
    # Whether a list has items, which a comparison of its length with 0 or 1 checks.
    if not isinstance(key, Count) or key.some is None or not isinstance(value, Constant):
        return None
    if (sign, value.constant) in ((">", 0), (">=", 1), ("!=", 0)):
        return key.some
    if (sign, value.constant) in (("==", 0), ("<", 1), ("<=", 0)):
        return negated(key.some)
    return None
