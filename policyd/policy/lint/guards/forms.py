"""Places of values, and the forms of expressions that ``guards`` reads. Knows no policy."""

import operator
from collections.abc import Callable, Mapping

from policyd.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal
from policyd.cel.syntax.unparse import unparse

Place = tuple[str, ...]
Places = frozenset[Place]
NONE: Places = frozenset()
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
    """A member of what is at a place."""
    return None if place is None or name is None else (*place, name)


def with_above(place: Place | None) -> Places:
    """A place, and all those above it."""
    if place is None:
        return NONE
    return frozenset(place[:length] for length in range(2, len(place) + 1))


def keys_in(node: Expr, name: str, truth: bool) -> tuple[str, ...]:
    """What a name certainly is if a condition has this outcome: of ``k == 'a' && …`` it is a."""
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


def is_empty(node: Expr) -> bool:
    """Whether it is ``[]``."""
    return isinstance(node, ListExpr) and not node.elements


def is_bool(node: Expr) -> bool:
    """Whether it is ``true`` or ``false``."""
    return isinstance(node, Literal) and isinstance(node.value, bool)


def default_in(node: Expr) -> tuple[Expr, str | float] | None:
    """The optional in ``a.?b.orValue(x)`` or in the size of that, and ``x``: as a number if it is
    one, else its text.
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
