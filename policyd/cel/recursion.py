"""Room for the recursive passes over an expression, whose depth the parser has bounded.

Since Python 3.11 a Python-to-Python call uses no C stack, so a higher limit is safe for passes that
are written in Python; the parser's own caps (250 levels of source, 1,000 of the tree) bound them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from policyd.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)

_FRAMES = 20_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raises Python's recursion limit for a pass; nests."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of a node, in source order."""
    match node:
        case Literal() | Ident():
            return ()
        case Select():
            return (node.operand,)
        case Call(target=None):
            return node.args
        case Call(target=Expr() as target):
            return (target, *node.args)
        case ListExpr():
            return node.elements
        case MapExpr():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case StructExpr():
            return tuple(field.value for field in node.fields)
        case Comprehension():
            return (
                node.iter_range,
                node.accu_init,
                node.loop_condition,
                node.loop_step,
                node.result,
            )
    raise TypeError(f"no such node: {node!r}")


def depth_of(expr: Expr | None) -> int:
    """Levels of a tree; walks without recursion."""
    deepest = 0
    stack = [(expr, 1)] if expr is not None else []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children(node))
    return deepest
