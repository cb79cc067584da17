"""Indexes and keys of lists and maps, and those that Go's refuse."""

from libc.stdint cimport INT64_MAX, uint64_t

from policyd._core.values.activation cimport PLAIN, form_of
from policyd._core.values.equality cimport go_name_of, no_key
from policyd._core.values.errors cimport error
from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport MISSING, UInt, go_name, type_name

from policyd._core.values.types import qualifier_type

NO_ITEMS = []


cdef object element(list items, object key):
    """The element, MISSING if the index is out of range, or the error for an invalid index."""
    if type(key) is UInt:
        if (<UInt>key).value > <uint64_t>INT64_MAX:
            return error(f"unsupported index value {(<UInt>key).value} in list")
        key = (<UInt>key).value
    elif type(key) is float:
        if key != key or abs(key) >= 2.0**63 or key != int(key):
            return error(f"unsupported index value {string_of(key)} in list")
        key = int(key)
    elif type(key) is not int:
        return error(f"unsupported index type '{type_name(key)}' in list")
    return items[key] if 0 <= key < len(items) else MISSING


cdef CelError refused(Activation act, object container, object key):
    """The error of Go's maps and structs for a key that is not a string, and of its lists for an
    index that is not an int; otherwise None.
    """
    if type(container) is dict:
        return None if form_of(act, container) == PLAIN else no_key(act, key)
    if type(container) is not list or type(key) is not UInt and type(key) is not float:
        return None
    found = element(container, key)
    if found is MISSING or type(found) is CelError or form_of(act, container) == PLAIN:
        return None
    return error(f"unsupported index type: {go_name(key)}")


cdef str qualifier_of(Activation act, object key, bint read):
    """The Go type of a value that is not a key."""
    if type(key) in (list, dict) and form_of(act, key) != PLAIN:
        return go_name_of(act, key)
    return qualifier_type(key, read and act.typing is None)
