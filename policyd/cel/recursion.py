"""Room for the recursive passes over an expression, whose depth the parser has bounded.

Since Python 3.11 a Python-to-Python call uses no C stack, so a higher limit is safe for passes that
are written in Python; the parser's own caps (250 levels of source, 1,000 of the tree) bound them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from policyd.cel.ast import Expr, MapEntry, StructField

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


def children(node: Expr) -> Iterator[Expr]:
    """The direct sub-expressions of a node, in source order."""
    for field in fields(node):
        yield from _expressions(getattr(node, field.name))


def _expressions(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, MapEntry):
        yield value.key
        yield value.value
    elif isinstance(value, StructField):
        yield value.value


def depth_of(expr: Expr | None) -> int:
    """Levels of a tree; walks without recursion."""
    deepest = 0
    stack = [(expr, 1)] if expr is not None else []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children(node))
    return deepest
