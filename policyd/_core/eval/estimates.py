"""Static cost estimates of calls: ranges of units and sizes, and the rules that several libraries
share.

The table of a library has the rule of a function next to the function that charges at run time. A
rule takes the operands of a call (the receiver first) and returns a ``Charge``. The numbers come
from cel-go (checker/cost.go, ext/lists.go, ext/sets.go) and Kubernetes (apiserver
pkg/cel/library/cost.go). They sometimes differ from the charges at run time: ``startsWith`` is
estimated by the length of the prefix and charged by the length of the string.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

MOST = 2**64 - 1  # unbounded: the largest value of cel-go's counters
CALL_LIMIT = 1_000_000  # cost limit of one evaluation of one expression
_BEYOND = 2.0**64


class Range(NamedTuple):
    """From ``min`` to ``max``: units of cost, or the size of a value (characters, bytes, items)."""

    min: int
    max: int

    def plus(self, other: "Range") -> "Range":
        return Range(_bounded(self.min + other.min), _bounded(self.max + other.max))

    def times(self, other: "Range") -> "Range":
        return Range(_bounded(self.min * other.min), _bounded(self.max * other.max))

    def scaled(self, factor: float) -> "Range":
        """Both ends multiplied by a number, rounded up."""
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
    """The known facts about an argument: ``known`` is its size, None if unbounded.

    ``kind`` is its type as cel-go spells it, ``number`` its value if it is a literal int.
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
    """The cost of a call, and the size of its result if a rule bounds it."""

    cost: Range
    size: Range | None = None


# The cost of comparing two values of a Kubernetes type.
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
    """A function that reads a string once and returns one of the same length."""
    size = operands[0].size
    return Charge(size.scaled(0.1), size)


def concatenation(operands: tuple[Operand, ...]) -> Charge:
    size = operands[0].size.plus(operands[1].size)
    return Charge(size.scaled(0.1), size)


def traversal(operands: tuple[Operand, ...]) -> Charge:
    """A unit per item, plus a tenth of the length of each string item; a tenth of a string."""
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
    """A search for a string in a string."""
    return Charge(operands[0].size.scaled(0.1).times(operands[1].size.scaled(0.1)))


def pattern_search(operands: tuple[Operand, ...]) -> Charge:
    text = operands[0].size.plus(ONE).scaled(0.1)
    return Charge(text.times(operands[1].size.scaled(0.25)))


def comparison(operands: tuple[Operand, ...]) -> Charge:
    """A tenth of the shorter of two values."""
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
    """A call that creates a list of this size."""
    return Charge(size.scaled(factor).plus(CALL_AND_LIST), size)
