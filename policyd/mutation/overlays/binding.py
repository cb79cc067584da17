"""Bind an overlay to one kind: turn its tree and the kind's schema into the changes of
``_core.overlay``. Values that do not fit the schema are reported with their place.

Items of lists are found by key or by conditions, or added at the end or the beginning; other lists
are replaced as a whole.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from policyd._core.json.shared_keys import shared_key
from policyd._core.plan.overlay import (
    BoundOverlay,
    ComputedChange,
    EachItemChange,
    FixedChange,
    ItemChange,
    ListChange,
    MapChange,
    RemovalChange,
    StringChange,
    WholeListChange,
)
from policyd._core.plan.overlay_run import OverlayChange, OverlayScope
from policyd._core.schema.decode import DecodeError, decode
from policyd._core.schema.list_items import MergeError, item_key
from policyd._core.schema.types import Field, Relation, Scalar, SchemaType
from policyd._core.values.overlay_json import without_nulls
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import APPEND, PREPEND, REPLACE
from policyd.mutation.overlays.tree import (
    Conditions,
    List,
    Map,
    Nothing,
    OverlayLeaf,
    OverlayNode,
    Template,
    conditions,
    written_value,
)
from policyd.mutation.overlays.types import (
    expectation,
    fits,
    fits_expression,
    in_words,
    misfit_hint,
)
from policyd.mutation.schemas.schemas import KindSchema
from policyd.pattern.faults import Fault

_IDENTITY = ("apiVersion", "kind")
_REPLACED = "the items of this list have no keys: it is replaced as a whole"
_NEW = "the items of this list are new: there is nothing to look at"
_ALL_OR_NONE = "give all of its items conditions, or none"


def bind(
    tree: Map, schema: KindSchema, expressions: int, guards: Conditions
) -> tuple[BoundOverlay, list[Fault]]:
    """Return the overlay for objects of one kind; unusable if there are faults.

    ``expressions`` counts its expressions; ``guards`` are extra conditions of the whole overlay.
    """
    binder = Binder(schema.root.type, schema.native)
    for member in tree.members:
        if member.name in _IDENTITY:
            message = f"an overlay cannot change the {member.name} of an object"
            hint = f"write ({member.name}) for a condition"
            binder.faults.append(Fault(member.path, message, hint, at_key=True))
    change = binder.change(tree, schema.root, "")
    return BoundOverlay(
        OverlayScope([*guards, *conditions(tree)]), change, expressions
    ), binder.faults


@dataclass(slots=True)
class Binder:
    """Turns nodes into changes of a ``root``. ``native``: prints constants as its Go type does."""

    root: SchemaType
    native: bool
    faults: list[Fault] = field(default_factory=list)

    def change(self, node: OverlayNode, at: Field, where: str) -> OverlayChange:
        """Return the change of a node; ``where`` is for messages about requests."""
        match node:
            case Template():
                return self._template(node, at.type, where)
            case OverlayLeaf(value=None):
                return RemovalChange()
            case Nothing():
                return MapChange((), ())
            case OverlayLeaf():
                if not fits(node.value, at.type):
                    self.unfit(node.path, at.type, in_words(node.value), node.value)
                    return RemovalChange()
                return self.constant(node.value, at, node.path)
            case Map() if at.type.is_map:
                return self._map(node, at.type, where)
            case List() if at.type.is_list:
                return _list(self, node, at, where)
        if isinstance(node, Map):
            self.unfit(node.path, at.type, "a map", {})
        else:
            self.unfit(node.path, at.type, "a list")
        return RemovalChange()

    def unfit(self, path: FieldPath, wanted: SchemaType, found: str, value: object = None) -> None:
        """Report that ``found`` does not fit the type."""
        hint = misfit_hint(value, wanted)
        self.faults.append(Fault(path, f"expected {expectation(wanted)}, got {found}", hint))

    def constant(self, value: object, at: Field, path: FieldPath) -> OverlayChange:
        """Return a value without expressions as the API server stores it, so that both compare
        equal.
        """
        if self.native:
            try:
                value = decode(value, None, at, convert=True)
            except DecodeError as error:
                self.faults.append(Fault(path, f"Invalid value: {error}"))
        return FixedChange(without_nulls(value))

    def _template(self, node: Template, wanted: SchemaType, where: str) -> OverlayChange:
        first, *more = node.parts
        if node.type is not None and not isinstance(first, str) and not more:
            if not fits_expression(node.type, wanted):
                found = f"{node.type} of the expression"
                text = wanted.scalar == Scalar.STRING
                hint = "make it a string: ${string(...)}" if text else ""
                message = f"expected {expectation(wanted)}, got {found}"
                self.faults.append(Fault(node.path, message, hint))
            return ComputedChange(first, wanted, where)
        if not fits("", wanted):
            self.unfit(node.path, wanted, "a text with an expression in it")
        return StringChange(node.parts, wanted, where)

    def _map(self, node: Map, kind: SchemaType, where: str) -> OverlayChange:
        if node.deleted:
            hint = f"to remove it write {where.rpartition('.')[2]}: null"
            hint = hint if where else "an overlay cannot delete an object"
            message = "only an item of a list can be deleted"
            self.faults.append(Fault((*node.path, "$patch"), message, hint, at_key=True))
        names, changes = [], []
        for member in node.members:
            below = kind.fields.get(member.name, kind.extra)
            if below is None:
                self.faults.append(self._unknown(member.path, member.name, kind))
                continue
            names.append(shared_key(member.name))
            at = f"{where}.{member.name}" if where else member.name
            changes.append(self.change(member.node, below, at))
        added = {each.name for each in node.members if each.added}
        return MapChange(names, changes, added, empty=node.empty)

    def _unknown(self, path: FieldPath, name: str, kind: SchemaType) -> Fault:
        # Only for misspelled names.
        from policyd.mutation.schemas.unknown_fields import field_hint

        hint = field_hint(name, kind, self.root)
        return Fault(path, f'unknown field "{name}"', hint, at_key=True)


def _list(binder: Binder, node: List, at: Field, where: str) -> OverlayChange:
    """Return the change of one list; ``at`` has a list type."""
    kind = at.type
    assert kind.item is not None
    if node.directive == REPLACE:
        return _whole(binder, node, at, where)
    if node.directive == APPEND or (node.directive == PREPEND and kind.relation == Relation.ATOMIC):
        return _add(binder, node, kind, kind.item, where)
    if kind.relation == Relation.KEYED:
        return _Keyed(binder, kind, kind.item, where).bind(node)
    if kind.relation == Relation.SET:
        return _set(binder, node, kind, kind.item, where)
    if any(conditions(item) for item in node.items):
        return _conditioned(binder, node, kind, kind.item, where)
    return _whole(binder, node, at, where)


def _whole(binder: Binder, node: List, at: Field, where: str) -> OverlayChange:
    """Bind a list that replaces the object's list."""
    kind = at.type
    assert kind.item is not None
    changes, faults = [], len(binder.faults)
    for index, item in enumerate(node.items):
        _only_values(binder, item)
        changes.append(binder.change(_kept(item), kind.item, f"{where}[{index}]"))
    if _computed(node) or len(binder.faults) > faults:
        return WholeListChange(changes)
    return binder.constant(written_value(node), at, node.path)


