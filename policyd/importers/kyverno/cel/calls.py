"""Calls of functions in the source of an expression, and their places. Evaluates nothing.

The author's source stays as it is; what is replaced is a whole call with what follows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.export.expressions.brackets import arguments, closing, end_of, tokens_of


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
    tokens = tokens_of(text)
    texts = [token.text for token in tokens]
    for index, token in enumerate(tokens):
        name, opening = _name(texts, index)
        if name not in names or (index and texts[index - 1] == "."):
            continue
        end = closing(tokens, opening)
        if end is None:
            continue
        field, last = _field(texts, end)
        given = tuple(arguments(text, tokens[opening : end + 1]))
        ends = (end_of(tokens[last]), end_of(tokens[end]))
        yield SourceCall(name, given, field, token.pos, *ends)


def _name(texts: list[str], index: int) -> tuple[str, int]:
    """Return the name of the function that is called at a token, and where its parenthesis is."""
    if texts[index + 1 : index + 2] == ["("]:
        return texts[index], index + 1
    if texts[index + 1 : index + 2] == ["."] and texts[index + 3 : index + 4] == ["("]:
        return f"{texts[index]}.{texts[index + 2]}", index + 3
    return "", index


def _field(texts: list[str], end: int) -> tuple[str, int]:
    """Return the field after a call, and the last token of it."""
    if texts[end + 1 : end + 2] != ["."]:
        return "", end
    field, last = texts[end + 2], end + 2
    if texts[last + 1 : last + 3] == ["(", ")"]:
        last += 2
    return field, last
