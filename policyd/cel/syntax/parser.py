"""Parse CEL source to a syntax tree and expand macros. Accepts the same source as cel-go's parser
with Kubernetes' options.

Places are the same as in cel-go's errors: a call's opening parenthesis, an operator's sign, a
selection's dot, an index's or literal's bracket, a map entry's or field's colon.

Limits, as in cel-go: 100,000 code points; 250 levels of nesting (counted per grammar rule, as ANTLR
enters them); 250 operators, selections and indexes on one path of the source, including chains like
``a.b.c`` (but chains of ``&&`` and ``||`` are balanced). policyd's own: 1,000 levels of the tree
after macro expansion, so that no walk over it can exhaust the C stack.
"""

from itertools import count

from policyd.cel.syntax import literals
from policyd.cel.syntax.ast import (
    Call,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
    StructField,
)
from policyd.cel.syntax.cursor import Cursor, Unexpected
from policyd.cel.syntax.errors import UNSUPPORTED_BACKQUOTE, explain
from policyd.cel.syntax.lexer import EOF, RESERVED, Token, tokenize
from policyd.cel.syntax.macros import Factory, MacroError, expand, most_nodes
from policyd.cel.syntax.recursion import deep_recursion, depth_of
from policyd.cel.syntax.source import MAX_SYNTAX_ERRORS, NOWHERE, Issue, Source, limited
from policyd.errors import CelSyntaxError
from policyd.versions import ESCAPED_IDENTIFIERS, NEWEST, KubernetesVersion

MAX_CODE_POINTS = 100_000
MAX_NESTING = 250
MAX_TREE_DEPTH = 1_000

_RELATIONS = {
    "<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_LITERALS = frozenset(
    ("NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES", "true", "false", "null")
)


class _Stop(Exception):
    """A limit was exceeded: later errors are not worth reporting."""


# A parsed piece with its height in counted nodes (see MAX_NESTING).
_Piece = tuple[Expr, int]


def parse(text: str, version: KubernetesVersion = NEWEST) -> Expr:
    """Return the tree of an expression as a version of Kubernetes reads it; raises
    CelSyntaxError with every error found.
    """
    if len(text) > MAX_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_CODE_POINTS}"
        )
        raise Source(text).error(CelSyntaxError, [Issue(NOWHERE, message)])
    tokens, issues = tokenize(text)
    if len(issues) > MAX_SYNTAX_ERRORS:
        raise Source(text).error(CelSyntaxError, limited(issues))
    parser = _Parser(text, tokens, issues, version)
    with deep_recursion():
        expr = parser.parse()
        if not issues and parser.nodes > MAX_TREE_DEPTH and depth_of(expr) > MAX_TREE_DEPTH:
            issues.append(Issue(NOWHERE, f"expression recursion limit exceeded: {MAX_TREE_DEPTH}"))
    if issues or expr is None:
        raise Source(text).error(CelSyntaxError, issues)
    return expr


