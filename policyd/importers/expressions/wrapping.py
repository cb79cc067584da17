"""Long expressions in several lines: broken at operators, loosest first, then in brackets."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from policyd.cel.syntax.lexer import Token, tokenize

_WIDTH = 90  # characters: an expression is indented in its document
_SHORT = 25  # characters: an operand of a comparison that stays beside its operator
_STEP = "  "
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
# Operators, loosest first; a line begins with one.
_CHOICE = ("?", ":")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_SUM = ("+",)
_OPERATORS = (_CHOICE, ("||",), ("&&",), _COMPARISONS, _SUM, ("/",))


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
    tokens = [each for each in tokenize(text)[0] if each.pos < len(text)]
    start, end = _longest(tokens)
    for operators in _OPERATORS:
        found = _operators(tokens, operators)
        short = operators == _COMPARISONS and found and _is_short(text, found[0])
        if found and not (short and end - start > _SHORT):
            return _at_operators(text, found, room)
    return _in_brackets(text, tokens, room)


def _operators(tokens: Sequence[Token], wanted: tuple[str, ...]) -> list[Token]:
    """Return these operators outside of brackets; ``.?`` is another one."""
    found, depth = [], 0
    for before, token in pairwise(tokens):
        depth += (before.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and token.text in wanted and before.text != ".":
            found.append(token)
    return found


def _is_short(text: str, operator: Token) -> bool:
    right = text[operator.pos + len(operator.text) :]
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


def _in_brackets(text: str, tokens: Sequence[Token], room: int) -> str:
    """Break inside of the longest brackets, and before them; names of variables stay before."""
    start, end = _longest(tokens)
    inside = text[start + 1 : end]
    if not inside.strip():
        return text
    arguments = _arguments(inside)
    head = text[: start + 1]
    while len(arguments) > 1 and arguments[0].isidentifier():
        head += f"{arguments.pop(0)}, "
    below = [_broken(each, room - len(_STEP)) for each in arguments]
    commas = [*(f"{each}," for each in below[:-1]), below[-1]]
    body = _indented(_filled(commas, room - len(_STEP)), _STEP)
    if len(head) > room:
        before = [each for each in tokens if each.pos < start]
        head = _in_brackets(text[:start], before, room) + head[start:]
    tail = text[end] + _broken(text[end + 1 :], room - 1)
    return f"{head.rstrip()}\n{_STEP}{body}\n{tail}"


def _longest(tokens: Iterable[Token]) -> tuple[int, int]:
    found, opened = (0, 0), []
    for token in tokens:
        if token.text in _OPENING:
            opened.append(token.pos)
        elif token.text in _CLOSING:
            start = opened.pop()
            if not opened and token.pos - start > found[1] - found[0]:
                found = (start, token.pos)
    return found


def _arguments(text: str) -> list[str]:
    found, depth, start = [], 0, 0
    for token in tokenize(text)[0]:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == "," and depth == 0:
            found.append(text[start : token.pos].strip())
            start = token.pos + 1
    return [*found, text[start:].strip()]


def _filled(pieces: Iterable[str], room: int) -> str:
    """Return pieces in lines, as many in one as there is room for."""
    lines: list[str] = []
    for each in pieces:
        fits = lines and "\n" not in f"{lines[-1]}{each}" and len(lines[-1] + each) < room
        if fits:
            lines[-1] += f" {each}"
        else:
            lines.append(each)
    return "\n".join(lines)


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", f"\n{indent}")
