"""Applies overlays: the merge of server-side apply, and conditions, expressions and removals.

``policyd.mutation.overlays.binding`` creates a tree of changes, bound to one kind, when a policy is
loaded. The tree and the objects it is applied to are immutable: the result shares unchanged values
with the input. ``overlay_lists`` has the changes of lists.
"""

cimport cython

from policyd._core.values.activation cimport activation
from policyd._core.values.overlay_json cimport NO_VALUE, json_of, string_for, without_nulls
from policyd._core.schema.list_items cimport ABSENT, item_key
from policyd._core.schema.problems cimport value_problems
from policyd._core.schema.edits cimport Edit, new_edit
from policyd._core.json.encoded_size cimport value_bytes
from policyd._core.plan.overlay_lists cimport ItemChange, ListChange
from policyd._core.plan.overlay_run cimport OverlayExpression, replaced
from policyd._core.plan.plan cimport PER_CALL_LIMIT
from policyd._core.schema.types cimport ATOMIC, Field, SchemaType, kind_of
from policyd._core.system.c_stack cimport descend

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
    """``${...}`` alone: the value of the expression is merged as if it were a literal."""
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

    ``empty``: the overlay has ``{}``, which is written if there is no map.
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
    """A whole overlay. ``expressions`` is their number."""
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


def settled(value):
    #: (Any) -> Any
    """A constant of an overlay as it is written into objects: without null keys."""
    return without_nulls(value)
