"""The object of a request while mutations change it one after another. The original never changes.
One pass decodes, as Go does, and compares the values that a merge noted as changed.
"""

cimport cython

from policyd._core.json.sizes cimport operation_bytes
from policyd._core.json.sendable cimport unsendable
from policyd._core.patch.diff cimport ABSENT as NO_VALUE, Differ, diff
from policyd._core.patch.pointer cimport pointer_of
from policyd._core.schema.decode cimport (
    ABSENT, Decoder, decoded_or_none, is_omitted, new_decoder, with_member,
)
from policyd._core.schema.merge cimport all_edits
from policyd._core.schema.types cimport LIST, MAP, STRUCT, SchemaType, kind_of

from policyd._core.json import sizes

#: from policyd._core.schema.types import Field


@cython.final
cdef class MutatedTree:
    """The tree so far. ``changes`` counts the accepted changes since it was set to 0;
    ``operations`` belong to the last change.
    """
    #: operations: list[dict[str, Any]]

    def __init__(self, object original, Field root):
        #: (Any, Field | None) -> None
        self.original = self.current = original
        self.root = root
        self.keys = None if root is None else root.list_keys
        self.operations = []

    cpdef str accept(self, object changed):
        #: (Any) -> str | None
        """Replace the tree with ``changed``. If no patch can express the change, keep the tree and
        return the reason.
        """
        cdef Py_ssize_t limit = sizes.MAX_PATCH_BYTES, size
        cdef list operations = self.operations_to(changed)
        size = operation_bytes(operations, limit)
        self.written += size
        if self.written > limit and self.too_large(size, changed):
            return sizes.TOO_LARGE
        problem = unsendable(operations)
        if problem is None and operations:
            self.changes += 1
            self.operations = operations
            self.current = changed
        return problem

    cdef list operations_to(self, object changed):
        if changed is self.latest and self.latest_from is self.current:
            return self.found
        return diff(self.current, changed, self.keys)

    cdef object decoded(self, Edit edit, dict old, dict new, Field root, bint convert):
        """The decoded object after a mutation of ``old``, or None if it cannot be decoded. ``edit``
        is the mutation's last edit, if known.
        """
        if edit is None or old is not self.current or root is not self.root:
            return decoded_or_none(new, old, root, convert)
        self.found, self.latest_from = [], old
        self.latest = decoded_edit(edit, old, new, root, convert, self.keys, self.found)
        return self.latest

    cdef bint too_large(self, Py_ssize_t size, object changed) except -1:
        """Whether the patch of one change or of the whole request is too large."""
        cdef Py_ssize_t limit = sizes.MAX_PATCH_BYTES
        if size <= limit:
            # Later mutations may have undone earlier ones.
            size = operation_bytes(diff(self.original, changed, self.keys), limit)
            self.written = size
        return size > limit

    def restore(self, object tree):
        #: (Any) -> None
        """Return to an earlier tree."""
        self.current = tree

    def patch(self, before=None):
        #: (Any) -> list[dict[str, Any]]
        """The operations that change ``before`` (None: the original) into the tree."""
        before = self.original if before is None else before
        return diff(before, self.current, self.keys)


@cython.final
cdef class ChangeLog:
    """The changes of one request, in order: (policy, operations, tree before, tree after)."""
    #: changes: list[tuple[Any, list[dict[str, Any]], Any, Any]]

    def __cinit__(self):
        self.changes = []
        self.only_adds = True

    cpdef bint suspects(self, list operations) except -1:
        #: (list[dict[str, Any]]) -> bool
        """Whether a change may conflict with earlier changes."""
        # If nothing was removed, no earlier policy wrote the added keys and items.
        return bool(self.changes) and not (self.only_adds and adds(operations))

    cpdef int add(self, object policy, list operations, object before, object after) except -1:
        #: (Any, list[dict[str, Any]], Any, Any) -> None
        self.only_adds = self.only_adds and adds(operations)
        self.changes.append((policy, operations, before, after))
        return 0


cdef bint adds(list operations) except -1:
    """Whether all operations add something."""
    cdef dict operation
    for operation in operations:
        if operation["op"] != "add":
            return False
    return True


