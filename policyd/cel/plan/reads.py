"""Tell values that expressions read from those that they make.

Error messages name the value of an expression that only reads by the Go type that the variables
hold, all other values by the CEL type.
"""

from collections.abc import Container, Mapping

from policyd.cel.syntax.ast import (
    Call,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from policyd.cel.types.types import Kind, Type

# Kinds of types whose values contain no others.
FLAT = (Kind.PRIMITIVE, Kind.NULL, Kind.WELL_KNOWN, Kind.WRAPPER, Kind.TYPE)


def only_reads(expr: Expr, macro_variables: Container[str]) -> bool:
    """Return whether an expression is a variable, followed by names and indexes."""
    if isinstance(expr, Ident):
        return expr.name not in macro_variables
    if isinstance(expr, Select):
        return not expr.test_only and only_reads(expr.operand, macro_variables)
    if not isinstance(expr, Call):
        return False
    if expr.function == "_[_]" and len(expr.args) == 2:
        base, index = expr.args
        return not isinstance(index, Literal) or (
            type(index.value) in (str, int) and only_reads(base, macro_variables)
        )
    if expr.function == "_?_:_" and len(expr.args) == 3:
        _, yes, no = expr.args
        return only_reads(yes, macro_variables) and only_reads(no, macro_variables)
    return False


def makes(expr: Expr, types: Mapping[int, Type]) -> bool:
    """Return whether each list or map in the value of an expression is surely made by it."""
    if isinstance(expr, Literal | StructExpr):  # the planner checks the fields of each struct
        return True
    if isinstance(expr, ListExpr):
        return all(makes(item, types) for item in expr.elements)
    if isinstance(expr, MapExpr):
        return all(makes(entry.value, types) for entry in expr.entries)
    known = types.get(expr.id)
    return known is not None and known.kind in FLAT
