"""The expressions of a Policy as people read them: shared where they repeat, and long ones in
several lines, broken at operators, loosest first, then in brackets.
"""

import copy
from collections.abc import Iterable, Sequence
from itertools import pairwise

from policyd.cel.syntax.lexer import Token
from policyd.export.expressions.brackets import arguments, deeper, end_of, groups, tokens_of
from policyd.importers.expressions.sharing import expressions_of, share
from policyd.json_types import JSONObject

_WIDTH = 90  # characters: an expression is indented in its document
_SHORT = 25  # characters: an operand of a comparison that stays beside its operator
_STEP = "  "
# Operators, loosest first; a line begins with one.
_CHOICE = ("?", ":")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_SUM = ("+",)
_OPERATORS = (_CHOICE, ("||",), ("&&",), _COMPARISONS, _SUM, ("/",))


def readable(spec: JSONObject, *, authored: bool = False) -> JSONObject:
    """Return the ``spec`` of a Policy. ``authored``: its expressions come from the source, and
    are only broken into lines.
    """
    found = copy.deepcopy(spec)
    if not authored:
        share(found)
    for holder, field in expressions_of(found):
        holder[field] = wrapped(holder[field])
    for each in found.get("matchConditions") or ():
        each["expression"] = wrapped(each["expression"])
    return found


def wrapped(text: str) -> str:
    """Return an expression of one line in lines that are not much longer than others.

    >>> print(wrapped("first.exists(each, each.size() > 100000000000000000) && " * 2 + "second"))
    first.exists(each, each.size() > 100000000000000000)
    && first.exists(each, each.size() > 100000000000000000)
    && second
    """
    return text if "\n" in text else _broken(text, _WIDTH)


def _broken(text: str, room: int) -> str:
    """Return a part of an expression in lines of at most ``room`` characters, if possible."""
    if len(text) <= room:
        return text
    tokens = tokens_of(text)
    longest = max(groups(tokens), key=_length, default=[])
    for operators in _OPERATORS:
        found = _operators(tokens, operators)
        short = operators == _COMPARISONS and found and _is_short(text, found[0])
        if found and not (short and _length(longest) > _SHORT):
            return _at_operators(text, found, room)
    return _in_brackets(text, longest, room)


def _operators(tokens: Sequence[Token], wanted: tuple[str, ...]) -> list[Token]:
    """Return these operators outside of brackets; ``.?`` is another operator."""
    found, depth = [], 0
    for before, token in pairwise(tokens):
        depth += max(deeper(before), 0) + min(deeper(token), 0)
        if depth == 0 and token.text in wanted and before.text != ".":
            found.append(token)
    return found


def _is_short(text: str, operator: Token) -> bool:
    right = text[end_of(operator) :]
    return min(len(text[: operator.pos].strip()), len(right.strip())) < _SHORT


def _at_operators(text: str, operators: Sequence[Token], room: int) -> str:
    starts = [each.pos for each in operators]
    ends = [*starts[1:], len(text)]
    indent = _STEP if operators[0].text in _CHOICE else ""
    lines = [_broken(text[: starts[0]].strip(), room)]
    for sign, end in zip((each.text for each in operators), ends, strict=True):
        start = starts[len(lines) - 1] + len(sign)
        below = _broken(text[start:end].strip(), room - len(indent) - len(sign) - 1)
        lines.append(f"{indent}{sign} {_indented(below, indent)}")
    return _filled(lines, room) if operators[0].text in _SUM else "\n".join(lines)


def _in_brackets(text: str, longest: Sequence[Token], room: int) -> str:
    """Break inside of the longest brackets, and around them; names of variables stay before."""
    given = arguments(text, longest) if longest else []
    if not given:
        return text
    start, end = end_of(longest[0]), longest[-1].pos
    head = text[:start]
    if len(head) > room:
        head = _broken(head[:-1], room) + head[-1]
    while len(given) > 1 and given[0].isidentifier():
        head += f"{given.pop(0)}, "
    below = [_argument(each, longest[0].text, room - len(_STEP)) for each in given]
    commas = [*(f"{each}," for each in below[:-1]), below[-1]]
    body = _indented(_filled(commas, room - len(_STEP)), _STEP)
    tail = text[end] + _broken(text[end + 1 :], room - 1)
    return f"{head.rstrip()}\n{_STEP}{body}\n{tail}"


def _argument(text: str, bracket: str, room: int) -> str:
    """Return an argument in lines; the key of an entry of a map stays with its value."""
    colons = _operators(tokens_of(text), (":",)) if bracket == "{" else []
    if not colons:
        return _broken(text, room)
    key, value = text[: end_of(colons[0])], text[end_of(colons[0]) :]
    return f"{key} {_broken(value.strip(), room - len(key) - 1)}"


def _length(tokens: Sequence[Token]) -> int:
    return end_of(tokens[-1]) - tokens[0].pos if tokens else 0


def _filled(pieces: Iterable[str], room: int) -> str:
    """Return pieces in lines, as many in one as there is room for."""
    lines: list[str] = []
    for each in pieces:
        if lines and "\n" not in f"{lines[-1]}{each}" and len(lines[-1] + each) < room:
            lines[-1] += f" {each}"
        else:
            lines.append(each)
    return "\n".join(lines)


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", f"\n{indent}")
