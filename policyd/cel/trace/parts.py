"""The parts of an expression's tree that steps are made of. Evaluates nothing."""

from collections.abc import Iterator

from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    ListExpr,
    Select,
)

INDEXES = ("_[_]", "_[?_]", "_?._")


def bodies(expr: Comprehension) -> Iterator[Expr]:
    """Yield the parts evaluated in each round: the condition, if any, and the body."""
    match expr.loop_step:
        case Call(function="_?_:_", args=(test, Call() as change, _)):
            yield test
            yield from _collected(change)
        case Call(function=("_&&_" | "_||_"), args=(_, test)):
            yield test
        case Call() as change:
            yield from _collected(change)


def _collected(change: Call) -> Iterator[Expr]:
    last = change.args[-1]
    yield from last.elements if isinstance(last, ListExpr) else (last,)


def operand(expr: Expr) -> Expr | None:
    """Return the operand of a select or index."""
    if isinstance(expr, Select):
        return expr.operand
    if isinstance(expr, Call) and expr.function in INDEXES:
        return expr.args[0]
    return None


def unchained(expr: Expr) -> tuple[Expr, list[Expr]]:
    """Return the base of a chain of selects and indexes, and its index expressions."""
    keys: list[Expr] = []
    while (held := operand(expr)) is not None:
        if isinstance(expr, Call) and expr.function != "_?._":
            keys.append(expr.args[1])
        expr = held
    return expr, keys[::-1]
