"""Applies valid values of mutation expressions: most set a few fields of the object and of its
lists' items.
"""

cimport cython

from policyd._core.json.sizes cimport value_bytes
from policyd._core.patch.containers cimport segments
from policyd._core.patch.json_patch cimport PatchOperation, apply, operations_in
from policyd._core.schema.merge cimport Edit, merge_value, new_edit
from policyd._core.schema.list_items cimport ABSENT
from policyd._core.schema.problems cimport value_problems
from policyd._core.schema.types cimport KEYED, MAP, STRUCT, SchemaType, kind_of
from policyd._core.values.mutation_json cimport inner_of, path_of
from policyd._core.values.types cimport StructValue

from policyd._core.schema.list_items import MergeError
from policyd._core.values.mutation_json import ConversionError


cdef class DirectMutator:
    """The direct form of one kind of mutation. The general form (``policyd.mutation.kind.Mutator``)
    reports errors.
    """

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        """The changed object, not yet decoded, or ``obj`` itself; notes the changes in ``edits``.
        None: the general form must apply the value. Raises MutationError.
        """
        raise TypeError(f"{type(self).__name__} applies nothing")


@cython.final
cdef class DirectPatch(DirectMutator):
    """A list of JSONPatch{...}."""

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        cdef list operations
        if type(value) is not list:
            return None
        operations = operations_in(value, sources, None)
        after = apply(operations, obj)
        if after is obj:
            return obj
        if type(after) is not dict or "metadata" not in <dict>after:
            return None
        if not keeps(after, obj, "kind") or not keeps(after, obj, "apiVersion"):
            return None
        edits.latest = edit_of(operations, obj)
        return after


cdef Edit edit_of(list operations, dict obj):
    """The change of a patch that sets one key of a map; None: not known."""
    cdef PatchOperation operation
    cdef tuple steps
    cdef dict container = obj
    cdef Py_ssize_t at
    cdef Edit edit
    if len(operations) != 1:
        return None
    operation = operations[0]
    steps = segments(operation.path)
    if operation.op != "add" or not steps:
        return None
    for at in range(len(steps) - 1):
        below = container.get(steps[at])
        if type(below) is not dict:
            return None
        container = <dict>below
    name = steps[len(steps) - 1]
    edit = new_edit(name, name not in container, None, None)
    for at in range(len(steps) - 2, -1, -1):
        edit = new_edit(steps[at], False, edit, None)
    return edit


cdef bint keeps(dict after, dict before, str name) except -1:
    one, other = after.get(name), before.get(name)
    return one is other or kind_of(one) is str and kind_of(other) is str and one == other


@cython.final
cdef class DirectConfiguration(DirectMutator):
    """An Object{...}."""

    def __cinit__(self):
        self.merges = True

    cdef object applied(self, object value, dict obj, Field root, ReadTrees sources, Edits edits):
        if type(value) is not StructValue:
            return None
        return configured(<StructValue>value, obj, root, sources, edits)


cdef enum:
    ROOM = 500_000  # bytes of JSON; the general form counts values that may be larger first
    BYTES_A_CHARACTER = 6  # of a string in JSON, at most
    BYTES_A_VALUE = 32  # of a number, and of quotes and separators


class _NotDirect(Exception):
    """The general form must apply the value."""


cdef dict configured(StructValue value, dict live, Field root, ReadTrees sources, Edits edits):
    """Merge a value into ``live``: the new object, not yet decoded, or ``live`` itself; notes the
    changes in ``edits``. None if something is wrong, which the general form reports.
    """
    cdef _Configured change = _Configured.__new__(_Configured)
    cdef dict fields = value.fields
    change.edits, change.sources, change.room = edits, sources, ROOM
    # The object keeps its kind, whatever the value declares.
    if "kind" in fields or "apiVersion" in fields:
        fields = {name: item for name, item in fields.items() if name not in ("kind", "apiVersion")}
    try:
        return change.members(fields, value.type_name, live, root.type)
    except (_NotDirect, ConversionError, MergeError):
        return None


