"""The type checker for expressions about objects of known kinds, as the API server's
status.typeChecking has it, without what it is wrong about.

There an object of a kind is a struct of its schema's fields and nothing else. When policies run it
is a map: it may be indexed (``object["spec"]``), iterated, asked with ``in``, and stand where an
object of another type may. So what does not fit as a struct is tried as a map.
"""

from typing import Protocol

from policyd.cel.check.checker import Checker
from policyd.cel.syntax.ast import Call, Checked, Expr, Literal, Reference
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.source import Issue
from policyd.cel.types import types
from policyd.cel.types.declarations import OverloadDecl, Scope
from policyd.cel.types.types import DYN, STRING, Type, TypeProvider

_ANY_MAP = types.map_of(STRING, DYN)
# What gives one of two values, with its overload.
_EITHER = {"_?_:_": ("conditional",), "orValue": ("optional_orValue_value",)}


class KindTypeProvider(TypeProvider, Protocol):
    """The struct types of kinds."""

    def is_object(self, t: Type) -> bool:
        """Whether the type is part of a kind."""

    def shared(self, t: Type) -> Type:
        """What the type is in all places of its definition: a container is one in every list."""


def check_objects(
    text: str, expr: Expr, scope: Scope, objects: KindTypeProvider
) -> tuple[Checked, list[Issue]]:
    """The checked expression and everything that is wrong with it."""
    checker = _ObjectChecker(scope, objects)
    with deep_recursion():
        resolved = checker.visit(expr)
        return checker.finish(text, resolved), checker.issues


class _ObjectChecker(Checker):
    """One pass over one expression."""

    def __init__(self, scope: Scope, objects: KindTypeProvider) -> None:
        super().__init__(scope)
        self._objects = objects

    def _resolve(self, node: Call, overloads: tuple[OverloadDecl, ...]) -> Expr:
        operands = node.args if node.target is None else (node.target, *node.args)
        given = {each.id: self._bindings.substitute(self._types[each.id]) for each in operands}
        if node.function == "_[_]" and self._objects.is_object(given[operands[0].id]):
            return self._indexed(node, given[operands[0].id])
        told = len(self.issues)
        made = super()._resolve(node, overloads)
        complaint = self.issues[told:]
        for loosen in (self._objects.shared, self._as_map):
            if len(self.issues) == told:
                break
            del self.issues[told:]
            self._types.update({number: loosen(found) for number, found in given.items()})
            made = super()._resolve(node, overloads)
        self._types.update(given)
        if len(self.issues) > told:
            self.issues[told:] = complaint
            if node.function in _EITHER:  # values of two types: nobody asks when it runs
                self.issues[told:] = []
                return self._typed(node, DYN, Reference(node.function, _EITHER[node.function]))
        return made

    def _indexed(self, node: Call, of: Type) -> Expr:
        """``object["spec"]`` is ``object.spec``."""
        key = node.args[1]
        found = DYN
        if isinstance(key, Literal) and isinstance(key.value, str):
            found = self._struct_field(node.pos, of, key.value)
        return self._typed(node, found, Reference(node.function, ("index_map",)))

    def _as_map(self, t: Type) -> Type:
        if self._objects.is_object(t):
            return _ANY_MAP
        return Type(t.name, tuple(map(self._as_map, t.params))) if t.params else t

    def _iteration_types(self, over: Expr, *, two: bool) -> tuple[Type, Type]:
        if self._objects.is_object(self._bindings.substitute(self._type(over))):
            return STRING, DYN
        return super()._iteration_types(over, two=two)
