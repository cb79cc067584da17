"""Finds out whether a matchCondition can fail, and which variables it reads. Evaluates nothing.

Only forms that are known not to fail count as safe; everything else may fail.
"""

from enum import Enum
from functools import lru_cache

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    Select,
)
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import deep_recursion, nodes

# The fields of ``request`` that are always set; others are omitted if empty.
_SET = {
    "operation",
    *(f"kind.{part}" for part in ("group", "version", "kind")),
    *(f"resource.{part}" for part in ("group", "version", "resource")),
    "userInfo",
}
_LOGIC = ("_&&_", "_||_", "!_")
_EQUALITY = ("_==_", "_!=_")


class _Kind(Enum):
    BOOL = "bool"
    OPTIONAL = "optional"
    VALUE = "value"


class ExpressionFacts:
    """The known facts of an expression.

    ``names`` are the names that it reads, including its own variables. ``safe``: it never fails.
    ``costly``: its cost depends on the object, or it checks access.
    """

    __slots__ = ("costly", "names", "safe")

    def __init__(self, tree: Expr) -> None:
        every = list(nodes(tree))
        self.names = frozenset(
            node.name.removeprefix(".") for node in every if isinstance(node, Ident)
        )
        self.safe = _kind(tree) is _Kind.BOOL
        loops = any(isinstance(node, Comprehension) for node in every)
        self.costly = loops or "authorizer" in self.names


@lru_cache(maxsize=1024)
def facts(expression: str) -> ExpressionFacts:
    """Return the facts of an expression that compiles."""
    with deep_recursion():
        return ExpressionFacts(parse(expression))


def _kind(node: Expr) -> _Kind | None:
    """Return the kind of the value; None if the expression may fail."""
    match node:
        case Literal(value=value):
            return _Kind.BOOL if isinstance(value, bool) else _Kind.VALUE
        case Ident(name=name):
            return _Kind.VALUE if name in ("object", "oldObject") else None
        case Select(test_only=True, operand=operand):
            return _Kind.BOOL if _kind(operand) is _Kind.VALUE else None
        case Select():
            return _Kind.VALUE if _path(node) in _SET else None
        case ListExpr(elements=elements, optional=optional):
            return _Kind.VALUE if not optional and all(map(_kind, elements)) else None
        case Call(function=function, target=target, args=args):
            return _call(function, target, args)
    return None


def _call(function: str, target: Expr | None, args: tuple[Expr, ...]) -> _Kind | None:
    if target is not None:
        optional = function == "orValue" and _kind(target) is _Kind.OPTIONAL
        return _Kind.VALUE if optional and len(args) == 1 and _kind(args[0]) else None
    kinds = [_kind(each) for each in args]
    if function == "_?._":  # a literal field; null and scalars have none
        return _Kind.OPTIONAL if kinds[0] in (_Kind.VALUE, _Kind.OPTIONAL) else None
    if None in kinds:
        return None
    if function in _LOGIC:
        return _Kind.BOOL if set(kinds) == {_Kind.BOOL} else None
    if function in _EQUALITY:
        return _Kind.BOOL
    if function == "@in":
        return _Kind.BOOL if isinstance(args[1], ListExpr) or _are_groups(args[1]) else None
    return None


def _are_groups(node: Expr) -> bool:
    """Whether it is ``request.userInfo.?groups.orValue(…)``, always a list of strings."""
    match node:
        case Call(
            function="orValue",
            target=Call(function="_?._", args=(Select() as user, Literal(value="groups"))),
            args=(ListExpr(),),
        ):
            return _path(user) == "userInfo"
    return False


def _path(node: Select) -> str:
    """Return the path of a field of ``request``; empty for any other."""
    parts: list[str] = []
    each: Expr = node
    while isinstance(each, Select) and not each.test_only:
        parts.append(each.field)
        each = each.operand
    return ".".join(reversed(parts)) if isinstance(each, Ident) and each.name == "request" else ""
