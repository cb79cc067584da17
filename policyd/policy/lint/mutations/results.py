"""The expressions from which the value of an expression comes: the branches of a condition, the
elements of a list. Checks nothing.
"""

from collections.abc import Iterator

from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListExpr
from policyd.cel.syntax.macros import ACCUMULATOR

_PASSED_ON = ("optional.of", "optional.ofNonZeroValue", "dyn")


def results(node: Expr) -> Iterator[Expr]:
    """Yield the expressions one of which gives the value of a node."""
    match node:
        case Call(function="_?_:_", args=(_, then, other)):
            yield from results(then)
            yield from results(other)
        case Call(function="orValue" | "or", target=Expr() as target, args=(default,)):
            yield from results(target)
            yield from results(default)
        case Call(function=function, args=(value,)) if function in _PASSED_ON:
            yield from results(value)
        case Call(function="value", target=Expr() as target):
            yield from results(target)
        case Call(function="optional.none"):
            return
        case Comprehension(macro="optMap" | "optFlatMap"):
            yield from results(node.result)
        case Call(function="_+_", args=(left, right)) if _is_list(left) or _is_list(right):
            yield from results(left)
            yield from results(right)
        case _:
            yield node


def items(node: Expr) -> tuple[Expr, ...] | None:
    """Return the expressions from which the items of a list come; None if they are unknown."""
    if isinstance(node, ListExpr):
        return tuple(each for element in node.elements for each in results(element))
    if isinstance(node, Comprehension) and node.macro in ("map", "transformList"):
        return tuple(_made(node.loop_step))
    return None


def _made(step: Expr) -> Iterator[Expr]:
    """Yield what one step of a loop appends to its result."""
    for part in results(step):
        if not (isinstance(part, Ident) and part.name == ACCUMULATOR):
            yield from items(part) or ()


def _is_list(node: Expr) -> bool:
    """Whether a node is a list for certain, so that ``+`` concatenates lists."""
    return any(
        isinstance(each, ListExpr) or (isinstance(each, Comprehension) and items(each) is not None)
        for each in results(node)
    )
