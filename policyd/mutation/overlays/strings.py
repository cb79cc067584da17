"""Texts with ``${CEL}`` in them: where the expressions begin and end. Compiles nothing.

``$${`` is a ``${`` that is meant literally.
"""

import re

from policyd.cel.syntax.lexer import tokenize

_OPENING = re.compile(r"\$\$\{|\$\{")
# How the brackets of an expression count; the first one that was not opened ends it.
_DEPTH = {"{": 1, "}": -1}


class Unclosed(ValueError):
    """The ``${`` at this offset has no ``}``."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def pieces(text: str) -> list[str | tuple[int, int]]:
    """The text in order: plain parts, and (start, end) of the expressions between braces."""
    found: list[str | tuple[int, int]] = []
    plain, at = "", 0
    while opening := _OPENING.search(text, at):
        plain += text[at : opening.start()]
        at = opening.end()
        if opening[0] == "$${":
            plain += "${"
            continue
        end = _closing(text, at)
        if plain:
            found.append(plain)
        found.append((at, end))
        plain, at = "", end + 1
    plain += text[at:]
    return [*found, plain] if plain or not found else found


def _closing(text: str, start: int) -> int:
    """Where the ``}`` is that ends the expression which begins at ``start``.

    CEL's own tokens are counted: braces in its texts and comments are none.
    """
    depth = 0
    for token in tokenize(text[start:])[0]:
        depth += _DEPTH.get(token.kind, 0)
        if depth < 0:
            return start + token.pos
    raise Unclosed(start - 2)
