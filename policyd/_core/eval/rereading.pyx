"""Optionals that cel-go resolves as attributes: ``x``, ``x.a``, ``c ? x : y``, optMap. Before 1.37,
cel-go reread them; since then it leaves them unchanged.

Rereading converted the value inside the optional to Go and back to CEL. This lost an optional
inside an optional, turned a type into its name, and failed for Kubernetes' own types:
``object.?memory.optMap(m, quantity(m)).value()`` was an error in Kubernetes.
"""

from policyd._core.values.errors cimport CelError, error
from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport (
    MISSING,
    OPAQUE_GO_VALUES,
    Duration,
    Opaque,
    Optional,
    StructValue,
    Timestamp,
    TypeValue,
    UInt,
    some,
    type_name,
)

# The Go types of values in variables.
cdef dict PLAIN_TYPES = {
    type(None): "structpb.NullValue",
    bool: "bool",
    int: "int64",
    float: "float64",
    bytes: "[]uint8",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    UInt: "uint64",
    Timestamp: "time.Time",
    Duration: "time.Duration",
}


cdef object reread(Optional value):
    """The optional after cel-go converted its value to Go and back."""
    held = value.held
    if held is MISSING:
        return value
    again = reread_held(held)
    return value if again is held else some(again)


cdef object reread_held(object held):
    """The value after the same conversion, or a CelError."""
    while type(held) is Optional:
        held = (<Optional>held).held
        if held is MISSING:
            return None
    kind = type(held)
    if kind is str or kind is dict or kind is list or kind is int or kind is bool or held is None:
        return held
    if kind is TypeValue:
        return (<TypeValue>held).name
    if kind is CelError:
        return unreadable("*errors.errorString", (<CelError>held).message)
    if isinstance(held, Opaque):
        name = OPAQUE_GO_VALUES.get(type_name(held))
        return held if name is None else unreadable(name, string_of(held))
    return held


cdef object native_string(object value):
    """The string that a value becomes when it leaves CEL; None if it becomes something else. A type
    becomes its name, an optional the value inside.
    """
    while type(value) is Optional:
        value = (<Optional>value).held
    if type(value) is TypeValue:
        return (<TypeValue>value).name
    return value if type(value) is str else None


cdef str native_type(object value):
    """The Go type that a value has in Kubernetes when it leaves CEL."""
    while type(value) is Optional:
        if (<Optional>value).held is MISSING:
            return "<nil>"
        value = (<Optional>value).held
    if type(value) is StructValue:
        patch = (<StructValue>value).type_name == "JSONPatch"
        return "*mutation.JSONPatchVal" if patch else PLAIN_TYPES[dict]
    if type(value) is CelError:
        return "*errors.errorString"
    name = PLAIN_TYPES.get(type(value))
    if name is None:
        name = type_name(value)
        return OPAQUE_GO_VALUES.get(name, "cel.Format")
    return name


cdef CelError unreadable(str name, str text):
    return error(f"unsupported conversion to ref.Val: ({name}){text}")
