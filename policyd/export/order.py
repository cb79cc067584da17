"""Messages with the keys of a map of ``params``: the API server walks maps in random order, policyd
in the order in which they are written. So a message may name the same things in another order.
"""

from collections.abc import Iterator, Mapping

from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.export.model import Reason
from policyd.json_types import JSON, JSONObject
from policyd.policy.model.expressions import ANNOTATION, MESSAGE, VARIABLE, expressions_of
from policyd.versions import KubernetesVersion

# The macros whose result is a list in the order of the keys.
_ORDERED = ("map", "filter", "transformList")
_NOTHING = object()


def order_remarks(
    policy: JSONObject, params: JSONObject, version: KubernetesVersion
) -> Iterator[Reason]:
    """Yield a remark for each message and audit annotation in which the order may differ."""
    expressions = list(expressions_of(policy))
    variables = {
        each.name: parse(each.text, version) for each in expressions if each.role is VARIABLE
    }
    reader = _Reader(params, variables)
    for each in expressions:
        if each.role in (MESSAGE, ANNOTATION):
            for field in sorted(reader.walked(parse(each.text, version), set())):
                text = (
                    f"the API server walks the map {field} in random order, so the order of "
                    "words may differ"
                )
                yield Reason(each.at, text)


class _Reader:
    def __init__(self, params: JSONObject, variables: Mapping[str, Expr]) -> None:
        self._params = params
        self._variables = variables

    def walked(self, expr: Expr, seen: set[str]) -> set[str]:
        """Return the maps of params that an expression walks, as ``params.field``; ``seen`` are the
        variables that were read before.
        """
        found: set[str] = set()
        for node in nodes(expr):
            if isinstance(node, Comprehension) and node.macro in _ORDERED:
                value, path = self._value(node.iter_range)
                if isinstance(value, dict) and len(value) > 1:
                    found.add(path)
            name = _variable(node)
            if name in self._variables and name not in seen:
                seen.add(name)
                found |= self.walked(self._variables[name], seen)
        return found

    def _value(self, node: Expr) -> tuple[JSON, str]:
        """Return what an expression is of the params, and its path."""
        name = _variable(node)
        if name in self._variables:
            return self._value(self._variables[name])
        match node:
            case Ident(name="params"):
                return self._params, "params"
            case (
                Select(operand=operand, field=key)
                | Call(function="_[_]", args=(operand, Literal(value=str(key))))
            ):
                value, path = self._value(operand)
                if isinstance(value, dict) and key in value:
                    return value[key], f"{path}.{key}"
        return _NOTHING, ""


def _variable(node: Expr) -> str:
    match node:
        case Select(operand=Ident(name="variables"), field=name):
            return name
    return ""
