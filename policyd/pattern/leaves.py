"""The notation of leaves: ``?*``, ``>=1Gi``, ``!*:latest``, ``1-10 | 100``. Compares nothing."""

import re

from policyd._core.pattern.checks import PatternCheck
from policyd._core.pattern.leaves import (
    AllTerm,
    Anything,
    BoolLeaf,
    CompareTerm,
    EqualTerm,
    NumberLeaf,
    RangeTerm,
    Something,
    StringLeaf,
    Term,
    Unset,
)
from policyd._core.pattern.strings import amount_of

_OPERATORS = (">=", "<=", ">", "<", "!")
# Spellings that people use instead of an operator.
_MISTAKEN = {"=<": "<=", "=>": ">=", "==": "", "!=": "!", "≤": "<=", "≥": ">=", "≠": "!"}
# Spellings that people use instead of & and |.
_SIGNS = {
    **dict.fromkeys(("and", "AND", "&&"), " & "),
    **dict.fromkeys(("or", "OR", "||", ","), " | "),
}
_WORDS = re.compile(r"((?<=\S)\s++(?:and|AND|&&|or|OR|\|\|)\s++(?=\S)|(?<=\S)\s*+,\s*+(?=\S))")
_NUMBERLIKE = r"[+-]?\d++(?:\.\d++)?[A-Za-zµ]*+(?:\d++(?:\.\d++)?[A-Za-zµ]++)*+"
_RANGE = re.compile(rf"({_NUMBERLIKE})\s*(!?)-\s*({_NUMBERLIKE})")
# Kyverno's variables and references to other fields, which would be plain strings here.
_REFERENCE = re.compile(r"\$\([<>=!]*\.{0,2}/")
_AMOUNTS = "an amount is a number, a quantity (100Mi, 500m) or a duration (1h30m)"


class LeafError(ValueError):
    """An invalid string; the second argument is a hint."""

    @property
    def hint(self) -> str:
        """Return a replacement."""
        return str(self.args[1])


def leaf(value: str | bool | int | float | None) -> PatternCheck:
    """Return the check for a scalar of a pattern. Raises LeafError."""
    if value is None:
        return Unset()
    if isinstance(value, bool):
        return BoolLeaf(value)
    if isinstance(value, int | float):
        return NumberLeaf(value)
    if _is_foreign(value):
        hint = "write an expression validation, which sees request, object and variables"
        raise LeafError(f'"{value}": patterns have no variables and no references', hint)
    if value == "*":
        return Anything()
    if value == "?*":
        return Something()
    return StringLeaf(value, _alternatives(value))


def is_text(value: str) -> bool:
    """Whether no number, quantity or duration matches a string of a pattern."""
    return all(any(map(_is_word, each.split("&"))) for each in value.split("|"))


def _is_word(term: str) -> bool:
    text = term.strip()
    if text.startswith((*_OPERATORS, *_MISTAKEN)) or "*" in text or "?" in text:
        return False
    return amount_of(text) is None and _RANGE.fullmatch(text) is None


def _is_foreign(text: str) -> bool:
    return "}}" in text.partition("{{")[2] or _REFERENCE.search(text) is not None


def _alternatives(text: str) -> list[Term]:
    if not text.strip():
        return [EqualTerm(text, False)]
    return [_all(part, text) for part in text.split("|")]


def _all(text: str, whole: str) -> Term:
    terms = [_term(part.strip(), whole) for part in text.split("&")]
    return terms[0] if len(terms) == 1 else AllTerm(terms)


def _term(text: str, whole: str) -> Term:
    if not text:
        hint = _joined_hint(whole) or "| is or, & is and: write a value on both sides"
        raise LeafError(f'nothing stands beside an operator in "{whole}"', hint)
    for mistaken, instead in _MISTAKEN.items():
        if text.startswith(mistaken):
            value = f"{instead}{text.removeprefix(mistaken).lstrip()}"
            raise LeafError(f'there is no operator {mistaken}, as in "{whole}"', f"write {value}")
    operator, operand = operation(text)
    if operator and not operand:
        raise LeafError(f'the operator {operator} of "{whole}" has no value', "write one behind it")
    if operator == "!":
        if operand.startswith(_OPERATORS):
            hint = "write the opposite operator: < for !>=, or leave !! out"
            raise LeafError(f'two operators follow each other in "{whole}"', hint)
        return EqualTerm(operand, True)
    if operator:
        amount = amount_of(operand)
        if amount is None:
            hint = _joined_hint(whole) or _AMOUNTS
            raise LeafError(f"{operator} cannot compare with {operand!r}", hint)
        return CompareTerm(operator, amount)
    return _range(text) or EqualTerm(text, False)


def _joined_hint(text: str) -> str:
    return f'write "{joined(text)}"' if joined(text) else ""


def joined(text: str) -> str:
    """Return a string with operators instead of the words and commas between its terms; empty if it
    has none.
    """
    written = _WORDS.sub(lambda found: _SIGNS[found[1].strip()], text)
    if written == text:
        return ""
    if all(term.lstrip().startswith("!") for term in written.split("|")):
        return written.replace("|", "&")  # every string differs from one of two different strings
    return written


def operation(term: str) -> tuple[str, str]:
    """Return the operator of a term, or "", and its operand."""
    operator = next((each for each in _OPERATORS if term.startswith(each)), "")
    return operator, term[len(operator) :].strip()


def _range(text: str) -> RangeTerm | None:
    """Parse a range; None for a string that only looks like one."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low, high = amount_of(found[1]), amount_of(found[3])
    if low is None or high is None:
        return None
    order = low.order(high.text)
    if order is None:
        raise LeafError(
            f"the ends of the range {text} do not compare", "write two quantities or two durations"
        )
    if order < 0:
        raise LeafError(
            f"the range {text} starts above its end",
            f"write {high.text}{found[2]}-{low.text}; for the text itself put ? in place of the -",
        )
    return RangeTerm(low, high, bool(found[2]))
