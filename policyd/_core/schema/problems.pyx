"""Finds values that do not fit a schema, by the rules of structured-merge-diff (typed/).

    problems(patch, type)          # what does not fit the schema: [(path, message)], or None
    live_problems(live, type)      # the same for the live object, which may have duplicates
    atomics(patch, type)           # paths of values that merge only as a whole, or None
    flawless(patch, type)          # whether neither problems nor atomics finds anything

Trees are JSON values; a patch may contain ``go_printing.Foreign`` leaves, which fit nowhere.
"""

from policyd._core.go import printing as go_printing
from policyd._core.system.c_stack cimport descend
from policyd._core.schema.list_items cimport item_key, key_label
from policyd._core.schema.types cimport (
    ATOMIC, BOOLEAN, NO_SCALAR, NUMERIC, STRING, Field, SchemaType, kind_of,
)

from policyd._core.schema.list_items import MergeError


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


cdef list value_problems(object value, SchemaType type, bint live, bint atomics):
    """The problems of a value: [(path, message)], or None. ``live`` allows duplicates. ``atomics``
    adds the paths of atomic values, with None as message.
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
