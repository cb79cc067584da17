"""Kyverno's arithmetic on numbers, quantities and durations as CEL (kyverno/kyverno
pkg/engine/jmespath/arithmetic.go).
"""

from collections.abc import Sequence

from policyd.importers.jmespath.alternatives import CelTerm
from policyd.importers.jmespath.cel import PRODUCT, SUM, Cel
from policyd.importers.jmespath.functions.signature import Function
from policyd.importers.jmespath.kinds import NUMBER
from policyd.importers.jmespath.values import CelValue
from policyd.importers.jmespath.vocabulary import NotTranslatable


def _numbers(sign: str, level: int) -> Function:
    def function(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
        one, other = arguments
        _check(one, other)
        return CelValue(Cel(f"{one.text(level)} {sign} {other.text(level + 1)}", level), NUMBER)

    return function


def _divided(arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    one, other = arguments
    if one.kind == NUMBER and other.kind == NUMBER:
        return CelValue(Cel(f"double({one.text()}) / double({other.text()})", PRODUCT), NUMBER)
    if one.kind.name in ("string", "any") and other.kind.name in ("string", "any"):
        parts = (f"quantity({each.text()}).asApproximateFloat()" for each in (one, other))
        return CelValue(Cel(" / ".join(parts), PRODUCT), NUMBER)
    raise NotTranslatable("`divide()` of a number and a quantity has no counterpart")


def _check(one: CelTerm, other: CelTerm) -> None:
    if one.kind != NUMBER or other.kind != NUMBER:
        raise NotTranslatable("arithmetic on anything but numbers has no counterpart")


ARITHMETIC = {
    "add": (2, _numbers("+", SUM)),
    "subtract": (2, _numbers("-", SUM)),
    "multiply": (2, _numbers("*", PRODUCT)),
    "divide": (2, _divided),
    "modulo": (2, _numbers("%", PRODUCT)),
}
