"""The keys of list items, and their order in a merge of two lists, as in structured-merge-diff
(typed/).
"""

from policyd._core.go import printing as go_printing
from policyd._core.go.strings cimport quote
from policyd._core.system.c_stack cimport descend
from policyd._core.schema.types cimport SET, SchemaType, kind_of

cdef object ABSENT = object()


class MergeError(Exception):
    """The live object has a list whose items have no keys. The message says where."""
    #: (Exception)


cpdef object item_key(object item, SchemaType type):
    #: (Any, SchemaType) -> Any
    """The merge key of an item: hashable, equal for equal keys. Raises MergeError."""
    cdef list parts
    cdef object found
    if type.relation == SET:
        return set_key(item)
    if item is None:
        raise MergeError("associative list with keys may not have a null element")
    if kind_of(item) is not dict:
        raise MergeError("associative list with keys may not have non-map elements")
    if len(type.keys) == 1:
        found = (<dict>item).get(type.keys[0])
        if kind_of(found) is str:
            return found
    parts = [key_value(<dict>item, name, type) for name in type.keys]
    if all([part is ABSENT for part in parts]):
        names = " ".join([quote(name) for name in type.keys])
        raise MergeError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    if len(parts) == 1:
        return comparable(parts[0])
    return tuple([comparable(part) for part in parts])


cdef object key_value(dict item, str name, SchemaType type):
    value = item.get(name, ABSENT)
    return type.key_defaults.get(name, ABSENT) if value is ABSENT else value


cdef object set_key(object item):
    cdef object kind = kind_of(item)
    if kind is dict:
        raise MergeError("associative list without keys has an element that's a map type")
    if kind is list:
        raise MergeError("not supported: associative list with lists as elements")
    if item is None:
        raise MergeError("associative list without keys has an element that's an explicit null")
    return comparable(item)


cdef object comparable(object value):
    """The value, or a hashable substitute: True must not equal 1, and containers have no hash."""
    cdef object kind = kind_of(value)
    if kind is str or kind is int or kind is float:
        return value
    return (kind, repr(value)) if kind is dict or kind is list else (kind, value)


cdef str key_label(object item, SchemaType type):
    """``[name="app"]``, or ``[="t9"]`` in a set."""
    if type.relation == SET:
        return f"[={scalar_string(item)}]"
    shown = []
    for name in sorted(type.keys):
        value = key_value(item, name, type)
        if value is not ABSENT:
            shown.append(f"{name}={scalar_string(value)}")
    return f"[{','.join(shown)}]"


cdef str scalar_string(object value):
    cdef object kind = kind_of(value)
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is dict or kind is list:
        descend()
    if kind is dict:
        return "".join([f"{name}={scalar_string(member)}" for name, member in value.items()])
    if kind is list:
        return f"[{','.join([scalar_string(item) for item in value])}]"
    return "{{undefined}}" if kind is go_printing.Foreign else go_printing.plain(value)


cdef list keys_of(list items, SchemaType type):
    cdef list keys = []
    try:
        for item in items:
            keys.append(item_key(item, type))
    except MergeError as error:
        raise MergeError(f"element {len(keys)}: {error}") from None
    return keys


# The order of a merged list.

cdef bint paired(list live_keys, list patch_keys) except -1:
    """Whether both lists have the same items in the same order, each once: the usual case."""
    return live_keys == patch_keys and (
        len(live_keys) < 2 or len(set(live_keys)) == len(live_keys)
    )


cdef list pairing(list live_keys, list patch_keys):
    """The items of a merged list in order: pairs of an index in the live list and one in the patch.
    An index is -1 if that list lacks the item, or if the patch replaces duplicates of the live
    list.
    """
    cdef dict live_places = {}
    cdef dict patch_places = {}
    cdef set merged = set()
    cdef list out = []
    cdef Py_ssize_t at = 0, to = 0, shared_at = 0, index
    if paired(live_keys, patch_keys):
        return [(index, index) for index in range(len(live_keys))]
    for index, key in enumerate(live_keys):
        # The patch replaces all duplicates.
        live_places[key] = -1 if key in live_places else index
    for index, key in enumerate(patch_keys):
        patch_places[key] = index
    shared = [key for key in patch_keys if key in live_places]
    while at < len(live_keys) or to < len(patch_keys):
        if at < len(live_keys):
            key = live_keys[at]
            if key not in patch_places:
                out.append((at, -1))
                at += 1
                continue
            if to < len(patch_keys) and key != patch_keys[to] and shared_at < len(shared) \
                    and key != shared[shared_at]:
                at += 1  # the patch has another shared item first; this item follows later
                continue
            if key in merged:
                at += 1  # the patch has added this item already
            elif key == patch_keys[to]:
                at += 1
        if to < len(patch_keys):
            key = patch_keys[to]
            merged.add(key)
            if key in live_places:
                out.append((live_places[key], patch_places[key]))
                shared_at += 1
            else:
                out.append((-1, to))
            to += 1
    return out


cdef list in_front(list live_keys, list patch_keys):
    """The same pairs, with new items first and all others in the order of the live list."""
    cdef dict places = {key: to for to, key in enumerate(patch_keys)}
    cdef list shared = [key for key in dict.fromkeys(live_keys) if key in places]
    cdef list out = [(-1, to) for key, to in places.items() if key not in shared]
    for at, to in pairing(live_keys, shared):
        out.append((at, to if to < 0 else places[shared[to]]))
    return out


cdef bint same_items(list one, list other):
    """Whether two lists contain the same objects (by identity)."""
    cdef Py_ssize_t index
    if len(one) != len(other):
        return False
    for index in range(len(one)):
        if one[index] is not other[index]:
            return False
    return True
