"""Type-check expressions about objects of known kinds like the API server's status.typeChecking,
without its false reports.

There, an object of a kind is a struct of its schema's fields and nothing else. At run time it is a
map: it may be indexed (``object["spec"]``), iterated, used with ``in``, and used in place of an
object of another type. So an object that does not fit as a struct is checked as a map.
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
# Functions that return one of two values, with their overload.
_EITHER = {"_?_:_": ("conditional",), "orValue": ("optional_orValue_value",)}


class KindTypeProvider(TypeProvider, Protocol):
    """The struct types of kinds."""

    def is_object(self, t: Type) -> bool:
        """Return whether the type is part of a kind."""

    def shared(self, t: Type) -> Type:
        """Return the type shared by all uses of a definition: a container in any list."""


def check_objects(
    text: str, expr: Expr, scope: Scope, objects: KindTypeProvider
) -> tuple[Checked, list[Issue]]:
    """Return the checked expression and all its errors."""
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
        made = Checker._resolve(self, node, overloads)
        complaint = self.issues[told:]
        for loosen in (self._objects.shared, self._as_map):
            if len(self.issues) == told:
                break
            del self.issues[told:]
            self._types.update({number: loosen(found) for number, found in given.items()})
            made = Checker._resolve(self, node, overloads)
        self._types.update(given)
        if len(self.issues) > told:
            self.issues[told:] = complaint
            if node.function in _EITHER:  # types may differ at run time
                self.issues[told:] = []
                return self._typed(node, DYN, Reference(node.function, _EITHER[node.function]))
        return made

    def _indexed(self, node: Call, of: Type) -> Expr:
        """Check ``object["spec"]`` like ``object.spec``."""
        key = node.args[1]
        found = DYN
        if isinstance(key, Literal) and isinstance(key.value, str):
            found = self._struct_field(node.pos, of, key.value)
        return self._typed(node, found, Reference(node.function, ("index_map",)))

    def _as_map(self, t: Type) -> Type:
        if self._objects.is_object(t):
            return _ANY_MAP
        return Type(t.name, tuple(map(self._as_map, t.params))) if t.params else t

    def _iteration_types(self, over: Expr, two: bool) -> tuple[Type, Type]:
        if self._objects.is_object(self._bindings.substitute(self._type(over))):
            return STRING, DYN
        return Checker._iteration_types(self, over, two)
