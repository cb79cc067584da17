"""Merges by schema like server-side apply: the rules of structured-merge-diff (typed/).

    merge(live, patch, type)       # the merged tree; shares unchanged values with ``live``

Trees are JSON values that fit the schema (``problems``). Neither argument is changed. ``Edits``
note what a merge changes.
"""

cimport cython
from cpython.ref cimport Py_REFCNT

from policyd._core.schema.list_items cimport ABSENT, keys_of, paired, pairing, same_items
from policyd._core.schema.types cimport ATOMIC, Field, SchemaType, kind_of
from policyd._core.system.c_stack cimport descend


def merge(live, patch, SchemaType type not None):
    #: (object, object, SchemaType) -> object
    return merge_value(live, patch, type, Edits())


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
        # null merges like an empty map or list: the live value stays. Other values are replaced.
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
    """Keeps items of one side, and merges items of both, in the order of the patch."""
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


cdef bint named(object keys, Edit edit, SchemaType type):
    """Whether an Edit describes the change of a list with these keys, which are unique."""
    if len(type.keys) != 1:
        return False
    default = type.key_defaults.get(type.keys[0])
    while edit is not None:
        if edit.below is None:
            return False
        edit = edit.before
    for key in keys:
        if kind_of(key) is not str:
            return False
    # The default may stand for a key that the item lacks.
    return "" not in keys and (kind_of(default) is not str or default not in keys)


cdef Edit of_items(Edit edit, list live, list out, SchemaType type):
    """``edit`` if it describes the change of this list (items keep their places and unique names),
    else None.
    """
    cdef set names = set()
    cdef Py_ssize_t at
    if edit is None or len(type.keys) != 1 or len(out) != len(live):
        return None
    field = type.keys[0]
    for at in range(len(live)):
        item, after = live[at], out[at]
        if kind_of(item) is not dict or kind_of(after) is not dict:
            return None
        name = (<dict>item).get(field)
        if kind_of(name) is not str:
            return None
        if after is not item and (<dict>after).get(field) != name:
            return None
        names.add(name)
    return edit if len(names) == len(live) and named(names, edit, type) else None


# An Edit refers to keys and older Edits, so it cannot be part of a reference cycle.
@cython.final
@cython.no_gc
@cython.freelist(32)
cdef class Edit:
    """One change of a copied map or list, linked to the changes before it.

    ``name`` is a key that was set or removed; each key occurs once, new keys in their order. In a
    list whose items are all maps with unique names (string keys), it is the index of an item that a
    changed copy of itself replaced.
    """

    def __dealloc__(self):
        # Release one by one: a long chain of Edits that release each other would exhaust the stack.
        cdef Edit rest = self.before, before
        self.before = None
        while rest is not None and Py_REFCNT(rest) == 1:
            before = rest.before
            rest.before = None
            rest, before = before, None


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Edits:
    """The last change of the value that was merged last; None: not known."""

    cdef Edit take(self):
        """Return the latest edit and forget it."""
        cdef Edit latest = self.latest
        self.latest = None
        return latest


cdef Edit new_edit(object name, bint added, Edit below, Edit before):
    cdef Edit edit = Edit.__new__(Edit)
    edit.name, edit.added, edit.below, edit.before = name, added, below, before
    return edit


cdef list all_edits(Edit last):
    """The changes up to this one, in order."""
    cdef list edits = []
    while last is not None:
        edits.append(last)
        last = last.before
    edits.reverse()
    return edits
