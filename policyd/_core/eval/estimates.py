"""What calls may cost, said before they run: ranges of units and sizes, and the rules that several
libraries share.

A rule stands in its library's table beside the function that charges at run time. It gets the
operands of a call (the receiver first) and gives a ``Charge``. The numbers are those of cel-go
(checker/cost.go, ext/lists.go, ext/sets.go) and of Kubernetes (apiserver pkg/cel/library/cost.go),
which do not agree with the charges at run time everywhere: ``startsWith`` is estimated by the
prefix and charged by the text.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

MOST = 2**64 - 1  # no bound: the counters of cel-go end there
CALL_LIMIT = 1_000_000  # what one evaluation of one expression may cost
_BEYOND = 2.0**64


class Range(NamedTuple):
    """From ``min`` to ``max`` units of cost, or parts of a value (characters, bytes, items)."""

    min: int
    max: int

    def plus(self, other: "Range") -> "Range":
        return Range(_bounded(self.min + other.min), _bounded(self.max + other.max))

    def times(self, other: "Range") -> "Range":
        return Range(_bounded(self.min * other.min), _bounded(self.max * other.max))

    def scaled(self, factor: float) -> "Range":
        """Each end times a number, rounded up."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: "Range") -> "Range":
        return Range(min(self.min, other.min), max(self.max, other.max))


def exactly(number: int) -> Range:
    return Range(number, number)


def _bounded(number: int) -> int:
    return min(number, MOST)


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return MOST if product >= _BEYOND else math.ceil(product)


ZERO = exactly(0)
ONE = exactly(1)
UNKNOWN = Range(0, MOST)


class Operand(NamedTuple):
    """What is known of an argument: ``known`` is None where nothing bounds its size.

    ``kind`` is its type as cel-go spells it, ``number`` its value where it is a literal int.
    ``part`` describes the items of a list.
    """

    kind: str
    known: Range | None = None
    number: int | None = None
    part: "Operand | None" = None

    @property
    def size(self) -> Range:
        return self.known or UNKNOWN


class Charge(NamedTuple):
    """What a call costs, and the size of what it gives where a rule bounds that."""

    cost: Range
    size: Range | None = None


# What two values of a type of Kubernetes cost to compare.
EQUALITY = {
    **dict.fromkeys(
        (
            "net.IP",
            "net.CIDR",
            "kubernetes.Quantity",
            "kubernetes.Semver",
            "kubernetes.authorization.Authorizer",
            "kubernetes.authorization.PathCheck",
            "kubernetes.authorization.GroupCheck",
            "kubernetes.authorization.ResourceCheck",
            "kubernetes.authorization.Decision",
        ),
        ONE,
    ),
    "kubernetes.NamedFormat": Range(1, 64).scaled(0.1),
}
CostRule = Callable[[tuple[Operand, ...]], Charge]
CALL_AND_LIST = exactly(1 + 10)


def first_tenths(operands: tuple[Operand, ...]) -> Charge:
    return Charge(operands[0].size.scaled(0.1))


def first_fifths(operands: tuple[Operand, ...]) -> Charge:
    return Charge(operands[0].size.scaled(0.2))


def second_tenths(operands: tuple[Operand, ...]) -> Charge:
    return Charge(operands[1].size.scaled(0.1))


def same_length(operands: tuple[Operand, ...]) -> Charge:
    """Reads a text once and gives one that is as long."""
    size = operands[0].size
    return Charge(size.scaled(0.1), size)


def concatenation(operands: tuple[Operand, ...]) -> Charge:
    size = operands[0].size.plus(operands[1].size)
    return Charge(size.scaled(0.1), size)


def traversal(operands: tuple[Operand, ...]) -> Charge:
    """A unit for each item, and the length of items that are texts; a tenth of a text."""
    whole = operands[0]
    if whole.part is None:
        return Charge(whole.size.scaled(0.1))
    each = ONE
    if whole.part.kind in ("string", "bytes"):
        each = each.plus(whole.part.size.scaled(0.1))
    return Charge(whole.size.times(each))


def membership(operands: tuple[Operand, ...]) -> Charge:
    return Charge(operands[1].size)


def search(operands: tuple[Operand, ...]) -> Charge:
    """A text in a text."""
    return Charge(operands[0].size.scaled(0.1).times(operands[1].size.scaled(0.1)))


def pattern_search(operands: tuple[Operand, ...]) -> Charge:
    text = operands[0].size.plus(ONE).scaled(0.1)
    return Charge(text.times(operands[1].size.scaled(0.25)))


def comparison(operands: tuple[Operand, ...]) -> Charge:
    """The shorter of two values decides."""
    shorter = min(operands[0].size.max, operands[1].size.max)
    return Charge(Range(min(shorter, 1), shorter).scaled(0.1))


def equality(operands: tuple[Operand, ...]) -> Charge:
    left, right = operands
    if left.kind == right.kind:
        if left.kind in EQUALITY:
            return Charge(EQUALITY[left.kind])
        if left.kind == "kubernetes.URL":
            return Charge(Range(1, right.known.max if right.known else 1).scaled(0.1))
    return comparison(operands)


def allocation(size: Range, factor: float = 1) -> Charge:
    """A call that makes a list of that size."""
    return Charge(size.scaled(factor).plus(CALL_AND_LIST), size)
