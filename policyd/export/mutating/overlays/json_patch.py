"""An overlay as a JSON Patch: operations, each with the condition under which it is needed.

All conditions are about the object before the mutation, as conditions of overlays are. Operations
that remove items of a list come last, from the end, so that indexes stay correct.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from policyd._core.schema.types import Field, Relation
from policyd.export.mutating.overlays import conditions
from policyd.export.mutating.overlays.keyed import MergeKeys
from policyd.export.mutating.overlays.operations import PatchStep, rendered
from policyd.export.mutating.overlays.places import (
    JSONPointer,
    ObjectPlace,
    conjunction,
    disjunction,
    is_always_there,
    negation,
    touched,
)
from policyd.export.mutating.overlays.reading import ReadOverlay, Unsayable
from policyd.export.mutating.overlays.values import ComputedText, Values, has_templates, member_of
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import APPEND, PREPEND, REPLACE
from policyd.mutation.overlays.tree import (
    List,
    Map,
    Nothing,
    OverlayLeaf,
    OverlayNode,
    Template,
)
from policyd.mutation.overlays.tree import conditions as conditions_of
from policyd.mutation.schemas.schemas import KindSchema

ALWAYS, NEVER = "true", ""


def json_patch(overlay: ReadOverlay, schema: KindSchema, *, lenient: bool) -> str:
    """Return the expression of a JSONPatch mutation for objects of one kind. Raises Unsayable."""
    values = Values(overlay, native=schema.native, lenient=lenient)
    root = ObjectPlace("object", JSONPointer(), schema.native)
    found = [*overlay.guards, *conditions_of(overlay.tree)]
    when = conditions.holds(found, root, schema.root)
    change = _Changes(values, overlay.empty).of(overlay.tree, schema.root, root)
    if not change.operations:
        raise Unsayable(overlay.tree.path, "it changes nothing")
    return rendered(when, change.operations)


@dataclass(frozen=True, slots=True)
class PatchChange:
    """Operations, and the condition under which they make a value where there is nothing."""

    operations: tuple[PatchStep, ...] = ()
    creates: str = NEVER


class _Changes:
    def __init__(self, values: Values, empty: Collection[tuple[str, ...]]) -> None:
        self._values = values
        self._empty = empty

    def of(self, node: OverlayNode, at: Field, place: ObjectPlace) -> PatchChange:
        """Return the change that a node makes at a place."""
        node = self._values.resolved(node)
        match node:
            case Nothing():
                return PatchChange()
            case OverlayLeaf(value=None):
                return self._removal(node, place)
            case Template():
                return self._computed(node, at, place)
            case OverlayLeaf():
                return self._set(node, at, place)
            case Map():
                return self._map(node, at, place)
            case List():
                return self._list(node, at, place)

    def _removal(self, node: OverlayLeaf, place: ObjectPlace) -> PatchChange:
        if touched((*place.earlier.written, *place.earlier.made), place.keys):
            raise Unsayable(node.path, "an item before this one sets the field that this removes")
        place.earlier.removed.add(place.keys)
        return PatchChange((PatchStep(place, "remove", when=place.present()),))

    def _set(self, node: OverlayNode, at: Field, place: ObjectPlace, when: str = "") -> PatchChange:
        value = self._values.new(node, at)
        if value is None:
            return PatchChange()
        self._note(node.path, place, when)
        return PatchChange((PatchStep(place, "add", value, when),), ALWAYS)

    def _note(self, path: FieldPath, place: ObjectPlace, when: str) -> None:
        """Note for later items that a field is set."""
        if touched(place.earlier.removed, place.keys):
            raise Unsayable(path, "an item before this one removes the field that this sets")
        guard = place.loops[-1].guard if place.loops else ""
        place.earlier.written.setdefault(place.keys, []).append(conjunction(guard, when) or ALWAYS)

    def _computed(self, node: Template, at: Field, place: ObjectPlace) -> PatchChange:
        found = self._values.computed(node, at)
        if found.map:
            return self._merged(found, node, place)
        if found.certain:
            self._note(node.path, place, "")
            return PatchChange((PatchStep(place, "add", found.value(found.text)),), ALWAYS)
        if place.loops:
            raise Unsayable(node.path, "an expression that may have no value, in an item of a list")
        given = "result.hasValue()" if found.optional else ""
        raw = "result.value()" if found.optional else "result"
        valued = conjunction(given, f"{raw} != null" if found.null else "")
        bound = found.text
        operations = [PatchStep(place, "add", found.value("result"), valued, bound)]
        if found.null:
            when = conjunction(given, f"{raw} == null", place.present())
            operations.append(PatchStep(place, "remove", when=when, bound=bound))
        return PatchChange(tuple(operations), f"[{found.text}].exists(result, {valued})")

    def _merged(self, found: ComputedText, node: Template, place: ObjectPlace) -> PatchChange:
        """Return the change by a map of strings, merged key by key."""
        if place.loops:
            raise Unsayable(node.path, "a map of an expression, in an item of a list")
        given = "result.hasValue()" if found.optional else ""
        create = PatchStep(place, "add", "{}", conjunction(given, place.no("map")), found.text)
        entries = PatchStep(place, "add", "value", given, found.text, entries=found.value("result"))
        return PatchChange((create, entries), f"{found.text}.hasValue()" if given else ALWAYS)

    def _map(self, node: Map, at: Field, place: ObjectPlace) -> PatchChange:
        operations: list[PatchStep] = []
        creating: list[str] = [ALWAYS] if node.empty else []
        for member in node.members:
            below, field = place.below(member.name), member_of(at, member.name)
            change = (
                self._added(member.node, field, below)
                if member.added
                else self.of(member.node, field, below)
            )
            operations += change.operations
            if change.creates:
                creating.append(change.creates)
        creates = ALWAYS if ALWAYS in creating else disjunction(*creating) if creating else NEVER
        if (
            not creates
            or not place.keys
            or (place.native and not place.loops and is_always_there(at))
        ):
            return PatchChange(tuple(operations), creates)
        when = conjunction(
            self._missing(place, place.no("map")), "" if creates == ALWAYS else creates
        )
        guard = place.loops[-1].guard if place.loops else ""
        if any(each == place.keys[: len(each)] for each in place.earlier.removed):
            raise Unsayable(node.path, "an item before this one removes the map that this changes")
        place.earlier.made.setdefault(place.keys, []).append(
            conjunction(guard, "" if creates == ALWAYS else creates) or ALWAYS
        )
        return PatchChange((PatchStep(place, "add", "{}", when), *operations), creates)

    def _added(self, node: OverlayNode, at: Field, place: ObjectPlace) -> PatchChange:
        """Return the change of ``+(key)``."""
        if place.keys in place.earlier.removed:
            raise Unsayable(node.path, "an item before this one removes the field that this adds")
        return self._set(node, at, place, self._missing(place, place.unset()))

    def _missing(self, place: ObjectPlace, unset: str) -> str:
        """Return that a field is still missing after the changes by earlier items."""
        return conjunction(unset, *(negation(each) for each in place.earlier.when_set(place.keys)))

    # Lists

    def _list(self, node: List, at: Field, place: ObjectPlace) -> PatchChange:
        kind = at.type
        if place.loops and touched(place.earlier.lists, place.keys):
            raise Unsayable(node.path, "two items change the same list")
        place.earlier.lists.add(place.keys)
        if node.directive == APPEND or (
            node.directive == PREPEND and kind.relation == Relation.ATOMIC
        ):
            return self._append(node, at, place)
        if self._is_new(node, place):
            return self._set(node, at, place)
        keyed = kind.relation == Relation.KEYED and node.directive != REPLACE
        if keyed or any(conditions_of(item) for item in node.items):
            return self._items(node, at, place)
        if kind.relation == Relation.SET and node.directive != REPLACE:
            return self._append(node, at, place, unique=True)
        return self._set(node, at, place)

    def _append(
        self, node: List, at: Field, place: ObjectPlace, *, unique: bool = False
    ) -> PatchChange:
        """Return the change by items that are added unless they are there."""
        assert at.type.item is not None
        texts = [self._values.new(each, at.type.item) for each in node.items]
        items = list(dict.fromkeys(each for each in texts if each is not None))
        if not items:
            return self._none(place) if unique else PatchChange()
        if unique and len(texts) > len(items):
            raise Unsayable(node.path, "two items with the same value are always an error")
        if len(items) > 1 and (unique or any(has_templates(each) for each in node.items)):
            raise Unsayable(
                node.path, "several values whose order or equality depends on the object"
            )
        create = PatchStep(place, "add", "[]", place.no("list"))
        operations = [create]
        there = place.items(at)
        prepends = node.directive == PREPEND
        for each in reversed(items) if prepends else items:
            missing = negation(f"{each} in {there}")
            operations.append(PatchStep(place.edge(start=prepends), "add", each, missing))
        if unique:
            operations += self._deduplicated(items[0], there, at, place)
        return PatchChange(tuple(operations), ALWAYS)

    def _is_new(self, node: List, place: ObjectPlace) -> bool:
        """Whether the items of a list are all that it will have."""
        if place.loops or place.keys not in self._empty or not node.items:
            return False
        return not any(
            isinstance(item, Map) and (item.deleted or conditions_of(item)) for item in node.items
        )

    def _none(self, place: ObjectPlace) -> PatchChange:
        """Return the change by a list without items: it is made where there is none."""
        return PatchChange((PatchStep(place, "add", "[]", place.no("list")),), ALWAYS)

    def _deduplicated(
        self, value: str, there: str, at: Field, place: ObjectPlace
    ) -> tuple[PatchStep, ...]:
        """Merging an item of a set removes its duplicates."""
        item, loop = place.each(at)
        again = f"{item.base} == {value} && {there}.indexOf({item.base}) != {loop.index}"
        return (PatchStep(item.guarded(again), "remove", reverse=True),)

    def _items(self, node: List, at: Field, place: ObjectPlace) -> PatchChange:
        """Return the change of a list by its items: each has a key, or conditions."""
        if not node.items:
            return self._none(place)
        kind, operations, removals = at.type, list[PatchStep](), list[str]()
        keys = MergeKeys(self._values, at)
        base, _ = place.each(at)
        merged: list[Map] = []
        reads: list[tuple[str, ...]] = []
        for item in node.items:
            assert isinstance(item, Map)
            found = conditions_of(item)
            if not found and not item.deleted:
                merged.append(item)
                continue
            guard = conjunction(conditions.holds(found, base, keys.item), keys.matches(item, base))
            reads = [*conditions.fields_read(found), *((key,) for key in kind.keys)]
            if any(base.earlier.read(each) for each in reads):
                raise Unsayable(
                    item.path, "its conditions are about what an item before it changes"
                )
            if item.deleted:
                removals.append(guard)
                continue
            if removals and has_templates(item):
                raise Unsayable(item.path, "an expression beside items that are deleted")
            here = base.guarded(guard)
            operations += self._map(replace(item, deleted=False), keys.item, here).operations
        creates = NEVER
        if merged:
            if len(merged) > 1 or len(merged) < len(node.items):
                raise Unsayable(node.path, "items found by their keys, beside other changes")
            end = place.edge(start=node.directive == PREPEND)
            change = self._merged_item(merged[0], keys, at, place, end)
            operations, creates = [*change.operations], change.creates
        if removals:
            guard = disjunction(*removals)
            operations.append(PatchStep(base.guarded(guard), "remove", reverse=True))
        return PatchChange(tuple(operations), creates)

    def _merged_item(
        self, node: Map, keys: MergeKeys, at: Field, place: ObjectPlace, end: ObjectPlace
    ) -> PatchChange:
        """Return the change by one item with a key: it is merged, or added at ``end``. It replaces
        several items that have its key.
        """
        new = self._values.new(node, keys.item)
        assert new is not None
        base, loop = place.each(at)
        matches = keys.matches(node, base)
        one = f"{loop.items}.exists_one({base.base}, {matches})"
        count = f"{loop.items}.filter({base.base}, {matches}).size()"
        changes = self._map(keys.without(node), keys.item, base.guarded(conjunction(matches, one)))
        first = f"{loop.items}.map({base.base}, {matches}).indexOf(true)"
        several = conjunction(matches, f"{count} > 1")
        return PatchChange(
            (
                *changes.operations,
                PatchStep(base.guarded(f"{several} && {loop.index} == {first}"), "replace", new),
                PatchStep(
                    base.guarded(f"{several} && {loop.index} != {first}"), "remove", reverse=True
                ),
                PatchStep(place, "add", "[]", place.no("list")),
                PatchStep(end, "add", new, f"{count} == 0"),
            ),
            ALWAYS,
        )
