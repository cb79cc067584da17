"""The static types of the CEL checker. Only data and names: unification is in ``unify``.

A type is its run-time name and its parameters. Two spellings exist, as in cel-go: ``str(t)`` gives
the run-time names (``null_type``, ``google.protobuf.Timestamp``), which Kubernetes prints in ``must
evaluate to bool but got …``; ``t.display()`` gives the names in type-checker messages (``null``,
``timestamp``).
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Protocol


class Kind(Enum):
    """The kind of a type, which decides how the checker handles it."""

    PRIMITIVE = auto()
    DYN = auto()
    ERROR = auto()
    NULL = auto()
    NONE = auto()  # the type of a field that JSONPatch does not have: accepts only dyn
    WELL_KNOWN = auto()  # timestamp and duration
    WRAPPER = auto()  # ``wrapper(int)``: an int or null
    LIST = auto()
    MAP = auto()
    TYPE = auto()
    PARAM = auto()  # ``A`` in a signature, ``_var7`` while checking
    OPAQUE = auto()  # named and without fields: optional_type(T), net.IP
    STRUCT = auto()  # named and with fields, which a TypeProvider knows


_KINDS = {
    **dict.fromkeys(("bool", "int", "uint", "double", "string", "bytes"), Kind.PRIMITIVE),
    **dict.fromkeys(("google.protobuf.Timestamp", "google.protobuf.Duration"), Kind.WELL_KNOWN),
    **dict.fromkeys(("optional_type", "net.IP", "net.CIDR"), Kind.OPAQUE),
    "dyn": Kind.DYN,
    "!error!": Kind.ERROR,
    "null_type": Kind.NULL,
    "": Kind.NONE,
    "wrapper": Kind.WRAPPER,
    "list": Kind.LIST,
    "map": Kind.MAP,
    "type": Kind.TYPE,
}
_DISPLAY = {
    "null_type": "null",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}


def _kind(name: str, parametric: bool) -> Kind:
    known = _KINDS.get(name)
    if known is not None:
        return known
    if name.startswith("_var") or (len(name) == 1 and name.isupper()):
        return Kind.PARAM
    return Kind.OPAQUE if parametric else Kind.STRUCT


class Type:
    """A CEL type, for example ``Type("list", (INT,))``. Immutable, which the .pxd declares."""

    __match_args__ = ("name", "params")

    def __init__(self, name: str, params: "tuple[Type, ...]" = ()) -> None:
        kind = _kind(name, bool(params))
        self.name = name
        self.params = params
        self.kind = kind
        self.size: int = 1 + sum([param.size for param in params])  # names in its spelling
        # Whether a type parameter is part of it.
        self.parametric: bool = kind is Kind.PARAM or any([param.parametric for param in params])
        self._hash = hash((name, params))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return is_same(self, other)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Type(name={self.name!r}, params={self.params!r})"

    def __str__(self) -> str:
        return _spell(self, {})

    def display(self) -> str:
        """Return the spelling used in type-checker messages."""
        return _spell(self, _DISPLAY)


def is_same(one: Type, other: Type) -> bool:
    """Return whether two types are equal: ``==`` without a call through Python."""
    if one is other:
        return True
    same = one._hash == other._hash and one.name == other.name
    return same and one.params == other.params


# Types with parameters and types of structs are created again and again.
_MADE: dict[tuple[str, tuple[Type, ...]], Type] = {}
_MOST_MADE = 1_000
# Maximum names in an expression's type. ``.map(x, {x: x})`` doubles a type: a chain of thirty would
# occupy the API server for days.
MAX_TYPE_SIZE = 1_000


def shared_type(name: str, params: tuple[Type, ...] = ()) -> Type:
    """Return ``Type(name, params)``, the same object for most uses."""
    key = name, params
    found = _MADE.get(key)
    if found is None:
        found = Type(name, params)
        if len(_MADE) < _MOST_MADE:
            _MADE[key] = found
    return found


def _spell(t: Type, names: dict[str, str]) -> str:
    """Spell a type without recursion: a list may be nested 250 times."""
    pieces: list[str] = []
    stack: list[Type | str] = [t]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        pieces.append(names.get(item.name, item.name))
        if item.params:
            pieces.append("(")
            inner = [part for param in item.params for part in (param, ", ")][:-1]
            stack += [")", *reversed(inner)]
    return "".join(pieces)


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
TIMESTAMP = Type("google.protobuf.Timestamp")
DURATION = Type("google.protobuf.Duration")
DYN = Type("dyn")
ERROR = Type("!error!")
TYPE = Type("type")
OBJECT = Type("Object")
JSON_PATCH = Type("JSONPatch")
LIST_OF_JSONPATCH = Type("list", (JSON_PATCH,))


def list_of(element: Type) -> Type:
    return shared_type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return shared_type("map", (key, value))


def optional_of(value: Type) -> Type:
    return shared_type("optional_type", (value,))


def wrapper_of(value: Type) -> Type:
    """Return the type of ``google.protobuf.Int64Value`` and the like."""
    return Type("wrapper", (value,))


def unwrapped(t: Type) -> Type:
    """Return the type without its wrapper, if any: a value may have either type."""
    return t.params[0] if t.kind is Kind.WRAPPER else t


def type_of(value: Type) -> Type:
    """Return the type of a type: ``int`` as an expression has the type ``type(int)``."""
    return Type("type", (value,))


def is_optional(t: Type) -> bool:
    return t.name == "optional_type"


def is_patch_object(name: str) -> bool:
    """Return whether a type name belongs to a mutation object or a part of it."""
    return name == "Object" or name.startswith("Object.")


class TypeProvider(Protocol):
    """The struct types of an environment."""

    def find(self, name: str) -> Type | None:
        """Return the type of that name, if it exists."""

    def field(self, struct: Type, name: str) -> Type | None:
        """Return the type of a field; None if the struct has no such field."""

    def fields(self, struct: Type) -> Iterable[str]:
        """Return the names of a struct's fields; none if it may have any."""
