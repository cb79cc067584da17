"""The type checker: cel-go's rules (checker/checker.go) and its messages.

Returns the tree with names resolved, a type for every node and a reference for every name and call.
Mixed literals like ``[1, "a"]`` get the element type dyn here; ``validators`` refuses them outside
of string.format, as Kubernetes does.
"""

from policyd.cel.check.suggestions import misspelt, undeclared
from policyd.cel.syntax.ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Reference,
    Select,
    StructExpr,
    StructField,
    qualified_name,
    same_nodes,
)
from policyd.cel.syntax.source import Issue, Source
from policyd.cel.types import types
from policyd.cel.types.declarations import CONSTANTS, Names, OverloadDecl, Scope, TypeVariables
from policyd.cel.types.structs import is_message
from policyd.cel.types.types import BOOL, DYN, ERROR, INT, STRING, Kind, Type
from policyd.cel.types.unify import Bindings, most_general
from policyd.errors import CelTypeError

_LITERAL_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    float: types.DOUBLE,
    str: STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
_LOGIC = frozenset(("_&&_", "_||_"))
_DYN = Kind.DYN
_ERROR = Kind.ERROR
_LIST = Kind.LIST
_MAP = Kind.MAP
_PARAM = Kind.PARAM
_STRUCT = Kind.STRUCT
_TYPE = Kind.TYPE
_WELL_KNOWN = Kind.WELL_KNOWN


def check(text: str, expr: Expr, scope: Scope) -> Checked:
    """Return the checked expression; raises CelTypeError with all errors."""
    checked, issues = check_all(text, expr, scope)
    if issues:
        raise Source(text).error(CelTypeError, issues)
    return checked


def check_all(text: str, expr: Expr, scope: Scope) -> tuple[Checked, list[Issue]]:
    """Return the checked expression, even with errors, and all errors."""
    checker = Checker(scope)
    resolved = checker.visit(expr)
    return checker.finish(text, resolved), checker.issues