cdef object decoded_edit(
    Edit edit, dict old, dict new, Field root, bint convert, object keys, list operations
):
    """Like ``decoded_or_none`` followed by ``diff``: appends the operations to ``operations``.
    ``edit`` is the last change of ``new``. ``keys`` are as for ``diff`` and must follow from
    ``root``.
    """
    cdef EditedObject edited = EditedObject.__new__(EditedObject)
    cdef Differ differ = Differ.__new__(Differ)
    differ.operations, differ.path, differ.keys = operations, [], keys
    edited.decoder, edited.differ = new_decoder(convert, False), differ
    out = edited.members(edit, old, new, root.type)
    return None if edited.decoder.failed() else out


@cython.final
cdef class EditedObject:
    """One changed object. Visits only the values that the merge noted."""
    cdef Decoder decoder
    cdef Differ differ      # collects the operations

    cdef dict members(self, Edit last, dict old, dict new, SchemaType type):
        cdef list edits
        cdef Edit edit
        cdef dict out = new
        cdef str here
        if last.before is None:  # nearly always
            if last.added:
                return self.fresh(out, last, new, type, pointer_of(self.differ.path))
            return self.kept(out, last, old, new, type)
        edits = all_edits(last)
        # In the order of a diff: see ``Differ.emit_new``.
        for edit in in_order_of(old, edits):
            out = self.kept(out, edit, old, new, type)
        here = pointer_of(self.differ.path)
        for edit in edits:
            if edit.added:
                out = self.fresh(out, edit, new, type, here)
        return out

    cdef dict fresh(self, dict out, Edit edit, dict new, SchemaType type, str here):
        """``out`` with a new member of the map at the pointer ``here``."""
        member = new[edit.name]
        after = self.decoded(edit.name, member, ABSENT, type)
        if after is not ABSENT:
            self.differ.emit_new(here, edit.name, after)
        return with_member(out, new, edit.name, member, after)

    cdef dict kept(self, dict out, Edit edit, dict old, dict new, SchemaType type):
        """``out`` with the new state of an old member."""
        member = new.get(edit.name, ABSENT)
        after = self.member(edit.name, edit.below, old[edit.name], member, type)
        return with_member(out, new, edit.name, member, after)

    cdef object member(self, str name, Edit below, object was, object member, SchemaType type):
        """The decoded new state of an old member; ABSENT if it was removed."""
        cdef list operations = self.differ.operations
        cdef Py_ssize_t before = len(operations)
        cdef Field field = type.extra if type.decoding == MAP else type.fields.get(name)
        if member is was:
            return member
        after = member
        if below is not None and field is not None and is_visited(field.type, member):
            self.differ.path.append(name)
            if kind_of(member) is list:
                after = self.items(below, <list>was, <list>member, field.type)
            else:
                after = self.members(below, <dict>was, <dict>member, field.type)
            self.differ.path.pop()
            if type.decoding == MAP or not is_omitted(after, field):
                return after
            del operations[before:]
            after = ABSENT
        elif member is not ABSENT:
            after = self.decoded(name, member, was, type)
        if after is ABSENT:
            self.differ.emit_at(name, "remove", NO_VALUE)
        else:
            self.differ.walk_at(name, was, after, <int>len(self.differ.path) + 1)
        return after

    cdef object decoded(self, str name, object member, object was, SchemaType type):
        if type.decoding == MAP:
            return self.decoder.value(member, was, type.extra)
        return self.decoder.member(name, member, was, type)

    cdef list items(self, Edit last, list old, list new, SchemaType type):
        cdef list out = new
        cdef Edit edit
        cdef Py_ssize_t at
        for edit in all_edits(last):
            at = edit.name
            self.differ.path.append(edit.name)
            after = self.members(edit.below, old[at], new[at], type.item.type)
            self.differ.path.pop()
            if after is not new[at]:
                if out is new:
                    out = list(new)
                out[at] = after
        return out


cdef bint is_visited(SchemaType type, object value):
    """Whether values of this type can be decoded and compared by their Edits."""
    if kind_of(value) is list:
        return type.decoding == LIST and is_map(type.item.type)
    return kind_of(value) is dict and is_map(type)


cdef bint is_map(SchemaType type):
    return type.decoding == STRUCT or type.decoding == MAP


cdef list in_order_of(dict old, list edits):
    """The edits of keys that the map has, in its order."""
    cdef Edit edit
    cdef list known = [edit for edit in edits if not edit.added]
    cdef dict by_name
    if len(known) < 2:
        return known
    by_name = {edit.name: edit for edit in known}
    return [by_name[name] for name in old if name in by_name]
