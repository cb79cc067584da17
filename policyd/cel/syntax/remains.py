"""The partial tree of source that is not CEL: as much as macros need.

cel-go expands macros in it and may find more errors there. Each rule leaves its node in ``_value``,
even if an error ends it.
"""

from collections.abc import Callable
from itertools import count

from policyd.cel.syntax import macros
from policyd.cel.syntax.ast import Call, Expr, Literal
from policyd.cel.syntax.lexer import Token
from policyd.cel.syntax.recovery import Kinds, Recovery
from policyd.cel.syntax.source import BEFORE, Issue
from policyd.versions import KubernetesVersion

# cel-go's node for a rule that failed at its beginning.
_NOTHING = Literal(0, BEFORE, None)


class RemainingTree(Recovery):
    """The nodes that the rules of a replay produce."""

    def __init__(self, text: str, tokens: list[Token], version: KubernetesVersion) -> None:
        super().__init__(text, tokens)
        self._version = version
        # The errors in well-formed parts; cel-go expands these as well.
        self.meanings: list[Issue] = []
        self._depth = 0
        self._value: Expr = _NOTHING
        self._ids = count(1)
        self._most = macros.most_nodes(text)
        self._named_by = ""  # the kind of the last name, "" if there was none

    def _part(self, rule: Callable[[], None], follow: Kinds, state: str) -> Expr:
        """Replay a rule and return its node."""
        self._value = _NOTHING
        self.call(rule, follow, state)
        return self._value

    def _called(self, pos: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        """Return a call, or its expansion if it is a macro."""
        try:
            make = macros.Factory(self._ids, pos, self._version, self._most)
            made = macros.expand(make, function, target, args)
        except macros.MacroError as error:
            self.meanings.append(Issue(error.pos, error.message))
            return Literal(0, error.pos, None)
        return made or Call(0, pos, function, target, tuple(args))

    def _operator(self, state: str) -> Expr:
        """Consume the sign of an operator and return its node."""
        made = Call(0, self.token().pos, self.la(), None, ())
        self.take(state)
        return made
