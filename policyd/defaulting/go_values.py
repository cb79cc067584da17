"""Decode an object into the values of its Go type, and print them again. Adds no defaults.
Compiled with go_values.pxd.

Decoding a struct adds the structs that it always has; printing adds the empty fields that Go prints
(``resources: {}``) and drops those that Go omits. Fields that the schema lacks stay, because a
newer Kubernetes may know them.
"""

from typing import Any

from policyd._core.schema.types import Decoding, Field, SchemaType
from policyd.json_types import JSON, JSONObject

# As C integers: comparing with a member of Decoding takes a call.
_STRUCT, _MAP, _LIST, _LEAF = map(
    int, (Decoding.STRUCT, Decoding.MAP, Decoding.LIST, Decoding.LEAF)
)
_ZEROS: dict[int, JSON] = {
    Decoding.GO_STRING: "",
    Decoding.GO_BOOL: False,
    Decoding.INT32: 0,
    Decoding.INT64: 0,
    Decoding.FLOAT: 0,
}
_TYPES: dict[int, type] = {
    Decoding.GO_STRING: str,
    Decoding.GO_BOOL: bool,
    Decoding.INT32: int,
    Decoding.INT64: int,
}


class UndecodableError(Exception):
    """A value does not fit its type: the API server refuses the object before admission."""


def decode(value: JSON, field: Field) -> JSON:
    """Return a copy of the value as its Go type holds it. Raises UndecodableError."""
    kind = field.type
    decoding: int = kind.decoding
    if value is None:
        value = zero(field)
        if decoding != _STRUCT:
            return value
    if decoding == _STRUCT:
        return _struct(_object(value), kind)
    if decoding == _MAP:
        entry = inner(kind.extra)
        return {key: decode(member, entry) for key, member in _object(value).items()}
    if decoding == _LIST:
        if not isinstance(value, list):
            raise UndecodableError
        item = inner(kind.item)
        return [decode(each, item) for each in value]
    if decoding == _LEAF:
        return _leaf(value, kind)
    if isinstance(value, float) and value.is_integer() and decoding in _TYPES:
        value = int(value)
    wanted = _TYPES.get(decoding)
    if wanted is not None and type(value) is not wanted:
        raise UndecodableError
    return copied(value)


def printed(value: JSON, kind: SchemaType) -> JSON:
    """Return a decoded value as Go prints it."""
    if isinstance(value, dict):
        if kind.decoding == _STRUCT:
            return _printed_struct(value, kind)
        if kind.decoding == _MAP:
            entry = inner(kind.extra).type
            return {key: printed(member, entry) for key, member in value.items()}
    if isinstance(value, list) and kind.decoding == _LIST:
        item = inner(kind.item).type
        return [printed(each, item) for each in value]
    return value


def zero(field: Field) -> JSON:
    """Return the value of an unset field in Go."""
    decoding: int = field.type.decoding
    if decoding == _STRUCT:
        return {}
    if decoding == _LEAF:
        return _leaf(None, field.type)
    return _ZEROS.get(decoding)


class _Absent:
    """The values of unset fields of a struct: ``structs`` in memory, ``shown`` in print; each with
    whether the field is a pointer.
    """

    def __init__(self, kind: SchemaType) -> None:
        self.structs: list[tuple[str, Field]] = []
        self.shown: list[tuple[str, JSON, bool]] = []
        for name, field in kind.fields.items():
            if field.pointer:
                if not field.omitted:
                    self.shown.append((name, None, True))
                continue
            if field.type.decoding == _STRUCT:
                self.structs.append((name, field))
            empty = printed(zero(field), field.type)
            if not field.omitted or not _is_omitted(empty, field):
                self.shown.append((name, empty, False))


def _absent(kind: SchemaType) -> _Absent:
    found: Any = kind.absent
    if found is None:
        kind.absent = found = _Absent(kind)
    made: _Absent = found
    return made


def _struct(value: JSONObject, kind: SchemaType) -> JSONObject:
    out: JSONObject = {}
    for name, member in value.items():
        field = kind.fields.get(name)
        if field is None:
            out[name] = copied(member)
        elif member is not None or not field.pointer:
            out[name] = decode(member, field)
    for name, field in _absent(kind).structs:
        if name not in out:
            out[name] = decode({}, field)
    return out


def _printed_struct(value: JSONObject, kind: SchemaType) -> JSONObject:
    out: JSONObject = {}
    for name, member in value.items():
        field = kind.fields.get(name)
        if field is None:
            out[name] = member
            continue
        after = printed(member, field.type)
        if field.pointer or not field.omitted or not _is_omitted(after, field):
            out[name] = after
    for name, empty, pointer in _absent(kind).shown:
        if name not in out and (pointer or name not in value):
            out[name] = copied(empty)
    return out


def _is_omitted(value: JSON, field: Field) -> bool:
    """Whether Go omits the value of a field with omitempty or omitzero."""
    decoding: int = field.type.decoding
    if decoding in (_STRUCT, _LEAF):
        # For omitempty, a struct is never empty; leaves other than bytes are structs.
        return not value and (field.omitted_zero or field.go == "[]uint8")
    return not value and field.go != "runtime.RawExtension"


def _leaf(value: JSON, kind: SchemaType) -> JSON:
    if kind.leaf is None:
        return copied(value)
    try:
        return kind.leaf(value)
    except (ValueError, TypeError):
        raise UndecodableError from None


def _object(value: JSON) -> JSONObject:
    if not isinstance(value, dict):
        raise UndecodableError
    return value


def inner(field: Field | None) -> Field:
    """Return the field of items or entries; a field of any type if unknown."""
    return Field(SchemaType()) if field is None else field


def copied(value: JSON) -> JSON:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(member) for key, member in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value