def _add(binder: Binder, node: List, kind: SchemaType, item: Field, where: str) -> OverlayChange:
    """Bind items that are added at the end or the beginning of a list, unless it has them."""
    if kind.relation != Relation.ATOMIC:
        keys = " and ".join(kind.keys) or "value"
        message = f"items of this list are found by their {keys}, and added if they are missing"
        binder.faults.append(Fault(node.path, message, "remove $patch: append"))
    changes: list[OverlayChange] = []
    for index, each in enumerate(node.items):
        faults = len(binder.faults)
        _only_values(binder, each)
        change = binder.change(_kept(each), item, f"{where}[{index}]")
        if len(binder.faults) == faults and not _computed(each):
            change = binder.constant(written_value(each), item, each.path)
        changes.append(change)
    return WholeListChange(
        changes, appends=node.directive == APPEND, prepends=node.directive == PREPEND
    )


@dataclass(slots=True)
class _Keyed:
    """A list whose items have merge keys."""

    binder: Binder
    kind: SchemaType
    item: Field
    where: str
    items: list[ItemChange] = field(default_factory=list)
    removed: list[ItemChange] = field(default_factory=list)
    each: list[EachItemChange] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)

    def bind(self, node: List) -> OverlayChange:
        for index, item in enumerate(node.items):
            if not isinstance(item, Map):
                found = "a list" if isinstance(item, List) else "a value without keys"
                self.binder.unfit(item.path, self.item.type, found)
                continue
            self._add(item, f"{self.where}[{index}]")
        return ListChange(
            self.kind,
            self.items,
            self.removed,
            self.each,
            self.where,
            prepends=node.directive == PREPEND,
        )

    def _add(self, node: Map, where: str) -> None:
        keys = {
            each.name: each.node
            for each in node.members
            if each.name in self.kind.keys
            and not (isinstance(each.node, OverlayLeaf) and each.node.value is None)
        }
        scope = conditions(node)
        if not keys and not scope:
            self._keyless(node.path)
            return
        bare = len(keys) == len(node.members)
        if node.deleted and not bare:
            self._report(
                node.path, "an item that is deleted has nothing but its key and conditions"
            )
        elif bare and scope and not node.deleted:
            hint = "a condition on a whole list is written ^(NAME): [...], beside the list"
            self._report(node.path, "the item has conditions but changes nothing", hint)
        change = self.binder.change(_kept(node), self.item, where)
        item = ItemChange(change, self._key(keys, node.path)) if keys else None
        if scope:
            self.each.append(
                EachItemChange(OverlayScope(scope), None if node.deleted else change, item)
            )
        elif item is not None:
            (self.removed if node.deleted else self.items).append(item)

    def _key(self, keys: dict[str, OverlayNode], path: FieldPath) -> Any:
        """Return the key of an item; None if it contains an expression."""
        if any(_computed(node) for node in keys.values()):
            return None
        try:
            key = item_key({name: written_value(node) for name, node in keys.items()}, self.kind)
        except MergeError as error:
            self._report(path, f"Invalid value: {error}")
            return None
        if key in self.seen:
            names = ", ".join(keys)
            self._report(path, f"two items have the same {names}", "write them as one item")
        self.seen.add(key)
        return key

    def _keyless(self, path: FieldPath) -> None:
        names = " and ".join(self.kind.keys)
        key = self.kind.keys[0]
        self._report(
            path,
            f"an item of this list needs its {names}, or a condition",
            f'write {key} for one item, or ({key}): "*" for all of them',
        )

    def _report(self, path: FieldPath, message: str, hint: str = "") -> None:
        self.binder.faults.append(Fault(path, message, hint))