cdef bint is_scalar(object kind):
    return kind is str or kind is bool or kind is int


@cython.final
cdef class _Configured:
    """One change. Merges fields of structs and entries of maps in place, also in the items of a
    list that the value names in list order. Converts all other values and then merges them.
    """
    cdef Edits edits
    cdef ReadTrees sources
    cdef Py_ssize_t room    # bytes that the value may still have

    cdef dict struct(self, StructValue value, str expected, dict live, SchemaType type):
        if value.type_name != expected or type.decoding != STRUCT:
            raise _NotDirect
        return self.members(value.fields, expected, live, type)

    cdef dict members(self, dict given, str expected, dict live, SchemaType type):
        """The members of a struct or map after the change; ``live`` itself if nothing changes."""
        cdef dict out = live
        cdef Field field
        cdef Edit last = None
        if not type.is_map or type.atomic:
            raise _NotDirect
        for name, item in given.items():
            if kind_of(name) is not str:
                raise _NotDirect
            before = live.get(name, ABSENT)
            kind = kind_of(item)
            if kind is kind_of(before) and is_scalar(kind) and item == before:
                continue
            field = type.extra if type.decoding == MAP else type.fields.get(name)
            if field is None:
                raise _NotDirect
            self.edits.latest = None
            after = self.member(name, item, before, expected, field, type)
            if after is before:
                continue
            if out is live:
                out = live.copy()
            out[name] = after
            last = new_edit(name, before is ABSENT, self.edits.take(), last)
        self.edits.latest = last
        return out

    cdef object member(
        self, str name, object item, object before, str expected, Field field, SchemaType type
    ):
        """The new value of a member whose value is ``before``."""
        cdef object kind = kind_of(item), place
        if is_scalar(kind):
            self.check(
                item,
                BYTES_A_VALUE + (BYTES_A_CHARACTER * len(<str>item) if kind is str else 0),
                field,
            )
            return item
        if kind_of(before) is dict:
            place = path_of(expected, name)
            if kind is StructValue:
                return self.struct(item, place, before, field.type)
            if kind is dict and field.type.decoding == MAP:
                return self.members(item, place, before, field.type)
        elif kind is list and kind_of(before) is list and same_items(item, before, field.type):
            return self.items(item, path_of(expected, name), before, field.type)
        if type.decoding == MAP:
            raise _NotDirect
        after = self.converted(name, item, expected)
        self.check(after, value_bytes(item, ROOM), field)
        return after if before is ABSENT else merge_value(before, after, field.type, self.edits)

    cdef object converted(self, str name, object item, str expected):
        """The JSON value of a field of a struct."""
        cdef StructValue alone
        if kind_of(item) is StructValue:
            return inner_of(item, path_of(expected, name), self.sources)
        alone = StructValue.__new__(StructValue)
        alone.type_name, alone.fields = expected, {name: item}
        return inner_of(alone, expected, self.sources)[name]

    cdef int check(self, object value, Py_ssize_t size, Field field) except -1:
        self.room -= size
        if self.room < 0 or value_problems(value, field.type, False, True) is not None:
            raise _NotDirect
        return 0

    cdef list items(self, list given, str expected, list live, SchemaType type):
        """The items of a list if the value names each of them, by the same keys in the same order.
        """
        cdef list out = live
        cdef Edit last = None
        cdef Py_ssize_t at
        for at in range(len(live)):
            before = live[at]
            self.edits.latest = None
            after = self.struct(given[at], expected, before, type.item.type)
            if after is not before:
                if out is live:
                    out = live[:]
                out[at] = after
                last = new_edit(at, False, self.edits.take(), last)
        self.edits.latest = last
        return out


cdef bint same_items(list given, list live, SchemaType type):
    cdef Py_ssize_t at
    cdef str key
    cdef set names = set()
    if not type.is_list or type.relation != KEYED or len(type.keys) != 1:
        return False
    if len(given) != len(live):
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
        # A repeated name identifies no item.
        if kind_of(wanted) is not str or name != wanted or name in names:
            return False
        names.add(name)
    return True
