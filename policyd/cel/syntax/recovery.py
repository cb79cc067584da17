"""ANTLR 4's error strategy on a token stream: write error messages and recover.

A message depends on how the parser recovers: it may drop a token, insert a missing one, or skip to
a token at which a surrounding rule can continue (``DefaultErrorStrategy``). cel-go adds limits.
``follow`` and ``next_kinds`` are the token kinds allowed next in a rule; END means that the rule
may end.

cel-go expands macros even in the partial tree of invalid source, and may find more errors there:
``RemainingTree`` keeps as much of the tree as this needs. Each rule leaves its node in ``_value``,
even if an error ends it.
"""

import re
from collections.abc import Callable
from itertools import count

from policyd.cel.syntax import macros
from policyd.cel.syntax.ast import Call, Expr, Literal
from policyd.cel.syntax.lexer import EOF, Token, text_between
from policyd.cel.syntax.source import BEFORE, NOWHERE, Issue
from policyd.versions import KubernetesVersion

MAX_RECOVERIES = 30
MAX_SKIPPED = 256

END = "end of rule"

# In the order of ANTLR's token types, which is the order of kinds in its messages.
_ORDER = (
    EOF, "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",",
    "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT",
    "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}
Kinds = frozenset[str]


class RuleError(Exception):
    """Ends the rule being replayed; ``message`` is None where ANTLR reports nothing."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.message = message
        self.token = token


class GivenUp(Exception):
    """A limit was exceeded."""


def _listed(kinds: Kinds) -> str:
    """Print a set of token kinds like ANTLR."""
    names = [
        kind if kind == EOF or kind.isupper() else f"'{kind}'"
        for kind in sorted(kinds, key=_RANK.__getitem__)
    ]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


class Recovery:
    """The stream of tokens and the rules under way, as ANTLR's strategy sees them."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.issues: list[Issue] = []
        self._text = text
        self._tokens = tokens
        self._index = 0
        self._follows: list[Kinds] = []
        self._recovering = False
        self._recoveries = 0
        self._last_error: tuple[int, set[str]] | None = None
        self._state = ""

    # The stream

    def la(self, ahead: int = 1) -> str:
        """Return the kind of the token that is ``ahead`` tokens later."""
        return self.token(ahead).kind

    def token(self, ahead: int = 1) -> Token:
        """Return the token that is ``ahead`` tokens later."""
        return self._tokens[min(self._index + ahead - 1, len(self._tokens) - 1)]

    def _consume(self) -> None:
        self._index = min(self._index + 1, len(self._tokens) - 1)

    def _report(self, message: str, token: Token) -> None:
        self.issues.append(Issue(token.pos, f"Syntax error: {message}"))

    def _expected(self, next_kinds: Kinds) -> Kinds:
        """Return the kinds allowed next, including the callers' where the rule may end."""
        kinds = set(next_kinds)
        for follow in reversed(self._follows):
            if END not in kinds:
                break
            kinds = (kinds - {END}) | follow
        if END in kinds:
            kinds = (kinds - {END}) | {EOF}
        return frozenset(kinds)

    # Rules

    def call(self, rule: Callable[[], None], follow: Kinds, state: str) -> None:
        """Replay a rule; report and recover from an error in it before returning."""
        self._follows.append(follow)
        try:
            rule()
        except RuleError as error:
            if not self._recovering:
                self._recovering = True
                self._report(error.message, error.token)
            self._recover()
        self._follows.pop()
        self._state = state

    def fail_mismatch(self, next_kinds: Kinds) -> RuleError:
        """Return the error of a token that does not fit."""
        token = self.token()
        expected = _listed(self._expected(next_kinds))
        return RuleError(f"mismatched input {_quoted(token.text)} expecting {expected}", token)

    def fail_no_alternative(self, start: int, end: int) -> RuleError:
        """Return the error of tokens that begin no alternative; offsets from the current token."""
        first, last = self.token(start + 1), self.token(end + 1)
        if first.kind == EOF:
            text = EOF
        else:
            end = last.pos if last.kind == EOF else last.pos + len(last.text)
            text = text_between(self._text, first.pos, end)
        message = f"no viable alternative at input {_quoted(text)}"
        # cel-go keeps the messages of an older grammar for these.
        message = re.sub(
            r"no viable alternative at input '.(true|false|null)'",
            r"mismatched input '\1' expecting IDENTIFIER",
            message,
        )
        return RuleError(message, last)

    def match(self, kind: str, follow: Kinds, state: str) -> None:
        """Consume a token of that kind, or drop one before it, or insert a missing one."""
        self._state = state
        if self.la() == kind:
            self._matched()
            self._consume()
            return
        self._attempt()
        wanted = frozenset((kind,))
        if self._drop_token(wanted):
            self._consume()
        elif self.la() in self._expected(follow):
            if not self._recovering:
                self._recovering = True
                token = self.token()
                self._report(f"missing {_listed(wanted)} at {_quoted(token.text)}", token)
        else:
            raise self.fail_mismatch(wanted)

    def take(self, state: str) -> None:
        """Consume a token that was already chosen by its kind."""
        self._state = state
        self._matched()
        self._consume()

    def sync(self, next_kinds: Kinds, state: str, *, loop: bool = False) -> None:
        """Check whether the next token may come here; ``loop``: at the end of an iteration."""
        self._state = state
        if self._recovering or END in next_kinds or self.la() in next_kinds:
            return
        if loop:
            self._report_unwanted(next_kinds)
            self._skip_to(self._expected(next_kinds) | self._recovery_set())
        elif not self._drop_token(next_kinds):
            raise self.fail_mismatch(next_kinds)

    # Recovery

    def _matched(self) -> None:
        self._recovering = False
        self._last_error = None

    def _report_unwanted(self, next_kinds: Kinds) -> None:
        if self._recovering:
            return
        self._recovering = True
        token = self.token()
        expected = _listed(self._expected(next_kinds))
        self._report(f"extraneous input {_quoted(token.text)} expecting {expected}", token)

    def _drop_token(self, next_kinds: Kinds) -> bool:
        """Drop the current token if the one after it fits."""
        if self.la(2) not in self._expected(next_kinds):
            return False
        self._report_unwanted(next_kinds)
        self._consume()
        self._matched()
        return True

    def _attempt(self) -> None:
        if self._recoveries == MAX_RECOVERIES:
            message = f"error recovery attempt limit exceeded: {MAX_RECOVERIES}"
            self._report(message, self.token())
            raise GivenUp
        self._recoveries += 1

    def _recovery_set(self) -> Kinds:
        return frozenset().union(*self._follows) - {END}

    def _recover(self) -> None:
        """Skip to a token at which some surrounding rule can continue."""
        self._attempt()
        seen: set[str] = set()
        if self._last_error is not None:
            index, seen = self._last_error
            if index == self._index and self._state in seen:
                self._consume()
        self._last_error = (self._index, seen | {self._state})
        self._skip_to(self._recovery_set(), limited=True)

    def _skip_to(self, kinds: Kinds, *, limited: bool = False) -> None:
        skipped = 0
        while self.la() != EOF and self.la() not in kinds:
            if limited and skipped >= MAX_SKIPPED:
                message = f"error recovery token lookahead limit exceeded: {MAX_SKIPPED}"
                self.issues.append(Issue(NOWHERE, message))
                raise GivenUp
            self._consume()
            skipped += 1


# cel-go's node for a rule that failed at its beginning.
_NOTHING = Literal(0, BEFORE, None)


class RemainingTree(Recovery):
    """The nodes that the rules of a replay produce."""

    def __init__(self, text: str, tokens: list[Token], version: KubernetesVersion) -> None:
        super().__init__(text, tokens)
        self._version = version
        # The errors in well-formed parts, which cel-go expands too.
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
