"""Applies overlays: the merge of server-side apply, and conditions, expressions and removals."""

cimport cython

from policyd._core.values.activation cimport activation
from policyd._core.values.activation cimport work as spend
from policyd._core.values.errors cimport CelError
from policyd._core.json.equality cimport same
from policyd._core.values.overlay_json cimport NO_VALUE, json_of, string_for, without_nulls
from policyd._core.schema.merge cimport (
    ABSENT, in_front, item_key, keys_of, of_items, pairing, same_items, value_problems,
)
from policyd._core.schema.edits cimport Edit, new_edit
from policyd._core.json.encoded_size cimport value_bytes
from policyd._core.pattern.checks cimport HOLDS, Pattern
from policyd._core.plan.plan cimport PER_CALL_LIMIT, POLICY_BUDGET, error_message, run
from policyd._core.schema.types cimport ATOMIC, Field, kind_of
from policyd._core.system.c_stack cimport descend

from policyd._core.json import encoded_size

cdef enum:
    ITEM = 10  # units of work (10 ns) per item of a list where all items are checked


class OverlayError(Exception):
    """The overlay cannot be applied. The message says where and why."""


@cython.final
@cython.auto_pickle(False)
cdef class OverlayRun:

    def __cinit__(self):
        self.budget = POLICY_BUDGET
        self.room = encoded_size.MAX_PATCH_BYTES

    cdef int write(self, object value) except -1:
        self.room -= value_bytes(value, self.room)
        if self.room < 0:
            raise OverlayError(f"its expressions make {encoded_size.TOO_LARGE}")
        return 0


cdef OverlayRun overlay_run(BoundOverlay overlay, int64_t deadline, Edits edits):
    cdef OverlayRun work = OverlayRun()
    work.edits = edits
    work.conditions_activation = activation(0, PER_CALL_LIMIT, deadline)
    work.values = [ABSENT] * overlay.expressions
    return work


@cython.final
@cython.auto_pickle(False)
cdef class OverlayExpression:
    def __init__(self, Program program not None, number):
        self.program = program
        self.number = number

    cdef object value(self, OverlayRun work):
        value = work.values[self.number]
        if value is ABSENT:
            value = self.sound(run(self.program, work.activation, &work.budget))
            work.values[self.number] = value
        return value

    cdef object sound(self, object value):
        if type(value) is CelError:
            raise OverlayError(error_message(self.program, value))
        return value


@cython.final
@cython.auto_pickle(False)
cdef class OverlayScope:
    def __init__(self, conditions=()):
        self.conditions = tuple(conditions)

    cdef bint holds(self, object value, OverlayRun work) except -1:
        """Whether all conditions hold. A missing map is treated as an empty map."""
        cdef Pattern pattern
        for path, pattern in self.conditions:
            place = value
            for name in <tuple>path:
                place = (<dict>place).get(name) if kind_of(place) is dict else None
            place = place if kind_of(place) is dict else {}
            if pattern.test(place, work.conditions_activation) != HOLDS:
                return False
        return True


@cython.auto_pickle(False)
cdef class OverlayChange:
    cdef object merged(self, object live, OverlayRun work):
        raise TypeError("a change without merged")


@cython.final
@cython.auto_pickle(False)
cdef class FixedChange(OverlayChange):
    def __init__(self, value):
        self.value = value

    cdef object merged(self, object live, OverlayRun work):
        return replaced(live, self.value)


@cython.final
@cython.auto_pickle(False)
cdef class RemovalChange(OverlayChange):
    cdef object merged(self, object live, OverlayRun work):
        return ABSENT


@cython.final
@cython.auto_pickle(False)
cdef class ComputedChange(OverlayChange):
    def __init__(
        self, OverlayExpression expression not None, SchemaType type not None, str path not None
    ):
        self.expression = expression
        self.type = type
        self.path = path

    cdef object merged(self, object live, OverlayRun work):
        value = self.expression.value(work)
        if value_bytes(value, work.room) > work.room:
            work.write(value)  # before it is converted
        value = self.expression.sound(json_of(value))
        if value is NO_VALUE:
            return live
        check(value, self.type, self.path)
        after = change_of(value, self.type).merged(live, work)
        if after is not live:
            work.write(value)
        return after


