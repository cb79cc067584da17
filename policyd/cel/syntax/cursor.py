"""A cursor over a list of tokens that only moves forward."""

from collections.abc import Container

from policyd.cel.syntax.lexer import Token


class Unexpected(Exception):
    """The token stream is not CEL; ``errors`` finds the messages."""


class Cursor:
    """Reads and consumes tokens; the last one is EOF and must not be consumed twice."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._kinds = [token.kind for token in tokens]
        self._last = len(tokens) - 1
        self._next = 0

    @property
    def pos(self) -> int:
        """Return the offset of the next token."""
        return self._tokens[self._next].pos

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of the token ``ahead`` tokens later; EOF beyond the end."""
        return self._kinds[min(self._next + ahead, self._last)]

    def at(self, kind: str) -> bool:
        """Return whether the next token is of this kind."""
        return self._kinds[self._next] == kind

    def at_any(self, kinds: Container[str]) -> bool:
        """Return whether the next token is of one of these kinds."""
        return self._kinds[self._next] in kinds

    def take(self) -> Token:
        """Consume the next token of any kind."""
        token = self._tokens[self._next]
        self._next += 1
        return token

    def accept(self, kind: str) -> Token | None:
        """Consume the next token if it is of this kind."""
        if self._kinds[self._next] != kind:
            return None
        return self.take()

    def expect(self, kind: str) -> Token:
        """Consume the next token, which must be of this kind; raises Unexpected."""
        if self._kinds[self._next] != kind:
            raise Unexpected
        return self.take()
