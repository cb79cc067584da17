"""Merges by schema like server-side apply: the rules of structured-merge-diff (typed/).

    problems(patch, type)          # what does not fit the schema: [(path, message)], or None
    live_problems(live, type)      # the same for the live object, which may have duplicates
    atomics(patch, type)           # paths of values that merge only as a whole, or None
    flawless(patch, type)          # whether neither problems nor atomics finds anything
    merge(live, patch, type)       # the merged tree; shares unchanged values with ``live``

Trees are JSON values; a patch may contain ``go_printing.Foreign`` leaves, which fit nowhere.
Neither argument is changed.
"""

from policyd._core.go import printing as go_printing
from policyd._core.go.strings cimport quote
from policyd._core.schema.edits cimport Edit, Edits, new_edit
from policyd._core.system.c_stack cimport descend
from policyd._core.schema.types cimport (
    ATOMIC, BOOLEAN, NO_SCALAR, NUMERIC, SET, STRING, Field, SchemaType, kind_of,
)

cdef object ABSENT = object()


class MergeError(Exception):
    """The live object has a list whose items have no keys. The message says where."""


def problems(patch, SchemaType type not None):
    #: (object, SchemaType) -> list[tuple[str, str]] | None
    return value_problems(patch, type, False, False)


def live_problems(live, SchemaType type not None):
    #: (object, SchemaType) -> list[tuple[str, str]] | None
    return value_problems(live, type, True, False)


def atomics(patch, SchemaType type not None):
    #: (object, SchemaType) -> list[str] | None
    found = value_problems(patch, type, False, True) or ()
    return [path for path, message in found if message is None] or None


def flawless(patch, SchemaType type not None):
    #: (object, SchemaType) -> bool
    return value_problems(patch, type, False, True) is None


def merge(live, patch, SchemaType type not None):
    #: (object, object, SchemaType) -> object
    return merge_value(live, patch, type, Edits())


# Checking against the schema.

cdef list value_problems(object value, SchemaType type, bint live, bint atomics):
    """What does not fit the schema: [(path, message)], or None. ``live``: duplicates are allowed.
    ``atomics``: also returns the paths of atomic values, with None as message.
    """
    cdef object kind = kind_of(value)
    if kind is dict:
        if type.is_map:
            descend()
            return map_problems(value, type, live, atomics)
    elif kind is list:
        if type.is_list:
            descend()
            return list_problems(value, type, live, atomics)
    elif value is None:
        return None  # null fits every type
    elif type.scalar != NO_SCALAR and (
        kind is str or kind is int or kind is bool or kind is float
    ):
        return scalar_problems(value, type)
    # Nothing fits: report the first type that the schema allows.
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


cdef list map_problems(dict value, SchemaType type, bint live, bint atomics):
    cdef list found = [("", None)] if atomics and type.atomic else None
    cdef list below
    cdef Field field
    cdef bint declared
    for name, member in value.items():
        field = type.fields.get(name)
        declared = field is not None
        if not declared:
            field = type.extra
        if field is None:
            # The API server stops checking this map here.
            return (found or []) + [(f".{name}", "field not declared in schema")]
        below = value_problems(member, field.type, live, atomics and declared)
        if below is not None:
            found = (found or []) + [(f".{name}{path}", message) for path, message in below]
    return found


cdef list list_problems(list value, SchemaType type, bint live, bint atomics):
    cdef bint whole = type.relation == ATOMIC
    cdef list found = [("", None)] if atomics and whole else None
    cdef list below
    cdef set seen = set()
    cdef Py_ssize_t index
    for index, item in enumerate(value):
        if not whole:
            try:
                key = item_key(item, type)
            except MergeError as error:
                return (found or []) + [("", f"element {index}: {error}")]
            if key in seen and not live:
                label = key_label(item, type)
                found = (found or []) + [("", f"duplicate entries for key {label}")]
            seen.add(key)
        below = value_problems(item, type.item.type, live, atomics)
        if below is not None:
            label = f"[{index}]" if whole else key_label(item, type)
            # Paths of atomic values have indexes instead of keys.
            found = (found or []) + [
                (f"[{index}]{path}" if message is None else label + path, message)
                for path, message in below
            ]
    return found


# Keys of list items.

cdef object item_key(object item, SchemaType type):
    """The key of an item: hashable, equal for equal keys."""
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


# Merging.

