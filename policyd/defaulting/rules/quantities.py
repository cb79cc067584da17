"""Quantities of resources, which Kubernetes keeps in thousandths."""

from decimal import ROUND_CEILING, Decimal, InvalidOperation

from policyd._core.lib.quantity import canonical_quantity
from policyd.json_types import JSON

_FRACTIONS = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
_DECIMAL = {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)}
_BINARY = {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}
_SUFFIXES = {**_FRACTIONS, **_DECIMAL, **_BINARY}
_MILLI = _FRACTIONS["m"]


def number(quantity: str) -> Decimal:
    """Return the value of a canonical quantity."""
    digits = quantity.rstrip("numkKMGTPEi")
    return Decimal(digits) * _SUFFIXES.get(quantity[len(digits) :], Decimal(1))


def plus(one: str, other: str) -> str:
    """Return the sum of canonical quantities, in the notation of the first that is not zero."""
    total = number(one) + number(other)
    form = one if number(one) else other
    if form.endswith("i"):
        return canonical_quantity(f"{total / 1024:f}Ki")
    return canonical_quantity(f"{total:f}")


def rounded(quantity: JSON) -> JSON:
    """Round a canonical quantity up to thousandths; leave other values unchanged."""
    if not isinstance(quantity, str) or (quantity[-1:] not in ("n", "u") and "e-" not in quantity):
        return quantity
    try:
        thousandths = (number(quantity) / _MILLI).to_integral_value(ROUND_CEILING)
    except InvalidOperation:
        return quantity
    return canonical_quantity(f"{thousandths}{'e-3' if 'e' in quantity else 'm'}")
