"""CEL values as JSON that an overlay writes into objects.

``mutation_json`` loses precision where Kubernetes does. Here integers stay integers, and values
with a string form (quantities, times, addresses) become that string.
"""

import base64

from policyd._core.system.c_stack cimport descend
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.errors cimport CelError, error
from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport (
    MISSING, Duration, Opaque, Optional, Timestamp, UInt, type_name,
)

cdef object NO_VALUE = object()
# The opaque types whose values are strings in objects.
cdef frozenset STRING_TYPES = frozenset((
    "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.CIDR", "net.IP",
))


cdef object json_of(object value):
    """The JSON value, NO_VALUE, or a CelError if the value has no JSON form."""
    cdef object kind = type(value)
    if kind is str or kind is int or kind is bool or kind is float or value is None:
        return value
    if kind is dict or kind is list or kind is Optional:
        descend()
    if kind is dict:
        return json_map(value)
    if kind is list:
        return json_list(value)
    if kind is UInt:
        return (<UInt>value).value
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Optional:
        held = (<Optional>value).held
        return NO_VALUE if held is MISSING else json_of(held)
    if kind is CelError:  # an item of a list, say: optionals could hold errors before 1.37
        return value
    if has_string(value):
        return string_of(value)
    return error(f"a value of type {type_name(value)} cannot be written into an object")


cdef object json_map(dict value):
    cdef dict out = value
    for name, member in value.items():
        if type(name) is not str:
            return error(f"the key {string_of(name)} of a map is not a string")
        after = json_of(member)
        if type(after) is CelError:
            return after
        if after is not member:
            if out is value:
                out = dict(value)
            if after is NO_VALUE:
                del out[name]
            else:
                out[name] = after
    return out


cdef object json_list(list value):
    cdef list out = []
    cdef bint changed = value is NO_ITEMS
    for item in value:
        after = json_of(item)
        if type(after) is CelError:
            return after
        changed = changed or after is not item
        if after is not NO_VALUE:
            out.append(after)
    return out if changed else value


cdef object string_for(object value):
    """The value inside a string, converted like ``string()``, or a CelError."""
    while type(value) is Optional and (<Optional>value).held is not MISSING:
        value = (<Optional>value).held
    cdef object kind = type(value)
    if kind is str:
        return value
    if kind is int or kind is bool or kind is float or kind is UInt or has_string(value):
        return string_of(value)
    if kind is bytes:
        try:
            return (<bytes>value).decode()
        except UnicodeDecodeError:
            return error("a string cannot contain bytes that are not UTF-8")
    if kind is CelError:
        return value
    return error(f"a string cannot contain a value of type {type_name(value)}")


cdef bint has_string(object value):
    if type(value) is Timestamp or type(value) is Duration:
        return True
    return isinstance(value, Opaque) and type_name(value) in STRING_TYPES


cpdef object without_nulls(object value):
    #: (Any) -> Any
    """The value without nulls, which have nothing to remove; the same object if it has none."""
    cdef object out = value
    cdef bint changed = False
    cdef list members = []
    if type(value) is dict or type(value) is list:
        descend()
    if type(value) is dict:
        for name, member in (<dict>value).items():
            after = NO_VALUE if member is None else without_nulls(member)
            if after is member:
                continue
            if out is value:
                out = dict(<dict>value)
            if after is NO_VALUE:
                del (<dict>out)[name]
            else:
                (<dict>out)[name] = after
    elif type(value) is list:
        for member in <list>value:
            after = without_nulls(member)
            changed = changed or after is not member
            members.append(after)
        out = members if changed else value
    return out
