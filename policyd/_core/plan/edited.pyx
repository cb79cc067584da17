"""Decodes and compares what merges noted as changed."""

cimport cython

from policyd._core.patch.diff cimport ABSENT as NO_VALUE, Differ
from policyd._core.patch.pointer cimport pointer_of
from policyd._core.schema.decode cimport ABSENT, Decoder, is_omitted, new_decoder, with_member
from policyd._core.schema.edits cimport all_edits
from policyd._core.schema.types cimport LIST, MAP, STRUCT, SchemaType, kind_of


cdef object decoded_edit(
    Edit edit, dict old, dict new, Field root, bint convert, object keys, list operations
):
    """The result of ``decoded_or_none``, and of ``operations_between`` after it: the operations are
    added to ``operations``. ``edit`` is the last change of ``new``. ``keys`` are those of ``diff``,
    and must follow from ``root``.
    """
    cdef EditedObject edited = EditedObject.__new__(EditedObject)
    cdef Differ differ = Differ.__new__(Differ)
    differ.operations, differ.path, differ.keys = operations, [], keys
    edited.decoder, edited.differ = new_decoder(convert, False), differ
    out = edited.members(edit, old, new, root.type)
    return None if edited.decoder.failed() else out


@cython.final
cdef class EditedObject:
    """One changed object. Only what the merge noted is visited."""
    cdef Decoder decoder
    cdef Differ differ      # has the operations so far

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
        # In the order of a diff (``Differ.emit_new``).
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
        """``out`` with what became of a member that was there before."""
        member = new.get(edit.name, ABSENT)
        after = self.member(edit.name, edit.below, old[edit.name], member, type)
        return with_member(out, new, edit.name, member, after)

    cdef object member(self, str name, Edit below, object was, object member, SchemaType type):
        """The decoded member that was there before; ABSENT if it is not any more."""
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
    """Whether a value of this type can be decoded and compared by its Edit."""
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
