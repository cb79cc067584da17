"""Applies overlays: the merge of server-side apply, and conditions, expressions and removals.

``policyd.mutation.overlays.binding`` creates a tree of changes, bound to one kind, when a policy is
loaded. The tree and its input are immutable: the result shares unchanged values with the input.
Lists change by key, item by item, or as a whole.
"""

cimport cython

from policyd._core.json.sizes cimport value_bytes
from policyd._core.json.equality cimport same
from policyd._core.plan.overlay_run cimport OverlayExpression, OverlayScope, replaced
from policyd._core.plan.plan cimport PER_CALL_LIMIT
from policyd._core.schema.merge cimport Edit, new_edit, of_items
from policyd._core.schema.list_items cimport (
    ABSENT, in_front, item_key, keys_of, pairing, same_items,
)
from policyd._core.schema.problems cimport value_problems
from policyd._core.schema.types cimport ATOMIC, Field, SchemaType, kind_of
from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport activation, work as spend
from policyd._core.values.overlay_json cimport NO_VALUE, json_of, string_for, without_nulls

from policyd._core.plan.overlay_run import OverlayError

#: from policyd._core.plan.overlay_run import OverlayChange, OverlayExpression, OverlayScope
#: from policyd._core.schema.types import SchemaType


@cython.final
cdef class FixedChange(OverlayChange):
    """A value that replaces the live value."""
    cdef object value

    def __init__(self, value):
        #: (Any) -> None
        self.value = value

    cdef object merged(self, object live, OverlayRun work):
        return replaced(live, self.value)


@cython.final
cdef class RemovalChange(OverlayChange):
    """``null``: removes the live value."""
    cdef object merged(self, object live, OverlayRun work):
        return ABSENT


@cython.final
cdef class ComputedChange(OverlayChange):
    """``${...}`` alone: merges the value of the expression like a literal."""
    cdef OverlayExpression expression
    cdef SchemaType type
    cdef str path

    def __init__(
        self, OverlayExpression expression not None, SchemaType type not None, str path not None
    ):
        #: (OverlayExpression, SchemaType, str) -> None
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
cdef class StringChange(OverlayChange):
    """A string with ``${...}`` inside; ``parts`` are strings and expressions."""
    cdef tuple parts
    cdef SchemaType type
    cdef str path

    def __init__(self, parts, SchemaType type not None, str path not None):
        #: (Iterable[str | OverlayExpression], SchemaType, str) -> None
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
cdef class MapChange(OverlayChange):
    """Keys that are merged one by one. ``added``: only if the key is missing (or null).

    ``empty``: the overlay has ``{}``, which is written if the object has no map.
    """
    cdef tuple names
    cdef tuple changes
    cdef tuple added
    cdef bint empty

    def __init__(self, names, changes, added=(), *, empty=False):
        #: (Iterable[str], Iterable[OverlayChange], Collection[str], bool) -> None
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
cdef class BoundOverlay:
    """A whole overlay. ``expressions`` is the number of its expressions."""
    def __init__(self, OverlayScope scope not None, OverlayChange change not None, expressions=0):
        #: (OverlayScope, OverlayChange, int) -> None
        self.scope = scope
        self.change = change
        self.expressions = expressions

    cdef object applied(self, object obj, OverlayRun work):
        return self.change.merged(obj, work) if self.scope.holds(obj, work) else obj

    def apply(self, dict obj not None):
        #: (dict[str, Any]) -> dict[str, Any]
        """Apply an overlay without expressions."""
        return self.applied(obj, run_of(self, 0, Edits()))


cdef OverlayRun run_of(BoundOverlay overlay, int64_t deadline, Edits edits):
    cdef OverlayRun work = OverlayRun()
    work.edits = edits
    work.conditions_activation = activation(0, PER_CALL_LIMIT, deadline)
    work.values = [ABSENT] * overlay.expressions
    return work


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


cdef enum:
    ITEM = 10  # units of work (10 ns) per item of a list where all items are checked


@cython.final
cdef class ItemChange(OverlayChange):
    """An item of a list, found by its merge key and added if it is missing.

    ``key`` is None if it contains an expression: then the new item's key is used.
    """
    cdef OverlayChange change
    cdef object key

    def __init__(self, OverlayChange change not None, key=None):
        #: (OverlayChange, Any) -> None
        self.change = change
        self.key = key

    cdef object merged(self, object live, OverlayRun work):
        return self.change.merged(live, work)


cdef object key_of(ItemChange item, SchemaType type, OverlayRun work):
    """The key; ABSENT if its expression has no value, so that there is no item."""
    if item.key is not None:
        return item.key
    made = item.change.merged(ABSENT, work)
    return ABSENT if made is ABSENT else item_key(made, type)


@cython.final
cdef class EachItemChange:
    """A change of every item that fulfils the conditions and has the key, if given."""
    cdef OverlayScope scope
    cdef OverlayChange change      # None: removes the items
    cdef ItemChange key

    def __init__(self, OverlayScope scope not None, OverlayChange change, ItemChange key=None):
        #: (OverlayScope, OverlayChange | None, ItemChange | None) -> None
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
        # An entry without a change removes the items.
        work.edits.latest = None if self.change is None else of_items(edit, items, out, type)
        return items if same_items(items, out) else out


@cython.final
cdef class ListChange(OverlayChange):
    """A list whose items change one by one: first ``items`` by key, then ``each``.

    ``removed`` has the keys of items to remove. ``prepends``: new items go before the live items,
    not after them.
    """
    cdef SchemaType type
    cdef tuple items
    cdef tuple removed
    cdef tuple each
    cdef str path
    cdef bint prepends

    def __init__(
        self, SchemaType type not None, items=(), removed=(), each=(), path="", prepends=False
    ):
        #: (SchemaType, Iterable[ItemChange], Iterable[ItemChange], Iterable[EachItemChange], str,
        #: bool) -> None
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
                # An Edit describes a single change.
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
cdef class WholeListChange(OverlayChange):
    """A list with expressions that replaces the whole live list.

    ``appends``: its items are added at the end instead, unless the live list has an equal one;
    ``prepends``: likewise at the beginning.
    """
    cdef tuple items
    cdef bint appends
    cdef bint prepends

    def __init__(self, items, *, appends=False, prepends=False):
        #: (Iterable[OverlayChange], bool, bool) -> None
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
