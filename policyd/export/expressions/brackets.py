"""The brackets in the source of an expression."""

from collections.abc import Iterator, Sequence

from policyd.cel.syntax.lexer import Token, tokenize

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_SIGNS = frozenset(
    (".", ",", "?", ":", "&&", "||", "+", "/", "==", "!=", "<", "<=", ">", ">=", "in")
)


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of an expression."""
    return [each for each in tokenize(text)[0] if each.pos < len(text)]


def end_of(token: Token) -> int:
    """Return the offset after a token."""
    return token.pos + len(token.text)


def deeper(token: Token) -> int:
    """Return by how many brackets what follows a token is deeper: 1, 0 or -1."""
    return (token.text in _OPENING) - (token.text in _CLOSING)


def balanced(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the places of sequences of tokens that may be expressions, up to a length: they close
    what they open, and neither begin nor end with a sign.
    """
    tokens = tokens_of(text)
    for index, first in enumerate(tokens):
        if first.text in _SIGNS or (index and tokens[index - 1].text == "."):
            continue
        depth = 0
        for last in tokens[index:]:
            depth += deeper(last)
            if depth < 0 or end_of(last) - first.pos > longest:
                break
            if depth == 0 and last.text not in _SIGNS:
                yield first.pos, end_of(last)


def groups(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens from each bracket that is in no other to the one that closes it."""
    depth = start = 0
    for index, token in enumerate(tokens):
        if deeper(token) > 0 and depth == 0:
            start = index
        depth += deeper(token)
        if deeper(token) < 0 and depth == 0:
            yield tokens[start : index + 1]


def closing(tokens: Sequence[Token], opening: int) -> int | None:
    """Return the index of the bracket that closes the one at an index."""
    return next((opening + len(each) - 1 for each in groups(tokens[opening:])), None)


def arguments(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return what commas divide of the tokens between two brackets of a text."""
    found, depth, start = [], 0, end_of(tokens[0])
    for token in tokens[1:]:
        if (depth == 0 and token.text == ",") or token is tokens[-1]:
            found.append(text[start : token.pos].strip())
            start = end_of(token)
        depth += deeper(token)
    return [each for each in found if each]
