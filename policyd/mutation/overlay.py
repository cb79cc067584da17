"""The mutation kind Overlay: a YAML tree merged like server-side apply, with Kyverno's marks and
``${CEL}``.

``overlays/tree`` reads it, ``overlays/binding`` binds it to a kind, ``_core/plan/overlay`` applies
it. It has no mutator, because a mutator takes the value of an expression, and an overlay evaluates
its expressions only where needed.
"""

from policyd._core.plan import overlay as core
from policyd.errors import MutationError
from policyd.json_types import FieldPath, JSONObject
from policyd.mutation.decoding import converted
from policyd.mutation.kind import MutationKind
from policyd.mutation.overlays.binding import bind
from policyd.mutation.overlays.tree import (
    Compiler,
    Condition,
    Conditions,
    Map,
    OverlayReader,
    global_conditions,
)
from policyd.mutation.schemas.schemas import Gvk, KindSchema, Target
from policyd.pattern.faults import Fault

KIND = MutationKind(
    "Overlay", field="overlay", about="A YAML tree, merged as in server-side apply."
)


class Overlay:
    """One overlay, bound to a kind in advance or at the first object."""

    def __init__(self, tree: Map, expressions: int, guard: Condition | None) -> None:
        self._tree = tree
        self._guards: Conditions = [((), guard)] if guard is not None else []
        self._expressions = expressions
        self._depth = len(tree.path)
        # Loading a CustomResourceDefinition again replaces its schema.
        self._bound: dict[Gvk, tuple[KindSchema, tuple[core.BoundOverlay, list[Fault]]]] = {}

    def bind(self, schema: KindSchema) -> list[Fault]:
        """Return the faults that a kind's schema reveals."""
        return self._at(schema)[1]

    def bound(self, target: Target) -> core.BoundOverlay:
        """Return the changes for objects of that kind; MutationError if they do not fit it."""
        schema = target.schema
        if schema is None or not schema.mergeable:
            raise MutationError(f"overlay: no schema of {target.gvk} is known")
        overlay, faults = self._at(schema)
        if faults:
            place = ".".join(map(str, faults[0].path[self._depth :]))
            raise MutationError(f"overlay: {place}: {faults[0].message} in a {target.gvk}")
        return overlay

    def converted(self, after: JSONObject, before: JSONObject, target: Target) -> JSONObject:
        """Return the merged object; MutationError if a value does not fit its Go type."""
        return converted(after, before, target)

    def _at(self, schema: KindSchema) -> tuple[core.BoundOverlay, list[Fault]]:
        known = self._bound.get(schema.gvk)
        if known is None or known[0] is not schema:
            bound = bind(self._tree, schema, self._expressions, self._guards)
            known = self._bound[schema.gvk] = (schema, bound)
        return known[1]


def read(value: JSONObject, path: FieldPath, compiler: Compiler) -> tuple[Overlay, list[Fault]]:
    """Read the overlay at ``path`` of a document; unusable if there are faults."""
    reader = OverlayReader(compiler)
    tree = reader.read_map(value, path)
    guard = global_conditions(value)
    condition = compiler.guard(guard, path) if guard else None
    return Overlay(tree, reader.count, condition), reader.faults