@cython.final
@cython.auto_pickle(False)
cdef class StringChange(OverlayChange):
    def __init__(self, parts, SchemaType type not None, str path not None):
        self.parts = tuple(parts)
        self.type = type
        self.path = path

    cdef object merged(self, object live, OverlayRun work):
        cdef list words = []
        cdef OverlayExpression expression
        for part in self.parts:
            if kind_of(part) is str:
                words.append(part)
                continue
            expression = <OverlayExpression>part
            words.append(expression.sound(string_for(expression.value(work))))
        value = "".join(words)
        check(value, self.type, self.path)
        after = replaced(live, value)
        if after is not live:
            work.write(value)
        return after


@cython.final
@cython.auto_pickle(False)
cdef class MapChange(OverlayChange):
    def __init__(self, names, changes, added=(), *, empty=False):
        self.names = tuple(names)
        self.changes = tuple(changes)
        self.added = tuple([name in added for name in self.names])
        self.empty = empty

    cdef object merged(self, object live, OverlayRun work):
        cdef dict before = <dict>live if kind_of(live) is dict else {}
        cdef dict out = before
        cdef Edit edit = None
        cdef Py_ssize_t index
        for index in range(len(self.names)):
            name = self.names[index]
            was = before.get(name, ABSENT)
            if was is not ABSENT and was is not None and self.added[index]:
                continue
            work.edits.latest = None
            after = (<OverlayChange>self.changes[index]).merged(was, work)
            if after is was:
                continue
            if edit is None:
                out = dict(before)
            edit = new_edit(name, was is ABSENT, work.edits.take(), edit)
            if after is ABSENT:
                del out[name]
            else:
                out[name] = after
        work.edits.latest = edit if kind_of(live) is dict else None
        if out is not before or kind_of(live) is dict:
            return out
        return {} if self.empty else live


@cython.final
@cython.auto_pickle(False)
cdef class ItemChange(OverlayChange):
    def __init__(self, OverlayChange change not None, key=None):
        self.change = change
        self.key = key

    cdef object merged(self, object live, OverlayRun work):
        return self.change.merged(live, work)


cdef object key_of(ItemChange item, SchemaType type, OverlayRun work):
    """The key; ABSENT if there is no item because its expression has no value."""
    if item.key is not None:
        return item.key
    made = item.change.merged(ABSENT, work)
    return ABSENT if made is ABSENT else item_key(made, type)


@cython.final
@cython.auto_pickle(False)
cdef class EachItemChange:
    def __init__(self, OverlayScope scope not None, OverlayChange change, ItemChange key=None):
        self.scope = scope
        self.change = change
        self.key = key

    cdef list applied(self, list items, SchemaType type, OverlayRun work):
        cdef list out = []
        cdef Edit edit = None
        key = ABSENT if self.key is None else key_of(self.key, type, work)
        for item in items:
            spend(work.conditions_activation, ITEM)
            if kind_of(item) is dict and self.scope.holds(item, work) and (
                self.key is None or item_key(item, type) == key
            ):
                if self.change is None:
                    continue
                work.edits.latest = None
                after = self.change.merged(item, work)
                if after is not item:
                    edit = new_edit(len(out), False, work.edits.take(), edit)
                    item = after
            out.append(item)
        # Without a change, items are removed.
        work.edits.latest = None if self.change is None else of_items(edit, items, out, type)
        return items if same_items(items, out) else out


