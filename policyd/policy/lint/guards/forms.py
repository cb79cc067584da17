"""Places of values, and the forms of expressions that are guards. Knows no policy."""

import operator
from collections.abc import Callable, Mapping

from policyd.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal
from policyd.cel.syntax.unparse import unparse
from policyd.cel.types.types import Kind, Type

Place = tuple[str, ...]
Places = frozenset[Place]
NONE: Places = frozenset()
NOT_NULL = "!null"  # below a place: its value is not null
EMPTY = ("[]", "{}", '""', "''")
RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


def below(place: Place | None, name: str | None) -> Place | None:
    """Return the place of a member of the value at ``place``."""
    return None if place is None or name is None else (*place, name)


def with_above(place: Place | None) -> Places:
    """Return a place and all its parents."""
    if place is None:
        return NONE
    return frozenset(place[:length] for length in range(2, len(place) + 1))


def is_null(node: Expr) -> bool:
    """Whether an expression is ``null``."""
    return isinstance(node, Literal) and node.value is None


def keys_in(node: Expr, name: str, truth: bool) -> tuple[str, ...]:
    """Return the strings that a name equals if a condition has this outcome.

    If ``k == 'a' && …`` is true, k is 'a'.
    """
    match node:
        case Call(function="_&&_" | "_||_", args=(left, right)):
            joined = (node.function == "_&&_") is truth
            return (*keys_in(left, name, truth), *keys_in(right, name, truth)) if joined else ()
        case Call(function="!_", args=(inner,)):
            return keys_in(inner, name, not truth)
        case (
            Call(function="_==_" | "_!=_", args=(Ident(name=found), Literal(value=str() as key)))
            | Call(function="_==_" | "_!=_", args=(Literal(value=str() as key), Ident(name=found)))
        ):
            return (key,) if found == name and (node.function == "_==_") is truth else ()
    return ()


def either(test: str, optional: str, value: Type) -> str:
    """Return the two ways to read a value of this type that may be missing; first the one without
    a condition where it is clear what stands for it.
    """
    empty = {Kind.LIST: "[]", Kind.MAP: "{}"}.get(value.kind)
    if empty is not None:
        return f"{optional}.orValue({empty}), or {test} && …"
    return f"{test} && …, or {optional}.orValue(…)"


def is_empty(node: Expr) -> bool:
    """Whether an expression is ``[]``."""
    return isinstance(node, ListExpr) and not node.elements


def is_bool(node: Expr) -> bool:
    """Whether an expression is ``true`` or ``false``."""
    return isinstance(node, Literal) and isinstance(node.value, bool)


def default_in(node: Expr) -> tuple[Expr, str | float] | None:
    """Return the optional and the default of ``a.?b.orValue(x)`` or of ``size(a.?b.orValue(x))``.

    The default is a number, or else the source of ``x``; for size, 0.
    """
    match node:
        case Call(
            function="orValue",
            target=Expr() as target,
            args=(Literal(value=int() | float() as number),),
        ) if not isinstance(number, bool):
            return target, number
        case Call(function="orValue", target=Expr() as target, args=(default,)):
            return target, unparse(default)
        case (
            Call(function="size", target=Expr() as inner, args=())
            | Call(function="size", target=None, args=(inner,))
        ):
            found = default_in(inner)
            return (found[0], 0) if found is not None and found[1] in EMPTY else None
    return None
