"""Check the values that a mutation writes: names of ``Object{...}`` types, unknown fields, values
of another type, atomic lists and maps in an ApplyConfiguration.

Values come from literals, as far as their expressions contain any; otherwise the static type of an
expression decides. Evaluates nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyd._core.schema.types import Decoding, Field, Relation, Scalar, SchemaType
from policyd.cel.syntax.ast import (
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    StructExpr,
)
from policyd.cel.types.types import DYN, Kind, Type, is_optional, is_patch_object
from policyd.mutation.overlays.types import expectation, fits_expression, in_words
from policyd.mutation.schemas.schemas import KindSchema
from policyd.mutation.schemas.unknown_fields import field_hint
from policyd.policy.lint.guards.forms import is_null
from policyd.policy.lint.mutations.paths import MutationFinding
from policyd.policy.lint.mutations.results import items, results

_UNWRITABLE = {
    "kubernetes.Quantity": "a quantity",
    "kubernetes.Semver": "a semantic version",
    "kubernetes.URL": "a URL",
    "net.CIDR": "a CIDR",
    "net.IP": "an IP address",
}
_UNMERGEABLE = {
    **_UNWRITABLE,
    "bytes": "bytes",
    "google.protobuf.Duration": "a duration",
    "google.protobuf.Timestamp": "a timestamp",
    "uint": "a uint",
}
_WHOLE_NUMBERS = (Decoding.INT32, Decoding.INT64)
_OWN = ("apiVersion", "kind")  # of Object{}; ignored


@dataclass(frozen=True, slots=True)
class WrittenValues:
    """Checks the values of one expression for one kind.

    ``types`` are the static types by node id. ``merges``: an ApplyConfiguration, else the values of
    a JSONPatch. ``schema``: of the object, if it is known.
    """

    types: Mapping[int, Type]
    merges: bool
    schema: KindSchema | None

    @property
    def fails(self) -> bool:
        """Whether an unknown field is an error; custom resources drop it."""
        return self.merges or (self.schema is not None and self.schema.native)

    def findings(
        self, node: Expr, at: Field | None, where: str, expected: str = ""
    ) -> Iterator[MutationFinding]:
        """Yield the mistakes in a value for the field ``at``; None: of an unknown type.

        ``where`` is the place of the field for messages. ``expected`` is the name that an
        ``Object{...}`` needs there; empty: any, as in the value of a JSONPatch.
        """
        for each in results(node):
            yield from self._value(each, at, where, expected)

    def _value(
        self, node: Expr, at: Field | None, where: str, expected: str
    ) -> Iterator[MutationFinding]:
        given = self.types.get(node.id, DYN)
        name = _object_name(node, given)
        if name and expected and name != expected:
            yield MutationFinding(
                node.pos,
                f"type {name} does not match its field: expected {expected}",
                f"write {expected}{{…}}: the name of a type is the path of its field",
                general=True,
            )
        unwritable = (_UNMERGEABLE if self.merges else _UNWRITABLE).get(given.name)
        if unwritable is not None:
            message = f"{where} is {unwritable}, which cannot be written to an object"
            hint = "write int(…)" if given.name == "uint" else "write a string"
            yield MutationFinding(node.pos, message, hint, general=True)
            return
        if self.merges and at is not None and is_null(node) and at.type.scalar != Scalar.UNTYPED:
            message = f"an ApplyConfiguration cannot set {where} to null, or remove it"
            hint = "write a JSONPatch with op: 'remove', or in a Policy an Overlay with KEY: null"
            yield MutationFinding(node.pos, message, hint)
            return
        if at is not None and not self._fits(node, given, at.type):
            found = _in_words(node, given)
            message = f"{where}: expected {expectation(at.type)}, got {found}"
            remedy = _remedy(node, given, at.type)
            yield MutationFinding(node.pos, message, remedy, certain=self.fails)
            return
        match node:
            case StructExpr() | MapExpr():
                yield from self._members(node, at, where, expected)
            case ListExpr() | Comprehension():
                yield from self._list(node, at, where, expected)

    def _members(
        self, node: StructExpr | MapExpr, at: Field | None, where: str, expected: str
    ) -> Iterator[MutationFinding]:
        """Check the members of an ``Object…{}``, or of a map, which may have computed keys."""
        name = (expected or node.type_name) if isinstance(node, StructExpr) else ""
        for key, pos, value in _members(node):
            if name == "Object" and key in _OWN:
                continue
            below, declared = None, False
            if at is not None and key is not None:
                below, declared = at.type.fields.get(key, at.type.extra), key in at.type.fields
                if below is None:
                    yield self._unknown(pos, key, at.type, where)
            elif at is not None:
                below = at.type.extra
            place = self._below(where, "*" if key is None else key)
            inner, nested = f"{name}.{key}" if name else expected, list[MutationFinding]()
            if isinstance(node, MapExpr):
                around = f"write {expected}{{…}} in place of the map around it"
                nested = list(self._nested(value, below, place, around))
            yield from nested or self._field(value, below, place, inner, declared=declared)

    def _field(
        self, value: Expr, at: Field | None, where: str, expected: str, *, declared: bool
    ) -> Iterator[MutationFinding]:
        """Check one member of a map; the API server looks for atomic values in declared fields."""
        atomic = self._is_atomic(value, at.type) if at and self.merges and declared else False
        if atomic is not False:
            yield _untouchable(value.pos, where, certain=atomic is True)
            at = None  # the names of its types have to be correct nevertheless
        yield from self.findings(value, at, where, expected)

    def _list(
        self, node: Expr, at: Field | None, where: str, expected: str
    ) -> Iterator[MutationFinding]:
        kind = at.type if at is not None and at.type.is_list else None
        item = kind.item if kind is not None else None
        for each in items(node) or ():
            if self.merges and item is not None and kind is not None:
                yield from self._merged_item(each, kind, item, where, expected)
            yield from self._nested(each, item, where, f"write {expected}{{…}}")
            yield from self.findings(each, item, where, expected)

    def _nested(
        self, node: Expr, at: Field | None, where: str, hint: str
    ) -> Iterator[MutationFinding]:
        """Report a map or list that an ApplyConfiguration writes inside of another map or list."""
        if not self.merges or at is None or at.type.scalar:
            return
        for each in results(node):
            if isinstance(each, MapExpr):
                message = f"an ApplyConfiguration cannot write a map literal into {where}"
                yield MutationFinding(each.pos, message, hint)

    def _merged_item(
        self, node: Expr, kind: SchemaType, item: Field, where: str, expected: str
    ) -> Iterator[MutationFinding]:
        """Check an item of a list that is merged item by item."""
        if self._is_atomic(node, item.type):
            yield _untouchable(node.pos, f"items of {where}")
        elif isinstance(node, StructExpr | MapExpr):
            yield from _keyless(node, kind, where)

    def _unknown(self, pos: int, name: str, kind: SchemaType, where: str) -> MutationFinding:
        message = f"{where or 'the object'} has no field '{name}'"
        hint = field_hint(name, kind, kind if self.schema is None else self.schema.root.type)
        return MutationFinding(pos, message, hint, certain=self.fails)

    def _is_atomic(self, node: Expr, kind: SchemaType) -> bool | None:
        """Whether a value is a list or map that is only replaced as a whole; None: if it is one."""
        whole_list = kind.is_list and kind.relation == Relation.ATOMIC
        whole_map = kind.is_map and kind.atomic
        unknown = False
        for each in results(node):
            form = self._form(each)
            if (form is Kind.LIST and whole_list) or (form is Kind.MAP and whole_map):
                return True
            unknown |= form is Kind.DYN
        only = not kind.scalar and whole_list is kind.is_list and whole_map is kind.is_map
        return None if unknown and only else False

    def _form(self, node: Expr) -> Kind:
        given = _unwrapped(self.types.get(node.id, DYN)).kind
        if isinstance(node, ListExpr):
            return Kind.LIST
        is_map = isinstance(node, MapExpr | StructExpr) or given is Kind.STRUCT
        return Kind.MAP if is_map else given

    def _below(self, where: str, name: str) -> str:
        if not self.merges:
            return f"{where}/{name}"
        return f"{where}.{name}" if where else name

    def _fits(self, node: Expr, given: Type, wanted: SchemaType) -> bool:
        if is_null(node):
            return True
        if isinstance(node, Literal) and isinstance(node.value, float):
            whole = node.value.is_integer() or wanted.decoding not in _WHOLE_NUMBERS
            return whole and _fits(given, wanted)
        if isinstance(node, ListExpr):
            return wanted.is_list
        if isinstance(node, MapExpr | StructExpr):
            return wanted.is_map
        return _fits(given, wanted)


def _members(node: StructExpr | MapExpr) -> Iterator[tuple[str | None, int, Expr]]:
    """Yield the name of each member, None if it is computed, with its offset and value."""
    if isinstance(node, StructExpr):
        yield from ((field.name, field.pos, field.value) for field in node.fields)
    else:
        for entry in node.entries:
            key = entry.key.value if isinstance(entry.key, Literal) else None
            yield key if isinstance(key, str) else None, entry.key.pos, entry.value


def _unwrapped(t: Type) -> Type:
    return _unwrapped(t.params[0]) if is_optional(t) else t


def _object_name(node: Expr, given: Type) -> str:
    """Return the type name of an ``Object…{}``, also if it was bound to a name."""
    if isinstance(node, StructExpr):
        return node.type_name
    bound = isinstance(node, Ident) and given.kind is Kind.STRUCT and is_patch_object(given.name)
    return given.name if bound else ""


def _fits(given: Type, wanted: SchemaType) -> bool:
    """Whether a static type fits a schema type, with the items of lists and maps."""
    given = _unwrapped(given)
    if given.kind is Kind.TYPE:
        return wanted.scalar in (Scalar.STRING, Scalar.UNTYPED)  # its name
    if not fits_expression(given, wanted):
        return False
    if given.kind is Kind.LIST and wanted.item is not None and not wanted.is_map:
        return _fits(given.params[0], wanted.item.type)
    if given.kind is Kind.MAP and wanted.extra is not None and not wanted.fields:
        return wanted.is_list or _fits(given.params[1], wanted.extra.type)
    return True


def _untouchable(pos: int, where: str, *, certain: bool = True) -> MutationFinding:
    message = f"an ApplyConfiguration cannot change {where}: atomic values can only be replaced"
    return MutationFinding(pos, message, "write a JSONPatch, or in a Policy an Overlay", certain)


def _keyless(node: StructExpr | MapExpr, kind: SchemaType, where: str) -> Iterator[MutationFinding]:
    """Report an item without the keys that identify the items of its list."""
    needed = [key for key in kind.keys if not kind.key_defaults.get(key)]
    if kind.relation != Relation.KEYED or not needed:
        return
    if isinstance(node, StructExpr):
        names = {field.name for field in node.fields}
    else:
        keys = [each.key for each in node.entries]
        if not all(isinstance(key, Literal) for key in keys):
            return
        names = {str(key.value) for key in keys if isinstance(key, Literal)}
    every = ""
    if isinstance(node, StructExpr) and node.type_name.startswith("Object."):
        same = ", ".join(f"{key}: x.{key}" for key in needed)
        over = node.type_name.replace("Object", "object", 1)
        every = f"write {over}.map(x, {node.type_name}{{{same}, …}})"
    if names.isdisjoint(needed):
        listed = " and ".join(needed)
        message = f"an item of {where} needs its {listed}: the list is merged by it"
        hint = "; for all items ".join(filter(None, (f"add {listed} to the item", every)))
        yield MutationFinding(node.pos, message, hint)
    for field in node.fields if isinstance(node, StructExpr) else ():
        value = field.value.value if isinstance(field.value, Literal) else None
        if field.name in needed and isinstance(value, str) and "*" in value:
            message = (
                f"{field.name} '{value}' has no wildcard: an item of this {field.name} is added"
            )
            yield MutationFinding(field.value.pos, message, f"for all items {every}", certain=False)


def _in_words(node: Expr, given: Type) -> str:
    if isinstance(node, Literal) and isinstance(node.value, str | bool | int | float):
        return in_words(node.value)
    if isinstance(node, MapExpr | StructExpr):
        return "a map"
    return "a list" if isinstance(node, ListExpr) else f"a value of type {given}"


def _remedy(node: Expr, given: Type, wanted: SchemaType) -> str:
    literal = isinstance(node, Literal)
    if given.name == "double" and wanted.scalar == Scalar.NUMERIC:
        return "write a whole number"
    given = _unwrapped(given)
    if wanted.is_list and not wanted.is_map:
        return "write a list: [ … ]" if given.kind is not Kind.LIST else "correct its items"
    if wanted.is_map and given.kind is not Kind.MAP:
        return "write a map: {'NAME': VALUE}"
    if given.name == "string" and wanted.scalar == Scalar.NUMERIC:
        return "write the number without quotes" if literal else "write int(…)"
    if given.name == "string" and wanted.scalar == Scalar.BOOLEAN:
        return "write true or false without quotes" if literal else "write a condition"
    if wanted.scalar == Scalar.STRING and given.kind is Kind.PRIMITIVE:
        return "put it in quotes" if literal else "write string(…)"
    return ""