class Checker:
    """One pass over one expression."""

    def __init__(self, scope: Scope) -> None:
        self.issues: list[Issue] = []
        self._scope = scope
        self._names = Names(scope)
        self._types: dict[int, Type] = {}
        self._references: dict[int, Reference] = {}
        self._bindings = Bindings()
        self._variables = TypeVariables()

    def finish(self, text: str, expr: Expr) -> Checked:
        """Return the results, free of type parameters."""
        solved = {
            node: self._bindings.substitute(found, True) for node, found in self._types.items()
        }
        return Checked(text, expr, solved, self._references, self._scope.version)

    def visit(self, node: Expr) -> Expr:
        """Check a node, store its type in ``_types`` and return it with names resolved."""
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Call):
            return self._optional_select(node) if node.function == "_?._" else self._call(node)
        if isinstance(node, Literal):
            return self._typed(node, _LITERAL_TYPES.get(type(node.value), types.UINT))
        if isinstance(node, Comprehension):
            return self._comprehension(node)
        if isinstance(node, ListExpr):
            return self._list(node)
        if isinstance(node, MapExpr):
            return self._map(node)
        if isinstance(node, StructExpr):
            return self._struct(node)
        raise TypeError(f"no such node: {node!r}")

    # Helpers

    def _typed(self, node: Expr, found: Type, reference: Reference | None = None) -> Expr:
        if found.size > types.MAX_TYPE_SIZE:
            self._report(node.pos, f"type of more than {types.MAX_TYPE_SIZE} names")
            found = DYN
        self._types[node.id] = found
        if reference is not None:
            self._references[node.id] = reference
        return node

    def _type(self, node: Expr) -> Type:
        return self._types[node.id]

    def _report(self, pos: int, message: str) -> None:
        self.issues.append(Issue(pos, message))

    def _mismatch(self, pos: int, expected: Type, found: Type) -> None:
        self._report(pos, f"expected type '{expected.display()}' but found '{found.display()}'")

    def _undeclared(self, node: Expr, name: str) -> Expr:
        self._report(node.pos, undeclared(name, self._scope))
        return self._typed(node, ERROR)

    def _name(self, node: Expr, found: tuple[str, Type]) -> Expr:
        """Return the node as one name. A leading dot stays if a macro variable hides the name."""
        name, declared = found
        if isinstance(node, Ident) and node.name == name:
            return self._typed(node, declared, Reference(name, (), CONSTANTS.get(name)))
        dotted = isinstance(node, Ident) and node.name.startswith(".")
        if self._names.variable(name) != found or (dotted and self._names.hides(name)):
            return self._typed(Ident(node.id, node.pos, f".{name}"), declared, Reference(name))
        reference = Reference(name, (), CONSTANTS.get(name))
        return self._typed(Ident(node.id, node.pos, name), declared, reference)

    # Names and fields

    def _ident(self, node: Ident) -> Expr:
        found = self._names.variable(node.name)
        return self._undeclared(node, node.name) if found is None else self._name(node, found)

    def _select(self, node: Select) -> Expr:
        name = None if node.test_only else qualified_name(node)
        variable = self._names.variable(name) if name is not None else None
        if variable is not None:
            return self._name(node, variable)
        if name is not None and misspelt(name, self._names, self._scope):
            return self._undeclared(node, name)
        operand = self.visit(node.operand)
        found = self._field_of(node, operand, node.field)
        if node.test_only:
            found = BOOL
        made = node
        if operand is not node.operand:
            made = Select(node.id, node.pos, operand, node.field, node.test_only)
        return self._typed(made, self._bindings.substitute(found))

    def _optional_select(self, node: Call) -> Expr:
        operand, field = self.visit(node.args[0]), node.args[1]
        if not isinstance(field, Literal) or not isinstance(field.value, str):
            raise TypeError("the parser makes optional selections with a literal name")
        found = self._field_of(node, operand, field.value, True)
        self._types[field.id] = STRING
        return self._typed(
            Call(node.id, node.pos, node.function, node.target, (operand, field)),
            self._bindings.substitute(found),
            Reference(node.function, ("select_optional_field",)),
        )

    def _field_of(self, node: Expr, operand: Expr, field: str, optional: bool = False) -> Type:
        """Return the type of a field; an optional operand or selection makes it optional."""
        whole = self._bindings.substitute(self._type(operand))
        target = whole.params[0] if types.is_optional(whole) else whole
        if target.kind is _MAP:
            found = target.params[1]
        elif target.kind is _STRUCT:
            found = self._struct_field(node.pos, target, field)
        else:
            if target.kind is _PARAM:
                self._bindings.assignable(DYN, target)
            elif target.kind not in (_DYN, _ERROR):
                self._report(
                    node.pos, f"type '{target.display()}' does not support field selection"
                )
            found = DYN
        return types.optional_of(found) if optional or types.is_optional(whole) else found

    def _struct_field(self, pos: int, struct: Type, field: str) -> Type:
        if self._scope.provider.find(struct.name) is None:
            self._report(pos, f"unexpected failed resolution of '{struct.name}'")
            return ERROR
        found = self._scope.provider.field(struct, field)
        if found is None:
            self._report(pos, f"undefined field '{field}'")
            return ERROR
        return found

    # Calls

    def _call(self, node: Call) -> Expr:
        args = tuple([self.visit(arg) for arg in node.args])
        if node.target is None:
            return self._resolve_named(node, node.function, None, args)
        prefix = qualified_name(node.target)
        name = f"{prefix}.{node.function}"
        declared = prefix is not None and self._names.function(name) is not None
        if declared or (prefix is not None and misspelt(name, self._names, self._scope)):
            return self._resolve_named(node, name, None, args)
        return self._resolve_named(node, node.function, self.visit(node.target), args)

    def _resolve_named(
        self, node: Call, name: str, target: Expr | None, args: tuple[Expr, ...]
    ) -> Expr:
        function = self._names.function(name)
        if function is None:
            return self._undeclared(node, name)
        full, overloads = function
        if full != node.function or target is not node.target or not same_nodes(args, node.args):
            node = Call(node.id, node.pos, full, target, args)
        return self._resolve(node, overloads)

    def _resolve(self, node: Call, overloads: tuple[OverloadDecl, ...]) -> Expr:
        """Choose the overloads that fit; evaluation chooses among several."""
        if node.function in _LOGIC:
            return self._resolve_logic(node, overloads)
        operands = node.args if node.target is None else (node.target, *node.args)
        given = tuple([self._types[operand.id] for operand in operands])
        ids: list[str] = []
        result: Type | None = None
        for overload in overloads:
            if overload.member != (node.target is not None):
                continue
            if len(overload.args) != len(given):
                self._variables.skip(overload)
                continue
            wanted, produced = self._variables.instantiate(overload)
            if not self._bindings.all_assignable(given, wanted):
                continue
            ids.append(overload.id)
            produced = self._bindings.substitute(produced)
            if result is None:
                result = produced
            elif result.kind is not _DYN and not types.is_same(produced, result):
                result = DYN
        if result is None:
            return self._no_overload(node, given)
        return self._typed(node, result, Reference(node.function, tuple(ids)))

    def _resolve_logic(self, node: Call, overloads: tuple[OverloadDecl, ...]) -> Expr:
        """Check both sides of && and ||, so that errors in both are reported."""
        result = BOOL
        for arg in node.args:
            if not self._bindings.assignable(self._type(arg), BOOL):
                self._mismatch(arg.pos, BOOL, self._type(arg))
                result = ERROR
        return self._typed(node, result, Reference(node.function, (overloads[0].id,)))

    def _no_overload(self, node: Call, given: tuple[Type, ...]) -> Expr:
        names = [self._bindings.substitute(each, True).display() for each in given]
        receiver = f"{names.pop(0)}." if node.target is not None else ""
        self._report(
            node.pos,
            f"found no matching overload for '{node.function}' applied to "
            f"'{receiver}({', '.join(names)})'",
        )
        return self._typed(node, ERROR)

    # Literals of lists, maps and structs

    def _list(self, node: ListExpr) -> Expr:
        joined: Type | None = None
        elements: list[Expr] = []
        for index, each in enumerate(node.elements):
            element = self.visit(each)
            elements.append(element)
            joined = self._join(joined, self._unwrapped(element, index in node.optional))
        found = types.list_of(joined or self._variables.fresh())
        return self._typed(ListExpr(node.id, node.pos, tuple(elements), node.optional), found)

    def _unwrapped(self, value: Expr, optional: bool) -> Type:
        """Return the type of a value in its literal: ``?value`` must be an optional."""
        found = self._type(value)
        if not optional:
            return found
        if types.is_optional(found):
            return found.params[0]
        if found.kind is not _DYN:
            self._mismatch(value.pos, types.optional_of(found), found)
        return found

    def _join(self, joined: Type | None, found: Type) -> Type:
        if joined is None:
            return found
        if self._bindings.assignable(joined, found):
            return most_general(joined, found)
        return DYN

    def _map(self, node: MapExpr) -> Expr:
        key_type: Type | None = None
        value_type: Type | None = None
        entries: list[MapEntry] = []
        for entry in node.entries:
            key = self.visit(entry.key)
            key_type = self._join(key_type, self._type(key))
            value = self.visit(entry.value)
            value_type = self._join(value_type, self._unwrapped(value, entry.optional))
            entries.append(MapEntry(entry.id, entry.pos, key, value, entry.optional))
        if key_type is None or value_type is None:
            key_type, value_type = self._variables.fresh(), self._variables.fresh()
        found = types.map_of(key_type, value_type)
        return self._typed(MapExpr(node.id, node.pos, tuple(entries)), found)

    def _struct(self, node: StructExpr) -> Expr:
        variable = self._names.struct(node.type_name)
        if variable is None:
            return self._undeclared(node, node.type_name)
        name, found = variable
        struct = self._struct_type(node, found)
        self._typed(node, struct, Reference(name))
        made = tuple([self._struct_entry(field, struct, name) for field in node.fields])
        return StructExpr(node.id, node.pos, name, made)

    def _struct_type(self, node: StructExpr, found: Type) -> Type:
        if found.kind is _ERROR:
            return ERROR
        if found.kind is not _TYPE:
            self._report(node.pos, f"'{found}' is not a type")
            return ERROR
        struct = found.params[0] if found.params else types.TYPE
        if struct.kind is not _STRUCT and not is_message(struct):
            self._report(node.pos, f"'{struct.name}' is not a message type")
            return ERROR
        return struct

    def _struct_entry(self, field: StructField, struct: Type, name: str) -> StructField:
        value = self.visit(field.value)
        named = struct if struct.kind is _WELL_KNOWN else types.shared_type(name)
        wanted = self._struct_field(field.pos, named, field.name)
        given = self._unwrapped(value, field.optional)
        if not self._bindings.assignable(wanted, given):
            self._report(
                field.pos,
                f"expected type of field '{field.name}' is '{wanted.display()}' "
                f"but provided type is '{given.display()}'",
            )
        return StructField(field.id, field.pos, field.name, value, field.optional)

    # Comprehensions

    def _comprehension(self, node: Comprehension) -> Expr:
        over = self.visit(node.iter_range)
        start = self.visit(node.accu_init)
        accumulator = self._type(start)
        first, second = self._iteration_types(over, bool(node.iter_var2))
        self._names.enter({node.accu_var: accumulator})
        loop = {node.iter_var: first}
        if node.iter_var2:
            loop[node.iter_var2] = second
        self._names.enter(loop)
        condition = self._visit_as(node.loop_condition, BOOL)
        step = self._visit_as(node.loop_step, accumulator)
        self._names.leave()
        result = self.visit(node.result)
        self._names.leave()
        made = Comprehension(
            node.id, node.pos, over, node.iter_var, node.iter_var2,
            node.accu_var, start, condition, step, result, node.macro,
        )  # fmt: skip
        return self._typed(made, self._bindings.substitute(self._type(result)))

    def _visit_as(self, node: Expr, wanted: Type) -> Expr:
        """Check a node that must have the type ``wanted``."""
        visited = self.visit(node)
        if not self._bindings.assignable(wanted, self._type(visited)):
            self._mismatch(visited.pos, wanted, self._type(visited))
        return visited

    def _iteration_types(self, over: Expr, two: bool) -> tuple[Type, Type]:
        """Return the types of the iteration variables."""
        range_type = self._bindings.substitute(self._type(over))
        if range_type.kind is _LIST:
            element = range_type.params[0]
            return (INT, element) if two else (element, element)
        if range_type.kind is _MAP:
            return range_type.params[0], range_type.params[1]
        if range_type.kind in (_DYN, _ERROR, _PARAM):
            self._bindings.assignable(DYN, range_type)
            return DYN, DYN
        self._report(
            over.pos,
            f"expression of type '{range_type.display()}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR, ERROR
