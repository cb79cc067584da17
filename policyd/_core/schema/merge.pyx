"""Merging by schema, as server-side apply merges: the rules of structured-merge-diff (typed/).

    problems(patch, type)          # what does not fit the schema: [(path, message)], or None
    live_problems(live, type)      # the same of the object that is there, which may repeat itself
    atomics(patch, type)           # paths of what only merges as a whole, or None
    flawless(patch, type)          # True: neither of them finds anything
    merge(live, patch, type)       # the merged tree; shares with ``live`` whatever stayed the same

Trees are plain JSON values (a patch may hold ``go_printing.Foreign`` leaves, which fit nowhere).
Neither argument is changed.
"""

from policyd._core.go import printing as go_printing
from policyd._core.schema.types cimport (
    ATOMIC, BOOLEAN, NO_SCALAR, NUMERIC, SET, STRING, Field, SchemaType, kind_of,
)

cdef object ABSENT = object()


class MergeError(Exception):
    """The live object holds a list whose items cannot be told apart; the text says where."""


def problems(patch, SchemaType type not None):
    return value_problems(patch, type, False)


def live_problems(live, SchemaType type not None):
    return value_problems(live, type, True)


def atomics(patch, SchemaType type not None):
    return atomic_paths(patch, type)


def flawless(patch, SchemaType type not None):
    return is_flawless(patch, type)


def merge(live, patch, SchemaType type not None):
    return merge_value(live, patch, type)


# Checking against the schema.

cdef list value_problems(object value, SchemaType type, bint live):
    cdef object kind = kind_of(value)
    if kind is dict:
        if type.is_map:
            return map_problems(value, type, live)
    elif kind is list:
        if type.is_list:
            return list_problems(value, type, live)
    elif value is None:
        return None  # a null fits every form
    elif type.scalar != NO_SCALAR and (
        kind is str or kind is int or kind is bool or kind is float
    ):
        return scalar_problems(value, type)
    # No form fits: the complaint is that of the first form the schema allows.
    if type.is_map:
        return [("", f"expected map, got &{{{go_printing.plain(value)}}}")]
    if type.scalar != NO_SCALAR:
        return scalar_problems(value, type)
    return [("", f"expected list, got &{{{go_printing.plain(value)}}}")]


cdef list scalar_problems(object value, SchemaType type):
    cdef object kind = kind_of(value)
    cdef bint is_number = kind is int or kind is float
    if type.scalar == NUMERIC:
        if is_number:
            return None
        return [("", f"expected numeric (int or float), got {go_printing.type_name(value)}")]
    if type.scalar == STRING:
        if kind is str:
            return None
        shown = go_printing.syntax(value)
        return [("", f"expected string, got &value.valueUnstructured{{Value:{shown}}}")]
    if type.scalar == BOOLEAN:
        if kind is bool:
            return None
        return [("", f"expected boolean, got &{{{go_printing.plain(value)}}}")]
    if is_number or kind is str or kind is bool:
        return None
    return [("", f"expected any scalar, got &{{{go_printing.plain(value)}}}")]


cdef list map_problems(dict value, SchemaType type, bint live):
    cdef list found = None, below
    cdef Field field
    for name, member in value.items():
        field = type.fields.get(name, type.extra)
        if field is None:
            # The API server stops looking at this map here.
            return (found or []) + [(f".{name}", "field not declared in schema")]
        below = value_problems(member, field.type, live)
        if below is not None:
            found = (found or []) + prefixed(f".{name}", below)
    return found


cdef list list_problems(list value, SchemaType type, bint live):
    cdef list found = None, below
    cdef set seen = set()
    cdef Py_ssize_t index
    for index, item in enumerate(value):
        if type.relation != ATOMIC:
            try:
                key = item_key(item, type)
            except MergeError as error:
                return (found or []) + [("", f"element {index}: {error}")]
            if key in seen and not live:
                label = key_label(item, type)
                found = (found or []) + [("", f"duplicate entries for key {label}")]
            seen.add(key)
        below = value_problems(item, type.item.type, live)
        if below is not None:
            label = f"[{index}]" if type.relation == ATOMIC else key_label(item, type)
            found = (found or []) + prefixed(label, below)
    return found


cdef list prefixed(str prefix, list below):
    return [(prefix + path, message) for path, message in below]


# What an ApplyConfiguration must not touch.

cdef list atomic_paths(object value, SchemaType type):
    cdef list found = None, below
    cdef Field field
    cdef Py_ssize_t index
    if kind_of(value) is dict and type.is_map:
        if type.atomic:
            found = [""]
        for name, member in (<dict>value).items():
            field = type.fields.get(name)
            if field is not None:
                below = atomic_paths(member, field.type)
                if below is not None:
                    found = (found or []) + [f".{name}{path}" for path in below]
    elif kind_of(value) is list and type.is_list:
        if type.relation == ATOMIC:
            found = [""]
        for index, item in enumerate(<list>value):
            below = atomic_paths(item, type.item.type)
            if below is not None:
                found = (found or []) + [f"[{index}]{path}" for path in below]
    return found


