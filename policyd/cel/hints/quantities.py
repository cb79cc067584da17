"""Type hints: quantities beside numbers. A quantity has no operators and no factors: the whole
comparison is written with methods, or with floats where it has a factor or a float.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policyd.cel.hints.tree import Tree, converted, filled, held, shown
from policyd.cel.syntax.ast import Call, Expr, Literal
from policyd.cel.syntax.recursion import children
from policyd.cel.types.types import DOUBLE, INT, UINT, Type

QUANTITY = "kubernetes.Quantity"
ORDERED: Mapping[str, str] = {
    "_>_": "{0}.isGreaterThan({1})",
    "_<_": "{0}.isLessThan({1})",
    "_>=_": "!{0}.isLessThan({1})",
    "_<=_": "!{0}.isGreaterThan({1})",
}
OF_QUANTITIES: Mapping[str, str] = {
    **ORDERED,
    "_+_": "{0}.add({1})",
    "_-_": "{0}.sub({1})",
    "_==_": "{0} == {1}",
    "_!=_": "{0} != {1}",
}
_FACTORS = frozenset(("_*_", "_/_"))
_ARITHMETIC = _FACTORS | {"_+_", "_-_"}
_METHODS: Mapping[str, str] = {"isGreaterThan": ">", "isLessThan": "<", "add": "+", "sub": "-"}
_COMPARISONS = frozenset((">", "<", ">=", "<=", "==", "!="))
_OPPOSITES: Mapping[str, str] = {">": "<=", "<": ">=", "==": "!=", "!=": "=="}
_STRENGTHS: Mapping[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2}
_DEEPEST = 20  # levels of operators that are written again


class _Operation(NamedTuple):
    sign: str
    sides: Sequence[Expr]


def quantity_hint(tree: Tree, node: Call, above: Sequence[Expr]) -> str:
    """Return the remedy for a quantity in an operator: the comparison around it, with methods or
    floats. Empty if there is no quantity.
    """
    if node.function == "_%_" and QUANTITY in [tree.type(each).name for each in node.args]:
        sides = [
            f"{held(shown(each))}.asInteger()" if tree.type(each).name == QUANTITY else shown(each)
            for each in node.args
        ]
        return f"write {' % '.join(sides)}"
    operation = _operation(node)
    if operation is None or QUANTITY not in [tree.type(each).name for each in operation.sides]:
        return ""
    whole: Expr = node
    negated = False
    for each in above:
        outer = _operation(each)
        if isinstance(each, Call) and each.function == "!_" and _compares(whole):
            negated = True
        elif outer is None or negated or _compares(whole):
            break
        whole = each
    inner = whole.args[0] if negated and isinstance(whole, Call) else whole
    text = ""
    if not any(_takes_no_quantity(tree, each) for each in (node, *above)):
        if node.function not in _ARITHMETIC:
            return ""
        text = _methods(tree, inner, _DEEPEST, negated=negated)
    text = text or _floats(tree, inner, _DEEPEST, negated=negated)
    return f"write {text}" if text else ""


def _takes_no_quantity(tree: Tree, node: Expr) -> bool:
    """Whether this is a factor, or an operator or method with a float."""
    operation = _operation(node)
    if operation is None or not isinstance(node, Call):
        return False
    return node.function in _FACTORS or DOUBLE in map(tree.type, operation.sides)


def _operation(node: Expr) -> _Operation | None:
    if not isinstance(node, Call):
        return None
    sides = children(node)
    sign = node.function.strip("_")
    if len(sides) != 2:
        return None
    if node.target is not None:
        return _Operation(_METHODS[node.function], sides) if node.function in _METHODS else None
    known = sign in _COMPARISONS or node.function in _ARITHMETIC
    return _Operation(sign, sides) if known else None


def _compares(node: Expr) -> bool:
    operation = _operation(node)
    return operation is not None and operation.sign in _COMPARISONS


def _floats(tree: Tree, node: Expr, levels: int, *, negated: bool = False) -> str:
    """Return an expression with floats; empty if it is too long for a hint."""
    operation = _operation(node)
    if operation is None or not levels:
        return _float(node, tree.type(node))
    sides = [_floats(tree, each, levels - 1) for each in operation.sides]
    if not all(sides):
        return ""
    strength = _STRENGTHS.get(operation.sign, 0)
    for number, each in enumerate(operation.sides):
        inner = _operation(each)
        # As strong on the right, a - (b - c) has other parentheses than a - b - c.
        if inner is not None and _STRENGTHS.get(inner.sign, 0) < strength + number:
            sides[number] = f"({sides[number]})"
    sign = _OPPOSITES.get(operation.sign, operation.sign) if negated else operation.sign
    return f"{sides[0]} {sign} {sides[1]}"


def _methods(tree: Tree, node: Expr, levels: int, *, negated: bool = False) -> str:
    """Return an expression with the methods of quantities; empty if it is too long for a hint, or
    has a factor.
    """
    operation = _operation(node)
    if operation is None or not levels:
        text = shown(node, "")
        return converted("quantity", text, tree.type(node)) if text else ""
    sides = [_methods(tree, each, levels - 1) for each in operation.sides]
    sign = _OPPOSITES.get(operation.sign, operation.sign) if negated else operation.sign
    method = OF_QUANTITIES.get(f"_{sign}_", "")
    return filled(method, sides) if all(sides) else ""


def _float(node: Expr, t: Type) -> str:
    text = shown(node, "")
    if not text or t == DOUBLE:
        return text
    if t.name == QUANTITY:
        return f"{held(text)}.asApproximateFloat()"
    if isinstance(node, Literal) and t in (INT, UINT):
        return f"{text.removesuffix('u')}.0"
    return f"double({text})"
