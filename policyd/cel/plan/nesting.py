"""How deeply an expression nests the lists, maps, structs and optionals that it creates around
values that it reads. Every walk over a value is as deep as the value, so planning bounds the depth.
Kubernetes has no such bound; a single expression cannot reach it.

Also distinguishes values that expressions read from values that they create: error messages use the
Go type of the former and the CEL type of the latter.
"""

from collections.abc import Container, Mapping
from functools import cache

from policyd.cel.plan.calls import refuse
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
from policyd.cel.syntax.recursion import children
from policyd.cel.types.declarations import parse_signature
from policyd.cel.types.functions import declarations
from policyd.cel.types.types import Kind, Type

# Levels that a policy's expressions may put around values that they read. As a request's objects
# have at most 1,000, no value has more than 1,500.
MAX_NESTING = 500
_VARIABLES = ("variables", ".variables")


def nesting(expr: Expr, types: Mapping[int, Type], variables: Mapping[str, int]) -> int:
    """Return the maximum number of levels of an expression's value, not counting the levels of the
    values it reads. ``variables`` has the levels of ``variables.*``. Raises CelTypeError if any
    part of the expression has more than MAX_NESTING. Call it within ``deep_recursion``.
    """
    return _Levels(types, variables).of(expr, {})


class _Levels:
    """Counts the levels of the parts of one expression; ``names`` has the levels of macro
    variables.
    """

    def __init__(self, types: Mapping[int, Type], variables: Mapping[str, int]) -> None:
        self.types = types
        self.variables = variables

    def of(self, node: Expr, names: dict[str, int]) -> int:
        """Return the levels of the value of a part."""
        levels = self._of(node, names)
        if levels == 0:
            return 0
        if levels > MAX_NESTING:
            raise refuse(f"it makes values nested deeper than {MAX_NESTING} levels")
        known = self.types.get(node.id)
        return 0 if known is not None and known.kind in FLAT else levels

    def _of(self, node: Expr, names: dict[str, int]) -> int:
        if isinstance(node, Ident):
            return names.get(node.name, 0)
        if isinstance(node, Literal):
            return 0
        if isinstance(node, Select):
            if _is_variables(node.operand, names):
                return self.variables.get(node.field, 0)
            return self.of(node.operand, names)
        if isinstance(node, Comprehension):
            return self._fold(node, names)
        deepest = 0
        for part in children(node):
            deepest = max(deepest, self.of(part, names))
        if isinstance(node, Call):
            return self._named(node, names, deepest) + _added(node.function)
        return deepest + 1  # a list, map or struct

    def _named(self, node: Call, names: dict[str, int], deepest: int) -> int:
        """``variables["x"]`` and ``variables.?x`` have the levels of the variable."""
        if len(node.args) != 2 or not _is_variables(node.args[0], names):
            return deepest
        second = node.args[1]
        if isinstance(second, Literal) and isinstance(second.value, str):
            return max(deepest, self.variables.get(second.value, 0))
        return deepest

    def _fold(self, node: Comprehension, names: dict[str, int]) -> int:
        """A macro. In each round, its accumulator reads the value of the previous round, and adds
        no level around it.
        """
        within = {**names, node.iter_var: self.of(node.iter_range, names)}
        if node.iter_var2:
            within[node.iter_var2] = within[node.iter_var]
        within[node.accu_var] = self.of(node.accu_init, names)
        self.of(node.loop_condition, within)
        within[node.accu_var] = max(within[node.accu_var], self.of(node.loop_step, within))
        return self.of(node.result, within)


def _is_variables(node: Expr, names: dict[str, int]) -> bool:
    return isinstance(node, Ident) and node.name in _VARIABLES and node.name not in names


def _added(function: str) -> int:
    """Return how many more levels the result of a function has than its deepest argument."""
    return added_levels().get(function.removeprefix("."), 0)


@cache
def added_levels() -> dict[str, int]:
    """Return the levels that each function adds, by its name."""
    found: dict[str, int] = {}
    for each in declarations():
        signature = parse_signature(each.signature, each.name)
        given = [leaf for argument in signature.args for leaf in _leaves(argument, 0)]
        for name, level in _leaves(signature.result, 0):
            least = min((at for known, at in given if known == name), default=0)
            found[each.name] = max(level - least, found.get(each.name, 0))
    return found


def _leaves(kind: Type, level: int) -> list[tuple[str, int]]:
    """Return the names in the structure of a type, each with its level: a type parameter is as deep
    as the argument's value in its place.
    """
    if not kind.params or kind.kind is Kind.TYPE:
        return [(kind.name, level)]
    return [leaf for inside in kind.params for leaf in _leaves(inside, level + 1)]


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
    """Return whether an expression certainly creates each list and map in its value."""
    if isinstance(expr, Literal | StructExpr):  # the planner checks the fields of each struct
        return True
    if isinstance(expr, ListExpr):
        return all(makes(item, types) for item in expr.elements)
    if isinstance(expr, MapExpr):
        return all(makes(entry.value, types) for entry in expr.entries)
    known = types.get(expr.id)
    return known is not None and known.kind in FLAT
