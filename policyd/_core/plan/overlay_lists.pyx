"""How overlays change lists: items by key, every item, or the list as a whole."""

cimport cython

from policyd._core.values.activation cimport work as spend
from policyd._core.json.equality cimport same
from policyd._core.schema.edits cimport Edit, new_edit
from policyd._core.schema.list_items cimport (
    ABSENT, in_front, item_key, keys_of, pairing, same_items,
)
from policyd._core.schema.merge cimport of_items
from policyd._core.schema.types cimport kind_of
from policyd._core.plan.overlay_run cimport OverlayScope, replaced

from policyd._core.plan.overlay_run import OverlayError

#: from policyd._core.plan.overlay_run import OverlayChange, OverlayScope
#: from policyd._core.schema.types import SchemaType

cdef enum:
    ITEM = 10  # units of work (10 ns) per item of a list where all items are checked


@cython.final
cdef class ItemChange(OverlayChange):
    """An item of a list, found by its merge key and added if it is missing.

    ``key`` is None if it contains an expression: the key is then that of the new item.
    """
    def __init__(self, OverlayChange change not None, key=None):
        #: (OverlayChange, Any) -> None
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
cdef class EachItemChange:
    """A change of every item for which the conditions hold and which has the key, if given."""
    cdef OverlayScope scope
    cdef OverlayChange change      # None: the items are removed
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
        # Without a change, items are removed.
        work.edits.latest = None if self.change is None else of_items(edit, items, out, type)
        return items if same_items(items, out) else out


@cython.final
cdef class ListChange(OverlayChange):
    """A list whose items are changed one by one: first ``items`` by key, then ``each``.

    ``removed`` are items to remove, with their keys only. ``prepends``: new items go before those
    of the live list, not after them.
    """
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
cdef class WholeListChange(OverlayChange):
    """A list with expressions that replaces the live list as a whole.

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


def key_in(item, SchemaType type not None):
    #: (Any, SchemaType) -> Any
    """The merge key of an item of a list of this type. Raises MergeError."""
    return item_key(item, type)
