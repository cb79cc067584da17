"""Applies the usual ``Object{...}``: a few fields of the object and of the items of its lists."""

cimport cython

from policyd._core.json.encoded_size cimport value_bytes
from policyd._core.patch.pointer cimport escape, pointer_of
from policyd._core.schema.decode cimport ABSENT, is_omitted, new_decoder
from policyd._core.schema.merge cimport value_problems
from policyd._core.schema.types cimport KEYED, MAP, STRUCT, kind_of
from policyd._core.values.mutation_json cimport inner_of, path_of

from policyd._core.values.mutation_json import ConversionError

cdef enum:
    ROOM = 500_000  # bytes of JSON; what may be larger is counted first, elsewhere
    BYTES_A_CHARACTER = 6  # of a string in JSON, at most
    BYTES_A_VALUE = 32  # of a number, and of quotes and separators


cdef dict configured(
    StructValue value, dict live, Field root, tuple sources, object keys, list operations
):
    cdef Configured change = Configured.__new__(Configured)
    cdef Differ differ = Differ.__new__(Differ)
    cdef dict fields = value.fields, out
    differ.operations, differ.path, differ.keys = operations, [], keys
    change.differ, change.decoder = differ, new_decoder(True, False)
    change.sources, change.room = sources, ROOM
    # The object keeps its kind, whatever the value declares.
    if "kind" in fields or "apiVersion" in fields:
        fields = {name: item for name, item in fields.items() if name not in ("kind", "apiVersion")}
    out = change.members(fields, value.type_name, live, root.type)
    return None if change.unusual or change.decoder.failed() else out


cdef bint is_plain(object kind):
    return kind is str or kind is bool or kind is int


@cython.final
@cython.auto_pickle(False)
cdef class Configured:

    cdef object other(self):
        self.unusual = True
        return None

    cdef dict struct(self, StructValue value, str expected, dict live, SchemaType type):
        if value.type_name != expected or type.decoding != STRUCT:
            return self.other()
        return self.members(value.fields, expected, live, type)

    cdef dict members(self, dict given, str expected, dict live, SchemaType type):
        """The members of a struct or map after the change; ``live`` itself if nothing changes."""
        cdef dict out = live, changes = None
        cdef list additions = None
        cdef object before
        if not type.is_map or type.atomic:
            return self.other()
        for name, item in given.items():
            if kind_of(name) is not str:
                return self.other()
            before = live.get(name, ABSENT)
            if before is ABSENT:
                additions = additions if additions is not None else []
                additions.append(name)
                continue
            kind = kind_of(item)
            if kind is kind_of(before) and is_plain(kind) and item == before:
                continue
            changes = changes if changes is not None else {}
            changes[name] = item
        # As in a diff: first what was there, in its order, then what is new.
        if changes is not None:
            for name in changes if len(changes) == 1 else [key for key in live if key in changes]:
                out = self.changed(out, live, name, changes[name], expected, type)
                if self.unusual:
                    return None
        if additions is not None:
            for name in additions:
                out = self.added(out, live, name, given[name], expected, type)
                if self.unusual:
                    return None
        return out

    cdef dict changed(
        self, dict out, dict live, str name, object item, str expected, SchemaType type
    ):
        """``out`` with the member ``name``, which was there before, as ``item`` changes it."""
        cdef Field field = type.extra if type.decoding == MAP else type.fields.get(name)
        cdef object before = live[name], after, kind = kind_of(item)
        if field is None:
            return self.other()
        if is_plain(kind):
            after = self.plain(item, before, name, field, type)
            if self.unusual or after is ABSENT:
                return self.other()
            if kind_of(after) is kind_of(before) and after == before:
                return out
            self.differ.walk_at(name, before, after, <int>len(self.differ.path) + 1)
        else:
            self.differ.path.append(name)
            if kind is StructValue and kind_of(before) is dict:
                after = self.struct(item, path_of(expected, name), before, field.type)
            elif kind is dict and kind_of(before) is dict and field.type.decoding == MAP:
                after = self.members(item, path_of(expected, name), before, field.type)
            elif kind is list and kind_of(before) is list:
                after = self.items(item, path_of(expected, name), before, field.type)
            else:
                return self.other()
            self.differ.path.pop()
            if self.unusual or after is before:
                return out
            if type.decoding != MAP and is_omitted(after, field):
                return self.other()
        if out is live:
            out = live.copy()
        out[name] = after
        return out

    cdef object plain(
        self, object item, object before, str name, Field field, SchemaType type
    ):
        """A string, number or boolean as Go decodes it; ABSENT if it does not print it."""
        self.room -= BYTES_A_VALUE + (
            BYTES_A_CHARACTER * len(<str>item) if kind_of(item) is str else 0
        )
        if self.room < 0 or value_problems(item, field.type, False, True) is not None:
            return self.other()
        if type.decoding == MAP:
            return self.decoder.value(item, before, field)
        return self.decoder.member(name, item, before, type)

    cdef dict added(
        self, dict out, dict live, str name, object item, str expected, SchemaType type
    ):
        """``out`` with the member ``name``, which was not there before."""
        cdef Field field = type.extra if type.decoding == MAP else type.fields.get(name)
        cdef object after
        if field is None:
            return self.other()
        if is_plain(kind_of(item)):
            after = self.plain(item, ABSENT, name, field, type)
        else:
            if type.decoding == MAP or kind_of(item) is not StructValue:
                return self.other()
            self.room -= value_bytes(item, ROOM)
            if self.room < 0:
                return self.other()
            try:
                converted = inner_of(item, path_of(expected, name), self.sources)
            except ConversionError:
                return self.other()
            if value_problems(converted, field.type, False, True) is not None:
                return self.other()
            after = self.decoder.member(name, converted, ABSENT, type)
        if self.unusual or after is ABSENT:
            return out
        path = f"{pointer_of(self.differ.path)}/{escape(name)}"
        self.differ.operations.append({"op": "add", "path": path, "value": after})
        if out is live:
            out = live.copy()
        out[name] = after
        return out

    cdef list items(self, list given, str expected, list live, SchemaType type):
        """The items of a list of which each is given, under the same key and in the same order."""
        cdef list out = live
        cdef Py_ssize_t at
        if not self.same_items(given, live, type):
            return self.other()
        for at in range(len(live)):
            before = live[at]
            self.differ.path.append(at)
            after = self.struct(given[at], expected, before, type.item.type)
            self.differ.path.pop()
            if self.unusual:
                return None
            if after is not before:
                if out is live:
                    out = live[:]
                out[at] = after
        return out

    cdef bint same_items(self, list given, list live, SchemaType type):
        cdef Py_ssize_t at
        cdef str key
        cdef list names = []
        if not type.is_list or type.relation != KEYED or len(type.keys) != 1:
            return False
        if len(given) != len(live) or len(live) > 16:
            return False
        key = type.keys[0]
        default = type.key_defaults.get(key)
        for at in range(len(live)):
            if kind_of(given[at]) is not StructValue or kind_of(live[at]) is not dict:
                return False
            name = (<dict>live[at]).get(key)
            wanted = (<StructValue>given[at]).fields.get(key)
            if kind_of(name) is not str or not <str>name or name == default:
                return False
            # A name that comes twice is no key.
            if kind_of(wanted) is not str or name != wanted or name in names:
                return False
            names.append(name)
        return True
