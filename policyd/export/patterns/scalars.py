"""The leaves of a pattern: test one scalar. A list is compared item by item by ``verdicts``."""

from policyd._core.pattern.leaves import (
    AllTerm,
    BoolLeaf,
    CompareTerm,
    EqualTerm,
    LeafCheck,
    NumberLeaf,
    RangeTerm,
    StringLeaf,
    Term,
)
from policyd.export.expressions.cel import FALSE, TRUE, Cel, relation
from policyd.export.expressions.selectors import fits as string_fits
from policyd.export.expressions.selectors import is_exact
from policyd.export.patterns.amounts import compared, in_range, out_of_range
from policyd.export.patterns.text import every, has_type, negated, some, string
from policyd.export.patterns.wording import decimal_of

_OF_INTS = frozenset("0123456789-*?")
_OF_DOUBLES = _OF_INTS | frozenset(".e+")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def fits(leaf: LeafCheck, value: str) -> Cel:
    """Test a value against a leaf; false for null, maps and lists."""
    if isinstance(leaf, BoolLeaf):
        return relation(value, "==", "true" if leaf.value else "false")
    if isinstance(leaf, NumberLeaf):
        return _number(leaf, value)
    assert isinstance(leaf, StringLeaf)
    whole = relation(value, "==", string(leaf.literal))
    return some(whole, *(_term(term, value) for term in leaf.terms))


def _number(leaf: NumberLeaf, value: str) -> Cel:
    same = _equal(value, leaf.value)
    if leaf.amount is None:
        return same
    quantity = compared(value, leaf.amount, "==")
    return some(same, every(has_type(value, "string"), quantity))


def _equal(value: str, number: int | float) -> Cel:
    """Compare exactly. CEL converts an int to a double to compare it with one."""
    whole = int(number) == number and _SMALLEST <= number <= _LARGEST
    kind = TRUE if whole and float(number) == number else has_type(value, "int")
    if not whole:
        if float(number) != number:
            return FALSE  # no int64 and no double
        kind = has_type(value, "double")
    literal = str(int(number)) if whole else repr(float(number))
    return every(kind, relation(value, "==", literal))


def _term(term: Term, value: str) -> Cel:
    if isinstance(term, AllTerm):
        return every(*(_term(each, value) for each in term.terms))
    if isinstance(term, CompareTerm):
        return compared(value, term.amount, term.operator)
    if isinstance(term, RangeTerm):
        test = out_of_range if term.outside else in_range
        return test(value, term.low, term.high)
    assert isinstance(term, EqualTerm)
    same = _same(term, value)
    return every(_is_scalar(value), negated(same)) if term.negative else same


def _is_scalar(value: str) -> Cel:
    return every(
        relation(value, "!=", "null"),
        relation(f"type({value})", "!=", "map"),
        relation(f"type({value})", "!=", "list"),
    )


def _same(term: EqualTerm, value: str) -> Cel:
    """A number and a boolean are compared as the strings that JSON prints."""
    wildcard = term.wildcard
    text = wildcard.text
    if not text.strip("*") and text:
        return _is_scalar(value)
    parts = [_as_string(text, value)]
    parts += [relation(value, "==", word) for word in ("true", "false") if wildcard.matches(word)]
    if not is_exact(text):
        if _OF_INTS.issuperset(text):
            parts.append(every(has_type(value, "int"), matches(text, f"string({value})")))
        if _OF_DOUBLES.issuperset(text):
            printed = decimal_of(f"string({value})")
            parts.append(every(has_type(value, "double"), matches(text, printed)))
    if term.amount is not None:
        parts.append(compared(value, term.amount, "=="))
    return some(*parts)


def _as_string(text: str, value: str) -> Cel:
    if is_exact(text):
        return relation(value, "==", string(text))
    return every(has_type(value, "string"), matches(text, value))


def matches(text: str, value: str) -> Cel:
    """Match a string with wildcards, with the cheapest function that can."""
    if is_exact(text):
        return relation(value, "==", string(text))
    if not text.strip("*"):
        return has_type(value, "string")
    return Cel(string_fits(text, value, string))
