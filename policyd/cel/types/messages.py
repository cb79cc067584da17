"""The Protocol Buffers messages that Kubernetes lets expressions create, such as
``google.protobuf.Int64Value{value: 1}``.

They are unwrapped at once: a wrapper becomes its value, a ``Struct`` a map. No policy needs them.
``policyd/_core/eval/messages`` creates them.
"""

from collections.abc import Mapping

from policyd.cel.types.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    wrapper_of,
)

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
    """Return whether the checker may use that type for a message."""
    return any(t == made for made, _ in MESSAGES.values())