# Both of these at once, for the usual patch. Where it is not sure, they have to tell.

cdef bint is_flawless(object value, SchemaType type) except -1:
    cdef object kind = kind_of(value)
    cdef Field field
    if kind is dict:
        if not type.is_map or type.atomic:
            return False
        for name, member in (<dict>value).items():
            field = type.fields.get(name, type.extra)
            if field is None or not is_flawless(member, field.type):
                return False
        return True
    if kind is list:
        return type.is_list and type.relation != ATOMIC and are_flawless(<list>value, type)
    return value is None or (
        type.scalar != NO_SCALAR
        and (kind is str or kind is int or kind is bool or kind is float)
        and scalar_problems(value, type) is None
    )


cdef bint are_flawless(list items, SchemaType type) except -1:
    for item in items:
        if not is_flawless(item, type.item.type):
            return False
    try:
        keys = keys_of(items, type)
    except MergeError:
        return False
    return len(set(keys)) == len(keys)


# Keys of list items.

cdef object item_key(object item, SchemaType type):
    """What tells the item from others: hashable, equal for equal keys."""
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
        names = " ".join([go_printing.quoted(name) for name in type.keys])
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
    """The value, or a stand-in: True must not equal 1, and containers have no hash."""
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
        return go_printing.quoted(value)
    if value is None:
        return "null"
    if kind is dict:
        return "".join([f"{name}={scalar_string(member)}" for name, member in value.items()])
    if kind is list:
        return f"[{','.join([scalar_string(item) for item in value])}]"
    return "{{undefined}}" if kind is go_printing.Foreign else go_printing.plain(value)


# Merging.

cdef object merge_value(object live, object patch, SchemaType type):
    if kind_of(patch) is dict and type.is_map and not type.atomic:
        if kind_of(live) is dict:
            return merge_map(<dict>live, <dict>patch, type)
    elif kind_of(patch) is list and type.is_list and type.relation != ATOMIC:
        if kind_of(live) is list and (live or patch):
            return merge_list(<list>live, <list>patch, type)
    elif patch is None:
        # Null merges like an empty map or list: what is there stays. Other values give way.
        if kind_of(live) is dict and live and type.is_map and not type.atomic:
            return live
        if kind_of(live) is list and live and type.is_list and type.relation != ATOMIC:
            return live
    if kind_of(live) is kind_of(patch) and live == patch and kind_of(patch) is not dict \
            and kind_of(patch) is not list:
        return live
    return patch


cdef object merge_map(dict live, dict patch, SchemaType type):
    cdef dict out = live
    cdef Field field
    for name, member in patch.items():
        before = live.get(name, ABSENT)
        if before is ABSENT:
            after = member
        else:
            field = type.fields.get(name, type.extra)
            after = merge_value(before, member, field.type)
            if after is before:
                continue
        if out is live:
            out = dict(live)
        out[name] = after
    return out


cdef object merge_list(list live, list patch, SchemaType type):
    """Items that only one side has stay; items of both merge, in the order the patch gives them."""
    cdef SchemaType item_type = type.item.type
    cdef list out = []
    cdef Py_ssize_t at, to
    for at, to in pairing(keys_of(live, type), keys_of(patch, type)):
        if to < 0:
            out.append(live[at])
        else:
            out.append(merge_value(ABSENT if at < 0 else live[at], patch[to], item_type))
    return live if same_items(live, out) else out


cdef list pairing(list live_keys, list patch_keys):
    cdef dict live_places = {}
    cdef dict patch_places = {}
    cdef set merged = set()
    cdef list out = []
    cdef Py_ssize_t at = 0, to = 0, shared_at = 0, index
    if live_keys == patch_keys and len(set(live_keys)) == len(live_keys):
        return [(index, index) for index in range(len(live_keys))]
    for index, key in enumerate(live_keys):
        # Duplicates give way to the patch as a whole.
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
                at += 1  # the patch wants another shared item first; this one comes with its turn
                continue
            if key in merged:
                at += 1  # a place that the patch has filled already
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


cdef bint same_items(list one, list other):
    cdef Py_ssize_t index
    if len(one) != len(other):
        return False
    for index in range(len(one)):
        if one[index] is not other[index]:
            return False
    return True


cdef list keys_of(list items, SchemaType type):
    cdef list keys = []
    try:
        for item in items:
            keys.append(item_key(item, type))
    except MergeError as error:
        raise MergeError(f"element {len(keys)}: {error}") from None
    return keys
