"""Raise the recursion limit for passes over an expression, whose depth the parser has bounded.

Since Python 3.11 a Python-to-Python call uses no C stack, so a higher limit is safe for passes that
are written in Python; the parser's own caps (250 levels of source, 1,000 of the tree) bound them.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import Lock

from policyd.cel.syntax.ast import (
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


class _Room:
    """The raised limit of the process, kept until the last thread has finished."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _FRAMES))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._before)


_ROOM = _Room()


def deep_recursion() -> AbstractContextManager[None]:
    """Raise Python's recursion limit for a pass; may be nested, also across threads."""
    return _ROOM


def children(node: Expr) -> tuple[Expr, ...]:
    """Return the parts of a node, in the order of the source."""
    if isinstance(node, Select):
        return (node.operand,)
    if isinstance(node, Ident | Literal):
        return ()
    if isinstance(node, Call):
        return node.args if node.target is None else (node.target, *node.args)
    if isinstance(node, ListExpr):
        return node.elements
    if isinstance(node, MapExpr):
        return tuple([part for entry in node.entries for part in (entry.key, entry.value)])
    if isinstance(node, StructExpr):
        return tuple([field.value for field in node.fields])
    if isinstance(node, Comprehension):
        parts = (node.iter_range, node.accu_init, node.loop_condition, node.loop_step)
        return (*parts, node.result)
    raise TypeError(f"no such node: {node!r}")


def nodes(*roots: Expr) -> Iterator[Expr]:
    """Yield every node of some trees, wholes before their parts, in the order of the source."""
    stack = [*reversed(roots)]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(children(node))


def terms_of(root: Expr, function: str) -> list[Expr]:
    """Return the terms of a chain of calls of an operator, such as ``_&&_``."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.function == function:
            stack.extend(node.args[::-1])
        else:
            found.append(node)
    return found


def depth_of(expr: Expr | None) -> int:
    """Return the number of levels of a tree, without recursion."""
    deepest = 0
    stack = [(expr, 1)] if expr is not None else []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children(node))
    return deepest
