"""An overlay as an ApplyConfiguration: for overlays that only set fields and merge lists by their
keys. It merges as overlays do, but neither removes anything nor changes parts of atomic values.
"""

from policyd._core.schema.types import Field, Relation
from policyd.export.expressions.literals import string_literal
from policyd.export.mutating.overlays import conditions
from policyd.export.mutating.overlays.keyed import MergeKeys
from policyd.export.mutating.overlays.places import JSONPointer, ObjectPlace, is_name
from policyd.export.mutating.overlays.reading import ReadOverlay, Unsayable
from policyd.export.mutating.overlays.values import Values, has_templates, member_of
from policyd.mutation.overlays.tree import List, Map, Member, Nothing, OverlayLeaf, OverlayNode
from policyd.mutation.overlays.tree import conditions as conditions_of
from policyd.mutation.schemas.schemas import KindSchema


def apply_configuration(overlay: ReadOverlay, schema: KindSchema) -> str:
    """Return the expression of an ApplyConfiguration mutation for objects of one kind.

    Raises Unsayable. Custom resources are refused: their objects may not fit the schema, which is
    an error of an ApplyConfiguration.
    """
    if not schema.native:
        raise Unsayable(overlay.tree.path, "a custom resource")
    root = ObjectPlace("object", JSONPointer(), schema.native)
    found = [*overlay.guards, *conditions_of(overlay.tree)]
    when = conditions.holds(found, root, schema.root)
    writer = _Writer(Values(overlay, native=True, wraps=True))
    text = writer.of(overlay.tree, schema.root, root, "Object")
    if text is None:
        raise Unsayable(overlay.tree.path, "it changes nothing")
    if not when:
        return text
    condition = f"({when})" if " ? " in when else when
    return f"{condition}\n? {text}\n: Object{{}}"


class _Writer:
    """Writes nodes as CEL values. ``kind`` is the name of the type at a place."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def of(self, node: OverlayNode, at: Field, place: ObjectPlace | None, kind: str) -> str | None:
        """Return the value of a node; None if it sets nothing. ``place`` is None in a new value."""
        node = self._values.resolved(node)
        if isinstance(node, Nothing):
            return None
        if isinstance(node, OverlayLeaf) and node.value is None:
            raise Unsayable(node.path, "an ApplyConfiguration removes nothing")
        if isinstance(node, Map):
            return self._map(node, at, place, kind)
        if isinstance(node, List):
            return self._list(node, at, kind, place)
        found = self._values.new(node, at)
        assert found is not None
        return found

    def _map(self, node: Map, at: Field, place: ObjectPlace | None, kind: str) -> str | None:
        if at.type.atomic:
            raise Unsayable(node.path, "an ApplyConfiguration does not change an atomic map")
        struct = bool(at.type.fields)
        entries = []
        for member in node.members:
            entry = self._entry(member, member_of(at, member.name), place, kind, struct=struct)
            if entry is not None:
                entries.append(entry)
        if not entries and not node.empty:
            return None
        return f"{kind if struct else ''}{{{', '.join(entries)}}}"

    def _entry(
        self, member: Member, at: Field, place: ObjectPlace | None, kind: str, *, struct: bool
    ) -> str | None:
        name, below = member.name, None if place is None else place.below(member.name)
        if struct and not is_name(name):
            raise Unsayable(member.path, f"the field name {name} in CEL")
        if not struct and at.type.fields:
            raise Unsayable(member.path, "a map of structs")
        key = name if struct else string_literal(name)
        text = self.of(member.node, at, None if member.added else below, f"{kind}.{name}")
        if text is None:
            return None
        if not member.added or place is None:
            return f"{key}: {text}"
        assert below is not None
        return f"?{key}: {below.unset()} ? optional.of({text}) : optional.none()"

    def _list(self, node: List, at: Field, kind: str, place: ObjectPlace | None) -> str:
        if at.type.relation == Relation.ATOMIC or node.directive:
            raise Unsayable(node.path, "an ApplyConfiguration does not change an atomic list")
        assert at.type.item is not None
        items = []
        for item in node.items:
            text = self._item(item, at, kind)
            if at.type.relation == Relation.SET and has_templates(item):
                raise Unsayable(item.path, "an expression in a set")
            items.append(text)
        if len(set(items)) < len(items):
            raise Unsayable(node.path, "two items with the same value are always an error")
        return f"[{', '.join(items)}]"

    def _item(self, item: OverlayNode, at: Field, kind: str) -> str:
        assert at.type.item is not None
        if isinstance(item, Map):
            if item.deleted or conditions_of(item):
                raise Unsayable(item.path, "an ApplyConfiguration has no conditions of items")
            if _adds(item):
                raise Unsayable(item.path, "+(key) in an item found by its key")
            MergeKeys(self._values, at).matches(
                item, ObjectPlace("item", JSONPointer(), native=True)
            )
        text = self.of(item, at.type.item, None, kind)
        assert text is not None
        return text


def _adds(node: OverlayNode) -> bool:
    """Return whether a node has keys marked with ``+``."""
    if isinstance(node, Map):
        return any(each.added or _adds(each.node) for each in node.members)
    return isinstance(node, List) and any(map(_adds, node.items))
