"""The comparisons of a policy's expressions: which field is compared with which values, for each
kind that the policy matches. Gives no advice.

A field is found through selections, optionals with their defaults, variables, and the elements of
loops.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from policyd.cel.hints.quantities import ORDERED
from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    Select,
)
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.unparse import unparse
from policyd.cel.types.types import is_optional
from policyd.json_types import JSONObject
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.model.expressions import PolicyExpression

EQUALITIES = frozenset({"_==_", "_!=_", "@in"})


@dataclass(frozen=True, slots=True)
class FieldRead:
    """A field: its schema, and the constants that ``orValue`` puts in its place if it is missing.

    ``replaced``: something other than a constant may stand in its place.
    """

    schema: JSONObject
    defaults: tuple[object, ...] = ()
    replaced: bool = False

    def element(self) -> "FieldRead | None":
        """Return the items of a list, or the values of a map."""
        for part in ("items", "additionalProperties"):
            found = self.schema.get(part)
            if isinstance(found, dict):
                return FieldRead(found)
        return None


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
                for each in _below(checked.expr, _FieldReader(types, checked)):
                    found.setdefault((each.node.id, each.other.id), []).append(each)
        yield expression, found


def _below(node: Expr, reader: "_FieldReader") -> Iterator[Comparison]:
    if isinstance(node, Comprehension):
        inside = reader.inside(node)
        for child in children(node):
            yield from _below(child, reader if child is node.iter_range else inside)
        return
    if isinstance(node, Call) and len(node.args) == 2:
        yield from _of_call(node, reader)
    for child in children(node):
        yield from _below(child, reader)


def _of_call(node: Call, reader: "_FieldReader") -> Iterator[Comparison]:
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


@dataclass(frozen=True, slots=True)
class _FieldReader:
    """Finds the fields that the nodes of one checked expression read."""

    types: KindTypes
    checked: Checked
    loops: Mapping[str, FieldRead | None] = field(default_factory=dict)

    def read(self, node: Expr) -> FieldRead | None:
        """Return the field whose value a node is; None if it is none, or unknown."""
        match node:
            case Ident(name=name):
                return self.loops.get(name)
            case Select(operand=Ident(name="variables"), field=name) if (
                "variables" not in self.loops
            ):
                variable = self.types.variables.get(name)
                if variable is None:
                    return None
                return _FieldReader(self.types, variable).read(variable.expr)
            case Select(test_only=False, operand=of, field=name):
                return self._member(of, name)
            case Call(function="_?._" | "_[_]" | "_[?_]", args=(of, Literal(value=str() as name))):
                return self._member(of, name)
            case Call(function="_[_]" | "_[?_]", args=(of, _)):
                return self._element(of)
            case Call(function="value", target=Expr() as target):
                return self.read(target)
            case Call(function="dyn", args=(value,)):
                return self.read(value)
            case Call(function="orValue", target=Expr() as target, args=(default,)):
                found = self.read(target)
                if found is None:
                    return None
                if unparse(default) in ("[]", "{}"):
                    return found
                if isinstance(default, Literal):
                    return replace(found, defaults=(*found.defaults, default.value))
                return replace(found, replaced=True)
        return None

    def inside(self, loop: Comprehension) -> "_FieldReader":
        """Return the reader for the body of a loop."""
        element = self._element(loop.iter_range)
        names: dict[str, FieldRead | None] = {loop.accu_var: None, loop.iter_var: element}
        if loop.iter_var2:
            names |= {loop.iter_var: None, loop.iter_var2: element}
        elif (over := self.read(loop.iter_range)) is not None and "items" not in over.schema:
            names[loop.iter_var] = None  # a key
        return replace(self, loops={**self.loops, **names})

    def _member(self, of: Expr, name: str) -> FieldRead | None:
        struct = self.checked.types[of.id]
        struct = struct.params[0] if is_optional(struct) else struct
        schema = self.types.objects.schema_of(struct, name)
        if schema is not None:
            return FieldRead(schema)
        whole = self.read(of)
        extra = whole.schema.get("additionalProperties") if whole is not None else None
        return FieldRead(extra) if isinstance(extra, dict) else None

    def _element(self, node: Expr) -> FieldRead | None:
        match node:
            case Comprehension(macro="filter"):
                return self._element(node.iter_range)
            case Call(function="_+_", args=(left, right)):
                one, other = self._element(left), self._element(right)
                return one if one is not None and other == one else None
        found = self.read(node)
        return found.element() if found is not None and not found.replaced else None