class _Parser(Cursor):
    """Recursive descent in the rules of cel-go's grammar; collects semantic errors."""

    def __init__(
        self, text: str, tokens: list[Token], issues: list[Issue], version: KubernetesVersion
    ) -> None:
        self._text = text
        self._version = version
        super().__init__(tokens)
        self._issues = issues
        self._ids = count(1)
        self._expressions = self._relations = self._sums = 0  # entered and not left

    @property
    def nodes(self) -> int:
        """The minimum number of nodes made; consumes an id."""
        return next(self._ids)

    def parse(self) -> Expr | None:
        """Return the tree; None, with the reasons among the issues, if it cannot be built."""
        unrecognized = list(self._issues)
        try:
            expr, height = self._expr()
            self.expect(EOF)
        except Unexpected:
            self._issues[:] = limited(
                unrecognized + explain(self._text, self._tokens, self._version)
            )
            return None
        except _Stop:
            return None
        if height > MAX_NESTING:
            self._issues.append(Issue(NOWHERE, "max recursion depth exceeded"))
        return expr

    # Limits and nodes

    def _limit(self, depth: int) -> None:
        if depth > MAX_NESTING:
            message = f"expression recursion limit exceeded: {MAX_NESTING}"
            self._issues.append(Issue(NOWHERE, message))
            raise _Stop

    def _call(
        self, pos: int, function: str, args: tuple[Expr, ...], target: Expr | None = None
    ) -> Expr:
        """Return a call, or its expansion if it is a macro."""
        if target is None and function != "has":
            return Call(next(self._ids), pos, function, None, args)
        try:
            make = Factory(self._ids, pos, self._version, most_nodes(self._text))
            expansion = expand(make, function, target, args)
        except MacroError as error:
            self._issues.append(Issue(error.pos, error.message))
            return self._broken(error.pos)
        if expansion is not None:
            return expansion
        return Call(next(self._ids), pos, function, target, args)

    def _broken(self, pos: int) -> Expr:
        """Return a placeholder for a part with a reported error."""
        return Literal(next(self._ids), pos, None)

    # Rules, in the order of the grammar

    def _expr(self) -> _Piece:
        self._expressions += 1
        self._limit(self._expressions)
        condition, height = self._logic("||")
        question = self.accept("?")
        if question is not None:
            yes, yes_height = self._logic("||")
            self.expect(":")
            no, no_height = self._expr()
            height = 1 + max(height, yes_height, no_height)
            condition = self._call(question.pos, "_?_:_", (condition, yes, no))
        self._expressions -= 1
        return condition, height

    def _logic(self, sign: str) -> _Piece:
        """``a || b || …`` and, one level down, ``a && b && …``."""
        first, height = self._relation(0) if sign == "&&" else self._logic("&&")
        terms, places = [first], []
        while (operator := self.accept(sign)) is not None:
            term, term_height = self._relation(0) if sign == "&&" else self._logic("&&")
            places.append(operator.pos)
            terms.append(term)
            height = max(height, term_height)
        if not places:
            return first, height
        return self._balanced(f"_{sign}_", terms, places, 0, len(places) - 1), height

    def _balanced(
        self, function: str, terms: list[Expr], places: list[int], low: int, high: int
    ) -> Expr:
        middle = (low + high + 1) // 2
        left, right = terms[middle], terms[middle + 1]
        if middle != low:
            left = self._balanced(function, terms, places, low, middle - 1)
        if middle != high:
            right = self._balanced(function, terms, places, middle + 1, high)
        return Call(next(self._ids), places[middle], function, None, (left, right))

    def _relation(self, precedence: int) -> _Piece:
        self._relations += 1
        self._limit(self._relations)
        left, height = self._calc(0)
        while precedence <= 1 and self.at_any(_RELATIONS):
            operator = self.take()
            right, right_height = self._relation(2)
            height = 1 + max(height, right_height)
            left = self._call(operator.pos, _RELATIONS[operator.kind], (left, right))
        self._relations -= 1
        return left, height

    def _calc(self, precedence: int) -> _Piece:
        self._sums += 1
        self._limit(self._sums)
        left, height = self._unary()
        while True:
            if precedence <= 2 and self.at_any(_PRODUCTS):
                operator, binding = self.take(), 3
            elif precedence <= 1 and self.at_any(_SUMS):
                operator, binding = self.take(), 2
            else:
                break
            right, right_height = self._calc(binding)
            height = 1 + max(height, right_height)
            function = _PRODUCTS.get(operator.kind) or _SUMS[operator.kind]
            left = self._call(operator.pos, function, (left, right))
        self._sums -= 1
        return left, height

    def _unary(self) -> _Piece:
        if self.at("!"):
            return self._signed("!", "!_")
        if self.at("-") and not self._at_negative_number():
            return self._signed("-", "-_")
        return self._member()

    def _signed(self, sign: str, function: str) -> _Piece:
        first, signs = self.take(), 1
        while self.accept(sign):
            signs += 1
        operand, height = self._member()
        # Pairs of signs cancel out.
        if signs % 2 == 0:
            return operand, height
        return self._call(first.pos, function, (operand,)), height

    def _at_negative_number(self) -> bool:
        return self.kind(1) in ("NUM_INT", "NUM_FLOAT")

    def _member(self) -> _Piece:
        operand, height = self._primary()
        while True:
            if (dot := self.accept(".")) is not None:
                operand, inner = self._after_dot(dot, operand)
            elif (bracket := self.accept("[")) is not None:
                function = "_[?_]" if self.accept("?") else "_[_]"
                index, inner = self._expr()
                self.expect("]")
                operand = self._call(bracket.pos, function, (operand, index))
            else:
                return operand, height
            height = 1 + max(height, inner)

    def _after_dot(self, dot: Token, operand: Expr) -> _Piece:
        """Parse ``.name``, ``.?name`` or ``.name(args)``; return also the arguments' height."""
        optional = self.accept("?")
        name = self.take()
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            raise Unexpected
        if name.kind == "IDENTIFIER" and not optional and (paren := self.accept("(")) is not None:
            args, height = self._arguments()
            return self._call(paren.pos, name.text, args, operand), height
        field = self._field(name, name.pos)
        if optional:
            literal = Literal(next(self._ids), name.pos, field)
            return Call(next(self._ids), dot.pos, "_?._", None, (operand, literal)), 0
        return Select(next(self._ids), dot.pos, operand, field), 0

    def _field(self, name: Token, pos: int) -> str:
        """Return the name of a field, which may be in backquotes since 1.37."""
        if name.kind != "ESC_IDENTIFIER":
            return name.text
        if not self._version.has(ESCAPED_IDENTIFIERS):
            self._issues.append(Issue(pos, UNSUPPORTED_BACKQUOTE))
            return name.text
        return name.text[1:-1]

    def _arguments(self) -> tuple[tuple[Expr, ...], int]:
        """Parse arguments and the closing parenthesis."""
        args: list[Expr] = []
        height = 0
        while not self.at(")") or args:
            arg, arg_height = self._expr()
            args.append(arg)
            height = max(height, arg_height)
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(args), height

    def _primary(self) -> _Piece:
        if self.at("("):
            self.take()
            nested = self._expr()
            self.expect(")")
            return nested
        if self.at("["):
            return self._list()
        if self.at("{"):
            return self._map()
        if self.at("-") or self.at_any(_LITERALS):
            return self._literal(), 0
        return self._named()

    def _named(self) -> _Piece:
        """Parse ``name``, ``name(args)`` or ``type.name{fields}``, with an optional leading dot."""
        dot = self.accept(".")
        name = self.expect("IDENTIFIER")
        start = dot or name
        path = self._message_name()
        if path is not None:
            return self._message(("." if dot else "") + name.text + path)
        paren = self.accept("(")
        known = len(self._issues)
        args, height = self._arguments() if paren else ((), 0)
        if name.text in RESERVED:
            del self._issues[known:]  # cel-go ignores the arguments
            self._issues.append(Issue(start.pos, f"reserved identifier: {name.text}"))
            return self._broken(start.pos), height
        full = ("." if dot else "") + name.text
        if paren:
            return self._call(paren.pos, full, args), height
        return Ident(next(self._ids), name.pos, full), 0

    def _message_name(self) -> str | None:
        """Consume and return the ``.b.c`` of ``a.b.c{``; None if no brace follows."""
        length = 0
        while self.kind(length) == "." and self.kind(length + 1) == "IDENTIFIER":
            length += 2
        if self.kind(length) != "{":
            return None
        return "".join(self.take().text for _ in range(length))

    def _list(self) -> _Piece:
        bracket = self.take()
        elements: list[Expr] = []
        optional: list[int] = []
        height = 0
        while not self.at_any(("]", ",")):
            if self.accept("?"):
                optional.append(len(elements))
            element, element_height = self._expr()
            elements.append(element)
            height = max(height, element_height)
            if not self.at(",") or self.kind(1) in ("]", ","):
                break
            self.take()
        self.accept(",")
        self.expect("]")
        made = ListExpr(next(self._ids), bracket.pos, tuple(elements), frozenset(optional))
        return made, height

    def _map(self) -> _Piece:
        brace = self.take()
        entries: list[MapEntry] = []
        height = 0
        while not self.at_any(("}", ",")):
            optional = self.accept("?") is not None
            key, key_height = self._expr()
            colon = self.expect(":")
            value, value_height = self._expr()
            entries.append(MapEntry(next(self._ids), colon.pos, key, value, optional))
            height = max(height, key_height, value_height)
            if not self.at(",") or self.kind(1) in ("}", ","):
                break
            self.take()
        self.accept(",")
        self.expect("}")
        return MapExpr(next(self._ids), brace.pos, tuple(entries)), height

    def _message(self, type_name: str) -> _Piece:
        brace = self.expect("{")
        start = self.pos
        made: list[StructField] = []
        height = 0
        while not self.at_any(("}", ",")):
            optional = self.accept("?") is not None
            name = self.take()
            if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
                raise Unexpected
            field = self._field(name, start)
            colon = self.expect(":")
            value, value_height = self._expr()
            made.append(StructField(next(self._ids), colon.pos, field, value, optional))
            height = max(height, value_height)
            if not self.at(",") or self.kind(1) in ("}", ","):
                break
            self.take()
        self.accept(",")
        self.expect("}")
        return StructExpr(next(self._ids), brace.pos, type_name, tuple(made)), height

    def _literal(self) -> Expr:
        minus = self.accept("-")
        token = self.take()
        pos = (minus or token).pos
        text = ("-" if minus else "") + token.text
        if minus and token.kind not in ("NUM_INT", "NUM_FLOAT"):
            raise Unexpected
        try:
            return Literal(next(self._ids), pos, literals.parse_literal(token.kind, text))
        except ValueError as error:
            self._issues.append(Issue(pos, str(error)))
            return self._broken(pos)
