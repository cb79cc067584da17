"""Calls of functions in the source of an expression, and their places. Evaluates nothing.

The author's source stays as it is; what is replaced is a whole call with what follows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.cel.syntax.lexer import Token, tokenize

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


@dataclass(frozen=True, slots=True)
class SourceCall:
    """``name(arguments).field`` or ``name(arguments).field()``; ``name`` may be ``a.b``.

    ``start`` and ``end`` are the place of all of it, ``closing`` is where the call ends. ``field``
    is empty if nothing follows.
    """

    name: str
    arguments: tuple[str, ...]
    field: str
    start: int
    end: int
    closing: int


def calls_of(text: str, names: frozenset[str]) -> Iterator[SourceCall]:
    """Yield the calls of these functions from left to right, outer ones before inner ones."""
    tokens = [token for token in tokenize(text)[0] if token.text]
    texts = [token.text for token in tokens]
    for index, token in enumerate(tokens):
        name, opening = _name(texts, index)
        if name not in names or (index and texts[index - 1] == "."):
            continue
        closing = _closing(texts, opening)
        if closing is None:
            continue
        field, last = _field(texts, closing)
        arguments = tuple(_arguments(text, tokens, opening, closing))
        ends = (_end(tokens[last]), _end(tokens[closing]))
        yield SourceCall(name, arguments, field, token.pos, *ends)


@dataclass(frozen=True, slots=True)
class MethodCall:
    """``.name(…)``: its place, and that of its opening parenthesis, which names it in a tree."""

    start: int
    end: int
    opening: int


def method_calls(text: str, name: str) -> Iterator[MethodCall]:
    """Yield the calls of a method from left to right."""
    tokens = [token for token in tokenize(text)[0] if token.text]
    texts = [token.text for token in tokens]
    for index in range(len(tokens) - 2):
        if texts[index : index + 3] == [".", name, "("]:
            closing = _closing(texts, index + 2)
            if closing is not None:
                yield MethodCall(tokens[index].pos, _end(tokens[closing]), tokens[index + 2].pos)


def _name(texts: list[str], index: int) -> tuple[str, int]:
    """Return the name of the function that is called at a token, and where its parenthesis is."""
    if texts[index + 1 : index + 2] == ["("]:
        return texts[index], index + 1
    if texts[index + 1 : index + 2] == ["."] and texts[index + 3 : index + 4] == ["("]:
        return f"{texts[index]}.{texts[index + 2]}", index + 3
    return "", index


def _closing(texts: list[str], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(texts)):
        depth += (texts[index] in _OPENING) - (texts[index] in _CLOSING)
        if depth == 0:
            return index
    return None


def _field(texts: list[str], closing: int) -> tuple[str, int]:
    """Return the field after a call, and the last token of it."""
    if texts[closing + 1 : closing + 2] != ["."]:
        return "", closing
    field, last = texts[closing + 2], closing + 2
    if texts[last + 1 : last + 3] == ["(", ")"]:
        last += 2
    return field, last


def _arguments(text: str, tokens: list[Token], opening: int, closing: int) -> Iterator[str]:
    depth, start = 0, _end(tokens[opening])
    for token in tokens[opening + 1 : closing + 1]:
        if depth == 0 and token.text in (",", ")"):
            argument = text[start : token.pos].strip()
            if argument:
                yield argument
            start = _end(token)
        depth += (token.text in _OPENING) - (token.text in _CLOSING)


def _end(token: Token) -> int:
    return token.pos + len(token.text)
