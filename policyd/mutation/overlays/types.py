"""Check values and expressions of an overlay against schema types, and describe both."""

from policyd._core.schema.types import Scalar, SchemaType
from policyd.cel.types.types import Kind, Type, is_optional
from policyd.pattern.scalar_hints import UNQUOTED, unquoted_hint

_SCALARS: dict[Scalar, tuple[type, ...]] = {
    Scalar.NO_SCALAR: (),
    Scalar.NUMERIC: (int, float),
    Scalar.STRING: (str,),
    Scalar.BOOLEAN: (bool,),
    Scalar.UNTYPED: (str, bool, int, float),
}
_WORDS = {
    Scalar.NUMERIC: "a number",
    Scalar.STRING: "a string",
    Scalar.BOOLEAN: "true or false",
    Scalar.UNTYPED: "a string or number",
}
# JSON types of CEL values in an object; any other type is a struct and becomes a map.
_NUMBERS = frozenset(("int", "uint", "double"))
_TEXTS = frozenset(
    (
        "string",
        "bytes",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "net.CIDR",
        "net.IP",
    )
)


def fits(value: object, wanted: SchemaType) -> bool:
    """Return whether a scalar fits a schema type."""
    return type(value) in _SCALARS[wanted.scalar]


def fits_expression(given: Type, wanted: SchemaType) -> bool:
    """Return whether an expression fits a schema type, as far as its static type is known."""
    if is_optional(given):
        return fits_expression(given.params[0], wanted)
    if given.kind in (Kind.DYN, Kind.NULL, Kind.PARAM):
        return True
    if given.kind is Kind.LIST:
        return wanted.is_list
    if given.kind is Kind.MAP:
        return wanted.is_map
    if given.name == "bool":
        return wanted.scalar in (Scalar.BOOLEAN, Scalar.UNTYPED)
    if given.name in _NUMBERS:
        return wanted.scalar in (Scalar.NUMERIC, Scalar.UNTYPED)
    if given.name in _TEXTS:
        return wanted.scalar in (Scalar.STRING, Scalar.UNTYPED)
    return wanted.is_map and given.kind is Kind.STRUCT


def expectation(wanted: SchemaType) -> str:
    """Describe the type that the schema expects."""
    forms = []
    if wanted.is_map:
        forms.append("a map")
    if wanted.is_list:
        forms.append("a list")
    if wanted.scalar != Scalar.NO_SCALAR:
        forms.append(_WORDS[wanted.scalar])
    return " or ".join(forms)


def in_words(value: object) -> str:
    """Format a scalar for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 40 else "a string"
    return str(value)


def misfit_hint(value: object, wanted: SchemaType) -> str:
    """Return a replacement for a value that does not fit; empty if nothing is close."""
    if wanted.scalar == Scalar.STRING and isinstance(value, bool | int | float):
        return UNQUOTED
    if wanted.scalar in (Scalar.BOOLEAN, Scalar.NUMERIC):
        return unquoted_hint(value, number=wanted.scalar == Scalar.NUMERIC)
    if wanted.is_list and not wanted.is_map and isinstance(value, dict):
        return "write a list: each item after '- '"
    return ""
