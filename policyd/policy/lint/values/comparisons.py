"""The comparisons of a policy's expressions: which field is compared with which values, for each
kind that the policy matches. Gives no advice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.hints.quantities import ORDERED
from policyd.cel.syntax.ast import Call, Comprehension, Expr, ListExpr, Literal
from policyd.cel.syntax.recursion import children
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.fields import FieldRead, FieldReader
from policyd.policy.model.expressions import PolicyExpression

EQUALITIES = frozenset({"_==_", "_!=_", "@in"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """``node`` is compared with ``other`` by an operator.

    ``read`` is the field that ``node`` reads; None if it reads none, or an unknown one.
    """

    operator: str
    node: Expr
    other: Expr
    read: FieldRead | None


def comparisons(
    policy: LintedPolicy,
) -> Iterator[tuple[PolicyExpression, Mapping[tuple[int, int], list[Comparison]]]]:
    """Yield each expression with its comparisons, by the nodes that are compared, once for each
    side and for each item of a list: one for each kind.
    """
    kinds = {types.gvk: types for types, _ in cases(policy)}
    for expression in policy.expressions:
        found: dict[tuple[int, int], list[Comparison]] = {}
        for types in kinds.values():
            checked = types.checked(expression.text)
            if checked is not None:
                for each in _below(checked.expr, FieldReader(types, checked)):
                    found.setdefault((each.node.id, each.other.id), []).append(each)
        yield expression, found


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
    elif node.function in EQUALITIES or node.function in ORDERED:
        yield Comparison(node.function, left, right, reader.read(left))
        yield Comparison(node.function, right, left, reader.read(right))