@cython.final
@cython.auto_pickle(False)
cdef class ListChange(OverlayChange):
    def __init__(
        self, SchemaType type not None, items=(), removed=(), each=(), path="", prepends=False
    ):
        self.type = type
        self.items = tuple(items)
        self.removed = tuple(removed)
        self.each = tuple(each)
        self.path = path
        self.prepends = prepends

    cdef object merged(self, object live, OverlayRun work):
        cdef list before = <list>live if kind_of(live) is list else []
        cdef list out = before
        cdef EachItemChange each
        cdef Edit edit = None
        if self.items or self.removed:
            out = self.keyed(before, work)
        for each in self.each:
            after = each.applied(out, self.type, work)
            if after is not out:
                # An Edit is of one change.
                edit = work.edits.take() if out is before else None
                out = after
        work.edits.latest = edit if kind_of(live) is list else None
        if out is not before or kind_of(live) is list:
            return out
        return live if self.items or self.removed or self.each else []

    cdef list keyed(self, list live, OverlayRun work):
        cdef list keys = keys_of(live, self.type)
        cdef list items = [], wanted = [], out = [], pairs
        cdef Py_ssize_t at, to
        cdef ItemChange item
        cdef list kept = live
        if self.removed:
            gone = {key_of(item, self.type, work) for item in self.removed}
            kept = [each for key, each in zip(keys, live) if key not in gone]
            keys = [key for key in keys if key not in gone]
        for item in self.items:
            key = key_of(item, self.type, work)
            if key is ABSENT:
                continue
            if key in wanted:
                raise OverlayError(f"{self.path}: two items of the overlay have the same key")
            items.append(item)
            wanted.append(key)
        pairs = in_front(keys, wanted) if self.prepends else pairing(keys, wanted)
        for at, to in pairs:
            if to < 0:
                out.append(kept[at])
            else:
                item = items[to]
                out.append(item.change.merged(ABSENT if at < 0 else kept[at], work))
        return live if same_items(live, out) else out


@cython.final
@cython.auto_pickle(False)
cdef class WholeListChange(OverlayChange):
    def __init__(self, items, *, appends=False, prepends=False):
        self.items = tuple(items)
        self.appends = appends
        self.prepends = prepends

    cdef object merged(self, object live, OverlayRun work):
        cdef bint adds = self.appends or self.prepends
        cdef list before = <list>live if adds and kind_of(live) is list else []
        cdef list new = []
        cdef OverlayChange item
        for item in self.items:
            value = item.merged(ABSENT, work)
            if value is ABSENT:
                continue
            if not adds or not (has_item(before, value, work) or has_item(new, value, work)):
                new.append(value)
        if adds and not new:
            return live
        return replaced(live, new + before if self.prepends else before + new)


cdef bint has_item(list items, object value, OverlayRun work) except -1:
    for item in items:
        spend(work.conditions_activation, ITEM)
        if same(item, value, True, 0):
            return True
    return False


@cython.final
@cython.auto_pickle(False)
cdef class BoundOverlay:
    def __init__(self, OverlayScope scope not None, OverlayChange change not None, expressions=0):
        self.scope = scope
        self.change = change
        self.expressions = expressions

    cdef object applied(self, object obj, OverlayRun work):
        return self.change.merged(obj, work) if self.scope.holds(obj, work) else obj

    def apply(self, dict obj not None):
        """Apply an overlay without expressions."""
        return self.applied(obj, overlay_run(self, 0, Edits()))


cdef object replaced(object live, object value):
    return live if same(live, value, True, 0) else value


# Values of expressions.

cdef int check(object value, SchemaType type, str path) except -1:
    found = value_problems(value, type, False, False)
    if found is not None:
        below, message = found[0]
        raise OverlayError(f"{path}{below}: {message}")
    return 0


cdef OverlayChange change_of(object value, SchemaType type):
    """The change of an overlay that contains this value."""
    cdef Field field
    cdef list changes
    if value is None:
        return RemovalChange()
    descend()
    if kind_of(value) is dict and type.is_map:
        changes = []
        for name, member in (<dict>value).items():
            field = type.fields.get(name, type.extra)
            changes.append(change_of(member, field.type))
        return MapChange(value, changes, empty=not value)
    if kind_of(value) is list and type.is_list and type.relation != ATOMIC:
        changes = [
            ItemChange(change_of(item, type.item.type), item_key(item, type))
            for item in <list>value
        ]
        return ListChange(type, changes)
    return FixedChange(without_nulls(value))


def settled(value):
    """A constant of an overlay as it is written into objects: without null keys."""
    return without_nulls(value)


def key_in(item, SchemaType type not None):
    """The merge key of an item of a list of this type. Raises MergeError."""
    return item_key(item, type)
