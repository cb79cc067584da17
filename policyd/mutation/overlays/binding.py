"""Bind an overlay to one kind: turn its tree and the kind's schema into the changes of
``_core.overlay``. Values that do not fit the schema are reported with their place.
"""

from dataclasses import dataclass, field

from policyd._core.json.shared_keys import shared_key
from policyd._core.plan.overlay import (
    BoundOverlay,
    ComputedChange,
    FixedChange,
    MapChange,
    RemovalChange,
    StringChange,
    settled,
)
from policyd._core.plan.overlay_run import OverlayChange, OverlayScope
from policyd._core.schema.decode import DecodeError, decode
from policyd._core.schema.types import Field, Scalar, SchemaType
from policyd.json_types import FieldPath
from policyd.mutation.overlays.lists import bind_list
from policyd.mutation.overlays.tree import (
    Conditions,
    List,
    Map,
    Nothing,
    OverlayLeaf,
    OverlayNode,
    Template,
    conditions,
)
from policyd.mutation.overlays.types import expectation, fits, fits_expression, in_words
from policyd.mutation.schemas.schemas import KindSchema
from policyd.near_names import did_you_mean
from policyd.pattern.faults import Fault
from policyd.pattern.scalar_hints import UNQUOTED, unquoted_hint

_MANY = 15  # fields; a longer list in a hint is unreadable
_IDENTITY = ("apiVersion", "kind")


def bind(
    tree: Map, schema: KindSchema, expressions: int, guards: Conditions
) -> tuple[BoundOverlay, list[Fault]]:
    """Return the overlay for objects of one kind; unusable if there are faults.

    ``expressions`` counts its expressions; ``guards`` are extra conditions of the whole overlay.
    """
    binder = Binder(native=schema.native)
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
    """Turns nodes into changes. ``native``: constants are printed as the Go type prints them."""

    native: bool
    faults: list[Fault] = field(default_factory=list)

    def change(self, node: OverlayNode, at: Field, where: str) -> OverlayChange:
        """Return the change that a node makes; ``where`` is for messages about requests."""
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
                return bind_list(self, node, at, where)
        self.unfit(node.path, at.type, "a map" if isinstance(node, Map) else "a list")
        return RemovalChange()

    def unfit(self, path: FieldPath, wanted: SchemaType, found: str, value: object = None) -> None:
        hint = ""
        if wanted.scalar == Scalar.STRING and isinstance(value, bool | int | float):
            hint = UNQUOTED
        elif wanted.scalar in (Scalar.BOOLEAN, Scalar.NUMERIC):
            hint = unquoted_hint(value, number=wanted.scalar == Scalar.NUMERIC)
        elif wanted.is_list and not wanted.is_map and found == "a map":
            hint = "write a list: each item after '- '"
        self.faults.append(Fault(path, f"expected {expectation(wanted)}, got {found}", hint))

    def constant(self, value: object, at: Field, path: FieldPath) -> OverlayChange:
        """Return a value without expressions as the API server stores it, so that it compares
        equal to the stored one.
        """
        if self.native:
            try:
                value = decode(value, None, at, convert=True)
            except DecodeError as error:
                self.faults.append(Fault(path, f"Invalid value: {error}"))
        return FixedChange(settled(value))

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
            hint = "to remove a key write KEY: null"
            message = "only an item of a list can be deleted"
            self.faults.append(Fault((*node.path, "$patch"), message, hint, at_key=True))
        names, changes = [], []
        for member in node.members:
            below = kind.fields.get(member.name, kind.extra)
            if below is None:
                self.faults.append(_unknown(member.path, member.name, kind))
                continue
            names.append(shared_key(member.name))
            at = f"{where}.{member.name}" if where else member.name
            changes.append(self.change(member.node, below, at))
        added = {each.name for each in node.members if each.added}
        return MapChange(names, changes, added, empty=node.empty)


def _unknown(path: FieldPath, name: str, kind: SchemaType) -> Fault:
    few = 0 < len(kind.fields) <= _MANY
    listed = f"known fields: {', '.join(sorted(kind.fields))}" if few else ""
    hint = did_you_mean(name, kind.fields, listed)
    return Fault(path, f'unknown field "{name}"', hint, at_key=True)