cdef object merge_value(object live, object patch, SchemaType type, Edits edits):
    """The merged tree; shares unchanged values with ``live``. Raises MergeError."""
    edits.latest = None
    if kind_of(patch) is dict and type.is_map and not type.atomic:
        if kind_of(live) is dict:
            descend()
            return merge_map(<dict>live, <dict>patch, type, edits)
    elif kind_of(patch) is list and type.is_list and type.relation != ATOMIC:
        if kind_of(live) is list and (live or patch):
            descend()
            return merge_list(<list>live, <list>patch, type, edits)
    elif patch is None:
        # null merges like an empty map or list: the live one is kept. Other values are replaced.
        if kind_of(live) is dict and live and type.is_map and not type.atomic:
            return live
        if kind_of(live) is list and live and type.is_list and type.relation != ATOMIC:
            return live
    if kind_of(live) is kind_of(patch) and kind_of(patch) is not dict \
            and kind_of(patch) is not list and live == patch:
        return live
    return patch


cdef object merge_map(dict live, dict patch, SchemaType type, Edits edits):
    cdef dict out = live
    cdef Field field
    cdef Edit edit = None, below
    for name, member in patch.items():
        before = live.get(name, ABSENT)
        below = None
        if before is ABSENT:
            after = member
        else:
            field = type.fields.get(name, type.extra)
            after = merge_value(before, member, field.type, edits)
            if after is before:
                continue
            below = edits.take()
        if edit is None:
            out = dict(live)
        out[name] = after
        edit = new_edit(name, before is ABSENT, below, edit)
    edits.latest = edit
    return out


cdef object merge_list(list live, list patch, SchemaType type, Edits edits):
    """Items of one side are kept; items of both are merged, in the order of the patch."""
    cdef SchemaType item_type = type.item.type
    cdef list out = []
    cdef list live_keys = keys_of(live, type), patch_keys = keys_of(patch, type)
    cdef Edit edit = None
    cdef Py_ssize_t at, to
    if paired(live_keys, patch_keys):
        for at in range(len(live)):
            item = merge_value(live[at], patch[at], item_type, edits)
            if item is not live[at]:
                edit = new_edit(at, False, edits.take(), edit)
            out.append(item)
        edits.latest = edit if edit is not None and named(live_keys, edit, type) else None
        return live if edit is None else out
    for at, to in pairing(live_keys, patch_keys):
        if to < 0:
            out.append(live[at])
        else:
            out.append(merge_value(ABSENT if at < 0 else live[at], patch[to], item_type, edits))
    edits.latest = None
    return live if same_items(live, out) else out


cdef bint named(list keys, Edit edit, SchemaType type):
    """Whether an Edit describes the change of a list with these keys, which are unique."""
    if len(type.keys) != 1:
        return False
    default = type.key_defaults.get(type.keys[0])
    while edit is not None:
        if edit.below is None:
            return False
        edit = edit.before
    for key in keys:
        # The default may stand for a key that the item does not have.
        if kind_of(key) is not str or not <str>key or key == default:
            return False
    return True


cdef Edit of_items(Edit edit, list live, list out, SchemaType type):
    """``edit`` if it is an Edit of this list (the items keep their places and unique names), else
    None.
    """
    cdef list names = []
    cdef Py_ssize_t at
    if edit is None or len(type.keys) != 1 or len(out) != len(live):
        return None
    for at in range(len(live)):
        if kind_of(live[at]) is not dict or kind_of(out[at]) is not dict:
            return None
        name = (<dict>live[at]).get(type.keys[0])
        if kind_of(name) is not str or (<dict>out[at]).get(type.keys[0]) != name:
            return None
        names.append(name)
    return edit if len(set(names)) == len(names) and named(names, edit, type) else None


cdef bint paired(list live_keys, list patch_keys) except -1:
    """Whether both lists have the same items in the same order, each once: the usual case."""
    return live_keys == patch_keys and (
        len(live_keys) < 2 or len(set(live_keys)) == len(live_keys)
    )


cdef list pairing(list live_keys, list patch_keys):
    """The items of a merged list in order: pairs of indexes in the live list and in the patch. -1
    if one of them does not have the item, or if the patch replaces duplicates of the live list.
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
                at += 1  # the patch has another shared item first; this one follows later
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
    """The same with new items first and the others where they are in the live list."""
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


cdef list keys_of(list items, SchemaType type):
    cdef list keys = []
    try:
        for item in items:
            keys.append(item_key(item, type))
    except MergeError as error:
        raise MergeError(f"element {len(keys)}: {error}") from None
    return keys