def _set(binder: Binder, node: List, kind: SchemaType, item: Field, where: str) -> OverlayChange:
    """Bind a list of scalars that are their own keys: adds missing items."""
    items: list[ItemChange] = []
    seen: set[Any] = set()
    for index, each in enumerate(node.items):
        if not isinstance(each, OverlayLeaf | Template) or (
            isinstance(each, OverlayLeaf) and each.value is None
        ):
            binder.unfit(each.path, item.type, "what cannot be an item of a set")
            continue
        change = binder.change(each, item, f"{where}[{index}]")
        key = item_key(each.value, kind) if isinstance(each, OverlayLeaf) else None
        if key is not None and key in seen:
            binder.faults.append(Fault(each.path, "two items are the same", "remove one of them"))
        seen.add(key)
        items.append(ItemChange(change, key))
    return ListChange(kind, items, path=where, prepends=node.directive == PREPEND)


def _conditioned(
    binder: Binder, node: List, kind: SchemaType, item: Field, where: str
) -> OverlayChange:
    """Bind a list without keys: changes items that match the conditions in place."""
    found = []
    for index, each in enumerate(node.items):
        scope = conditions(each)
        if not isinstance(each, Map) or not scope:
            binder.faults.append(Fault(each.path, _REPLACED, _ALL_OR_NONE))
            continue
        change = binder.change(_kept(each), item, f"{where}[{index}]")
        found.append(EachItemChange(OverlayScope(scope), None if each.deleted else change))
    return ListChange(kind, each=found, path=where)


def _kept(node: OverlayNode) -> OverlayNode:
    """An item without its ``$patch``."""
    return replace(node, deleted=False) if isinstance(node, Map) else node


def _only_values(binder: Binder, node: OverlayNode) -> None:
    """Report marks in new items, which have no counterpart in the object to match."""
    if isinstance(node, Map):
        if node.condition is not None:
            binder.faults.append(Fault(node.path, _NEW, "write conditions beside the list"))
        if node.deleted:
            binder.faults.append(Fault(node.path, _REPLACED, "leave out what is to go"))
        for member in node.members:
            if member.added:
                hint = f"write {member.name}"
                binder.faults.append(Fault(member.path, _REPLACED, hint, at_key=True))
            _only_values(binder, member.node)
    elif isinstance(node, List):
        if node.directive:
            hint = f"remove $patch: {node.directive}"
            binder.faults.append(Fault(node.path, _NEW, hint))
        for item in node.items:
            _only_values(binder, item)


def _computed(node: OverlayNode) -> bool:
    """Return whether a node contains an expression."""
    if isinstance(node, Map):
        return any(_computed(member.node) for member in node.members)
    if isinstance(node, List):
        return any(_computed(item) for item in node.items)
    return isinstance(node, Template | Nothing)
