"""Amounts: compare a scalar with a quantity or a duration of a pattern."""

import re
from collections.abc import Callable

from policyd._core.pattern.strings import DURATION, QUANTITY, Amount
from policyd.export.expressions.cel import FALSE, TRUE, Cel, relation
from policyd.export.patterns.text import choice, every, has_type, some, string

_LONGEST = 100  # characters of an amount: MAX_AMOUNT_CHARACTERS of the core
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_Test = Callable[[Callable[[Amount, str], Cel]], Cel]


def compared(value: str, amount: Amount, operator: str) -> Cel:
    """Compare a string or a number with an amount; false for any other value."""
    return _tested(value, amount, lambda order: order(amount, operator))


def in_range(value: str, low: Amount, high: Amount) -> Cel:
    """Test whether a value is in a range, both ends included."""
    if _kind(low) == _kind(high):
        return _tested(value, low, lambda order: every(order(low, ">="), order(high, "<=")))
    return every(compared(value, low, ">="), compared(value, high, "<="))


def out_of_range(value: str, low: Amount, high: Amount) -> Cel:
    """Test whether a value that compares with both ends is out of their range."""
    if _kind(low) == _kind(high):
        return _tested(value, low, lambda order: some(order(low, "<"), order(high, ">")))
    return every(
        _tested(value, low, lambda order: TRUE),
        _tested(value, high, lambda order: TRUE),
        some(compared(value, low, "<"), compared(value, high, ">")),
    )


def _kind(amount: Amount) -> tuple[bool, bool, bool]:
    return amount.is_quantity, amount.timed, _is_whole(amount)


def _is_whole(amount: Amount) -> bool:
    return _WHOLE.fullmatch(amount.text) is not None


def _tested(value: str, amount: Amount, test: _Test) -> Cel:
    """Test a value that compares with an amount of this kind; false for any other."""
    return some(
        every(has_type(value, "string"), _string(value, amount, test)),
        _number(value, amount, test),
    )


def _string(value: str, amount: Amount, test: _Test) -> Cel:
    """A string is tried as a quantity first, like in the core."""
    short = relation(f"size({value})", "<=", str(_LONGEST))
    is_quantity = every(Cel(f"{value}.matches({_raw(QUANTITY)})"), Cel(f"isQuantity({value})"))
    is_duration = every(
        # the form allows a sign alone and an empty string, which are no durations
        Cel(f"{value}.matches('[0hms]$')"),
        Cel(f"{value}.matches({_raw(DURATION)})"),
    )
    as_quantity = test(lambda other, operator: _quantities(value, other, operator))
    as_duration = test(
        lambda other, operator: relation(
            f"duration({value})", operator, f"duration({string(other.text)})"
        )
    )
    if not amount.timed:
        return every(short, is_quantity, as_quantity)
    if not amount.is_quantity:
        return every(short, is_duration, as_duration)
    return every(short, choice(is_quantity, as_quantity, every(is_duration, as_duration)))


def _number(value: str, amount: Amount, test: _Test) -> Cel:
    """A number is a quantity. As a duration, 0 needs no unit."""
    if amount.is_quantity:
        is_int, is_double = has_type(value, "int"), has_type(value, "double")
        quantities = test(lambda other, op: _quantities(f"string({value})", other, op))
        if not _is_whole(amount):
            return every(some(is_int, is_double), quantities)
        ints = test(lambda other, op: relation(value, op, str(int(other.text))))
        return some(every(is_int, ints), every(is_double, quantities))
    zero = test(lambda other, operator: TRUE if _zero_is(other, operator) else FALSE)
    return every(has_type(value, "int"), relation(value, "==", "0"), zero)


def _zero_is(amount: Amount, operator: str) -> bool:
    order = amount.order("0")
    assert order is not None
    return {
        "<": order < 0,
        "<=": order <= 0,
        "==": order == 0,
        ">=": order >= 0,
        ">": order > 0,
    }[operator]


def _quantities(value: str, amount: Amount, operator: str) -> Cel:
    order = f"quantity({value}).compareTo(quantity({string(amount.text)}))"
    return relation(order, operator, "0")


def _raw(pattern: str) -> str:
    """Return a regular expression, which needs no escapes in a raw string."""
    return f"r'{pattern}'" if "\\" in pattern else f"'{pattern}'"
