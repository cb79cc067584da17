"""What is left of the tree of a text that is not CEL: as much as macros look at.

cel-go expands macros in it and may find more errors there. Each rule leaves its node in ``_value``,
also where an error ends it.
"""

from collections.abc import Callable
from itertools import count

from policyd.cel.syntax import macros
from policyd.cel.syntax.ast import Call, Expr, Literal
from policyd.cel.syntax.lexer import Token
from policyd.cel.syntax.recovery import Kinds, Recovery
from policyd.cel.syntax.source import BEFORE, Issue
from policyd.versions import KubernetesVersion

# What cel-go makes of a rule that failed at its beginning.
_NOTHING = Literal(0, BEFORE, None)


class RemainingTree(Recovery):
    """The nodes that the rules of a replay make."""

    def __init__(self, text: str, tokens: list[Token], version: KubernetesVersion) -> None:
        super().__init__(text, tokens)
        self._version = version
        # What is wrong with the parts that are well-formed; cel-go reads these as well.
        self.meanings: list[Issue] = []
        self._depth = 0
        self._value: Expr = _NOTHING
        self._ids = count(1)
        self._named_by = ""  # the kind of the last name, "" if there was none

    def _part(self, rule: Callable[[], None], follow: Kinds, state: str) -> Expr:
        """Replays a rule and gives what it made."""
        self._value = _NOTHING
        self.call(rule, follow, state)
        return self._value

    def _called(self, pos: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        """A call, or what it expands to if it is a macro."""
        try:
            make = macros.Factory(self._ids, pos, self._version)
            made = macros.expand(make, function, target, args)
        except macros.MacroError as error:
            self.meanings.append(Issue(error.pos, error.message))
            return Literal(0, error.pos, None)
        return made or Call(0, pos, function, target, tuple(args))

    def _operator(self, state: str) -> Expr:
        """Takes the sign of an operator; the node that it makes."""
        made = Call(0, self.token().pos, self.la(), None, ())
        self.take(state)
        return made
