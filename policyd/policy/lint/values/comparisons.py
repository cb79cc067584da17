"""The comparisons of a policy's expressions: which field is compared with which values, for each
kind that the policy matches. Gives no advice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.syntax.ast import Call, Checked, Comprehension, Expr, ListExpr, Literal
from policyd.cel.syntax.recursion import children
from policyd.policy.lint.types.fields import FieldRead, FieldReader
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.model.expressions import PolicyExpression

EQUALITIES = frozenset({"_==_", "_!=_", "@in"})
ORDERS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """``node`` is compared with ``other`` by an operator.

    ``read`` is the field that ``node`` reads; None if it reads none, or an unknown one.
    """

    operator: str
    node: Expr
    other: Expr
    read: FieldRead | None


def comparisons(checked: Checked, types: KindTypes) -> Iterator[Comparison]:
    """Yield every comparison of an expression, once for each side and for each item of a list."""
    yield from _below(checked.expr, FieldReader(types, checked))


def _below(node: Expr, reader: FieldReader) -> Iterator[Comparison]:
    if isinstance(node, Comprehension):
        inside = reader.inside(node)
        for child in children(node):
            yield from _below(child, reader if child is node.iter_range else inside)
        return
    if isinstance(node, Call) and len(node.args) == 2:
        yield from _of_call(node, reader)
    for child in children(node):
        yield from _below(child, reader)


def _of_call(node: Call, reader: FieldReader) -> Iterator[Comparison]:
    left, right = node.args
    if node.function == "@in":
        if isinstance(right, ListExpr):
            read = reader.read(left)
            for item in right.elements:
                yield Comparison(node.function, left, item, read)
        elif isinstance(left, Literal):
            whole = reader.read(right)
            if whole is not None and "items" in whole.schema and not whole.replaced:
                yield Comparison(node.function, right, left, whole.element())
    elif node.function in EQUALITIES or node.function in ORDERS:
        yield Comparison(node.function, left, right, reader.read(left))
        yield Comparison(node.function, right, left, reader.read(right))


def by_place(
    each: PolicyExpression, kinds: Iterable[KindTypes]
) -> Mapping[tuple[int, int], list[Comparison]]:
    """Return the comparisons of an expression by the nodes that are compared, one for each kind."""
    found: dict[tuple[int, int], list[Comparison]] = {}
    for types in kinds:
        checked = types.checked(each.text)
        if checked is not None:
            for comparison in comparisons(checked, types):
                nodes = comparison.node.id, comparison.other.id
                found.setdefault(nodes, []).append(comparison)
    return found
