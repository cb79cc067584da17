"""Advice on overlays that do not match the schema of their kinds: conditions that never hold,
values outside an enumeration, and keys without a value, which remove a map or list.

Unknown fields and wrong types of values are errors, found when the overlay is compiled.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from policyd._core.schema.types import SchemaType
from policyd.cel.types.structs import ADMISSION, Structs
from policyd.cel.types.types import Kind, Type
from policyd.errors import Fix
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import DIRECTIVE
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.kinds.object_types import ObjectTypes
from policyd.policy.lint.patterns import (
    by_place,
    enumeration,
    has_condition,
    misfits,
    nearest,
    strings,
)
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import by_kinds
from policyd.policy.model.findings import FormProblem

RULE = "overlay-value"
# How expressions begin that a text is probably meant as.
_PATHS = ("object.", "oldObject.", "request.", "params.", "variables.", "namespaceObject.")


def misfitting(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for the overlays of a policy."""
    types = ObjectTypes(policy.run.published, Structs(ADMISSION))
    kinds = len(policy.schemas)
    for path, tree in policy.overlays:
        scalars = policy.document.origin.plain_scalars(path)
        check = _Check(types, frozenset(each.path for each in scalars if not each.text))
        found = (
            (gvk, each)
            for gvk, schema in policy.schemas.items()
            for each in check.misfits(tree, schema.root.type, types.of_kind(gvk), path)
        )
        for by_kind in by_place(found, kinds, telling_apart=has_condition(tree)):
            first = next(iter(by_kind.values()))
            labelled = by_kinds((gvk, first.message) for gvk in by_kind)
            yield first if kinds == 1 else replace(first, message=labelled)


@dataclass(frozen=True, slots=True)
class _Check:
    """``empty`` are the paths of values that are not written: ``KEY:``."""

    types: ObjectTypes
    empty: frozenset[FieldPath]

    def misfits(
        self, tree: Any, schema: SchemaType, of: Type | None, path: FieldPath
    ) -> Iterator[FormProblem]:
        """Yield the mismatches below a path, whose type ``schema`` and ``of`` are."""
        if isinstance(tree, str) and tree.startswith(_PATHS) and not set(" ${") & set(tree):
            what = f'"{tree}" is a text here, not an expression'
            hint = f'write "${{{tree}}}" for the value of the expression'
            yield FormProblem(path, what, hint, rule=RULE)
        if isinstance(tree, list) and schema.item is not None:
            item = of.params[0] if of is not None and of.kind is Kind.LIST else None
            for index, each in enumerate(tree):
                for key in schema.keys if isinstance(each, dict) else ():
                    if "*" in str(each.get(key, "")):
                        name = f'"{each[key]}"'
                        what = f"{key} {name} has no wildcard here: an item of this {key} is added"
                        hint = f"write ({key}): {name} for all items that match"
                        yield FormProblem((*path, index, key), what, hint, rule=RULE)
                yield from self.misfits(each, schema.item.type, item, (*path, index))
        elif isinstance(tree, dict) and schema.is_map:
            for key, value in tree.items():
                yield from self._misfits_of_key(key, value, schema, of, path)

    def _misfits_of_key(
        self, key: str, value: Any, schema: SchemaType, of: Type | None, path: FieldPath
    ) -> Iterator[FormProblem]:
        mark, name = split_if_known(key)
        at = (*path, key)
        if mark is None:
            return
        if mark not in (Mark.NONE, Mark.ADD):
            for each in misfits({key: value}, schema, self.types, of, path):
                yield replace(each, rule=RULE, fix=None)
            return
        field = schema.fields.get(name, schema.extra)
        if key == DIRECTIVE or field is None:
            return
        if value is None and at in self.empty and (field.type.is_map or field.type.is_list):
            what = f"{name} has no value: null removes the field"
            empty = f"{name}: {'{}' if field.type.is_map else '[]'} for an empty one"
            hint = f"write {empty}, or {name}: null to remove it"
            yield FormProblem(at, what, hint, rule=RULE)
        known = enumeration(self.types, of, name) if of is not None else ()
        for where, text in strings(value, at) if known else ():
            if text and text not in known and "${" not in text:
                values = sorted(map(str, known))
                right = next((each for each in values if each.lower() == text.lower()), "")
                what = f'"{text}" is not a known value of this field'
                fix = Fix(text, right) if right else None
                yield FormProblem(where, what, nearest(text, values), rule=RULE, fix=fix)
        below = self.types.field(of, name) if of is not None else None
        if below is None and of is not None and of.kind is Kind.MAP:
            below = of.params[1]
        yield from self.misfits(value, field.type, below, at)
