"""Find the expressions in strings with ``${CEL}``. Compiles nothing.

``$${`` is a literal ``${``.
"""

import re

from policyd.cel.syntax.lexer import closing_brace

_OPENING = re.compile(r"\$\$\{|\$\{")


class Unclosed(ValueError):
    """The ``${`` at this offset has no ``}``."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def pieces(text: str) -> list[str | tuple[int, int]]:
    """Return the string in order: literal parts, and (start, end) of expressions in braces."""
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
    """Return the offset of the ``}`` that ends the expression beginning at ``start``."""
    found = closing_brace(text, start)
    if found < 0:
        raise Unclosed(start - 2)
    return found
