"""The merge keys of items of lists as CEL."""

from dataclasses import replace

from policyd._core.schema.types import Field
from policyd.export.expressions.literals import literal
from policyd.export.mutating.overlays.places import ObjectPlace, conjunction
from policyd.export.mutating.overlays.reading import Unsayable
from policyd.export.mutating.overlays.values import Values, member_of
from policyd.json_types import JSON
from policyd.mutation.overlays.tree import Map, OverlayLeaf, Template


class MergeKeys:
    """The keys of a list, whose items have the type ``item``."""

    def __init__(self, values: Values, at: Field) -> None:
        assert at.type.item is not None
        self._values = values
        self._kind = at.type
        self.item = at.type.item

    def without(self, node: Map) -> Map:
        """Return an item without its keys, which the items that it is merged with have; a default
        they may not have.
        """
        kept = (
            each
            for each in node.members
            if not self._is_key(each.name, each.node)
            or self._wanted(each.node, each.name, None) == self._default(each.name)
        )
        return replace(node, members=tuple(kept))

    def _is_key(self, name: str, node: object) -> bool:
        removed = isinstance(node, OverlayLeaf) and node.value is None
        return name in self._kind.keys and not removed

    def matches(self, node: Map, place: ObjectPlace) -> str:
        """Return that an item of the object has the key of an item of the overlay; the empty string
        if that has none. An item without any key is an error, as it is for overlays.
        """
        found = {
            each.name: each.node for each in node.members if self._is_key(each.name, each.node)
        }
        if not found:
            return ""
        parts = []
        for name in self._kind.keys:
            default = self._default(name)
            below = place.below(name)
            wanted = self._wanted(found.get(name), name, default)
            if len(self._kind.keys) == 1 and name not in self._kind.key_defaults:
                parts.append(f"{below.value()} == {wanted}")
            else:
                parts.append(f"{below.chain()}.orValue({default}) == {wanted}")
        if len(parts) > 1 and not self._kind.key_defaults:
            raise Unsayable(node.path, "several keys without a default")
        return conjunction(*parts)

    def _default(self, name: str) -> str:
        found: JSON = self._kind.key_defaults.get(name)
        return literal(found)

    def _wanted(self, node: object, name: str, default: str | None) -> str:
        if node is None:
            assert default is not None
            return default
        assert isinstance(node, OverlayLeaf | Template)
        resolved = self._values.resolved(node)
        if isinstance(resolved, Template):
            raise Unsayable(node.path, "an expression in a key")
        return literal(self._values.constant(resolved, member_of(self.item, name)))
