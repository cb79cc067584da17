"""The types with fields: ``request``, ``namespaceObject``, ``variables``, patches, and the Protocol
Buffers messages that expressions may create, such as ``google.protobuf.Int64Value{value: 1}``.

The field lists of ``admission.json`` are those that Kubernetes declares (k8s.io/apiserver
pkg/admission/plugin/cel/compile.go, pkg/cel/mutation): ``request.uid`` or ``namespaceObject.kind``
do not exist, ``metadata.UID`` does.

``policyd/_core/eval/messages`` creates messages and unwraps them at once: a wrapper becomes its
value, a ``Struct`` a map. No policy needs them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from policyd.cel.types.declarations import parse_type
from policyd.cel.types.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    JSON_PATCH,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    is_patch_object,
    list_of,
    map_of,
    shared_type,
    wrapper_of,
)

REQUEST = Type("kubernetes.AdmissionRequest")
NAMESPACE = Type("kubernetes.Namespace")
VARIABLES = Type("kubernetes.variables")

_VARIABLE_TYPES = (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT)


# By the name of the struct, the types of its fields.
ADMISSION: Mapping[str, Mapping[str, Type]] = {
    struct: {name: parse_type(text) for name, text in fields.items()}
    for struct, fields in json.loads(
        Path(__file__).with_name("admission.json").read_bytes()
    ).items()
}
# Where Kubernetes declares struct types, these names are types too, but cannot be constructed.
_SCALARS: Mapping[str, Type] = {
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    **{each.name: each for each in (BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT)},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
}
_JSON_PATCH_FIELDS = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


@dataclass(frozen=True)
class Structs:
    """The struct types of one environment; ``patches`` adds ``JSONPatch`` and every ``Object…``."""

    known: Mapping[str, Mapping[str, Type]]
    patches: bool = False

    def find(self, name: str) -> Type | None:
        """Return the struct type of that name."""
        patch = self.patches and (name == JSON_PATCH.name or is_patch_object(name))
        if patch or name in self.known:
            return shared_type(name)
        message = MESSAGES.get(name)
        if message is not None:
            return message[0]
        return _SCALARS.get(name) if self.known else None

    def field(self, struct: Type, name: str) -> Type | None:
        """Return the type of a field; patch objects have every field, all of type dyn."""
        message = MESSAGES.get(struct.name)
        if message is not None:
            return message[1].get(name)
        fields = {} if struct.name in _SCALARS else self.known.get(struct.name)
        if struct.name == "map":
            return DYN
        if fields is not None:
            return fields.get(name)
        if struct == JSON_PATCH:
            return _JSON_PATCH_FIELDS.get(name, Type(""))
        return DYN

    def fields(self, struct: Type) -> Iterable[str]:
        if struct.name in MESSAGES:
            return MESSAGES[struct.name][1]
        return _JSON_PATCH_FIELDS if struct == JSON_PATCH else self.known.get(struct.name, ())

    def with_fields(self, name: str, fields: Mapping[str, Type]) -> "Structs":
        """Return these types with one added or, if the name exists, replaced."""
        return Structs({**self.known, name: dict(fields)}, self.patches)


def variable_type(t: Type) -> Type:
    """Return the declared type of ``variables.x`` for an expression of type ``t``.

    Kubernetes keeps scalars, lists and maps; all others become dyn (optionals, quantities, types).
    """
    if t in _VARIABLE_TYPES:
        return t
    if t.kind in (Kind.LIST, Kind.MAP):
        return shared_type(t.name, tuple([variable_type(param) for param in t.params]))
    return DYN


_JSON_OBJECT, _JSON_LIST = map_of(STRING, DYN), list_of(DYN)
_TIME = {"seconds": INT, "nanos": INT}
_WRAPPED = {
    "Bool": BOOL, "Bytes": BYTES, "Double": DOUBLE, "Float": DOUBLE, "Int32": INT, "Int64": INT,
    "String": STRING, "UInt32": UINT, "UInt64": UINT,
}  # fmt: skip
# Name -> the type in the checker, and the fields.
MESSAGES: Mapping[str, tuple[Type, Mapping[str, Type]]] = {
    "google.protobuf.Any": (DYN, {"type_url": STRING, "value": BYTES}),
    "google.protobuf.Duration": (DURATION, _TIME),
    "google.protobuf.Empty": (Type("google.protobuf.Empty"), {}),
    "google.protobuf.ListValue": (_JSON_LIST, {"values": _JSON_LIST}),
    "google.protobuf.Struct": (_JSON_OBJECT, {"fields": _JSON_OBJECT}),
    "google.protobuf.Timestamp": (TIMESTAMP, _TIME),
    "google.protobuf.Value": (
        DYN,
        {
            "null_value": INT,
            "number_value": DOUBLE,
            "string_value": STRING,
            "bool_value": BOOL,
            "struct_value": _JSON_OBJECT,
            "list_value": _JSON_LIST,
        },
    ),
    **{
        f"google.protobuf.{name}Value": (wrapper_of(held), {"value": held})
        for name, held in _WRAPPED.items()
    },
}


def is_message(t: Type) -> bool:
    """Return whether the checker may use this type for a message."""
    return any(t == made for made, _ in MESSAGES.values())
