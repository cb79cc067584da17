"""Advice on overlays that do not match the schema of their kinds: conditions that never hold,
values outside an enumeration, and keys without a value, which remove a map or list.

Unknown fields and wrong types of values are errors, found when the overlay is compiled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyd._core.schema.types import SchemaType
from policyd.cel.types.structs import ADMISSION, Structs
from policyd.cel.types.types import Kind, Type
from policyd.errors import Fix, Problem
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import DIRECTIVE
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.kinds.object_types import ObjectTypes
from policyd.policy.lint.patterns import (
    Misfit,
    PlacedMisfit,
    by_place,
    enumeration,
    has_condition,
    misfits,
    nearest,
    strings,
)
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import by_kinds, kinds_of
from policyd.policy.model.expressions import mutations_of
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document

RULE = "overlay-value"
# How expressions begin that a text is probably meant as.
_PATHS = ("object.", "oldObject.", "request.", "params.", "variables.", "namespaceObject.")


def misfitting(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order."""
    for document in run.sources.documents:
        if isinstance(document.model, Policy):
            yield from _advise(document, document.model, run)


def _advise(document: Document, policy: Policy, run: LintRun) -> Iterator[Problem]:
    types = ObjectTypes(run.typed.schemas, Structs(ADMISSION))
    kinds = kinds_of(policy, run.typed.schemas)
    roots = {gvk: schema.root.type for gvk in kinds if (schema := run.schemas.lookup(*gvk))}
    for mutation in mutations_of(document.raw):
        if mutation.kind.mutator is not None:
            continue
        scalars = document.origin.plain_scalars(mutation.path)
        check = _Check(types, frozenset(each.path for each in scalars if not each.text))
        tree = mutation.held
        found = (
            (gvk, each)
            for gvk, root in roots.items()
            for each in check.misfits(tree, root, types.of_kind(gvk), mutation.path)
        )
        for where, by_kind in by_place(found, len(roots), telling_apart=has_condition(tree)):
            first = next(iter(by_kind.values()))
            only = len(roots) == 1
            message = first.what if only else by_kinds((gvk, first.what) for gvk in by_kind)
            finding = FormProblem(where, message, first.hint, first.at_key, RULE, first.fix)
            yield document.problem(finding, "advice")


@dataclass(frozen=True, slots=True)
class _Check:
    """``empty`` are the paths of values that are not written: ``KEY:``."""

    types: ObjectTypes
    empty: frozenset[FieldPath]

    def misfits(
        self, tree: Any, schema: SchemaType, of: Type | None, path: FieldPath
    ) -> Iterator[PlacedMisfit]:
        """Yield the mismatches below a path, whose type ``schema`` and ``of`` are."""
        if isinstance(tree, str) and tree.startswith(_PATHS) and not set(" ${") & set(tree):
            what = f'"{tree}" is a text here, not an expression'
            yield path, Misfit(what, f'write "${{{tree}}}" for the value of the expression')
        if isinstance(tree, list) and schema.item is not None:
            item = of.params[0] if of is not None and of.kind is Kind.LIST else None
            for index, each in enumerate(tree):
                for key in schema.keys if isinstance(each, dict) else ():
                    if "*" in str(each.get(key, "")):
                        name = f'"{each[key]}"'
                        what = f"{key} {name} has no wildcard here: an item of this {key} is added"
                        hint = f"write ({key}): {name} for all items that match"
                        yield (*path, index, key), Misfit(what, hint)
                yield from self.misfits(each, schema.item.type, item, (*path, index))
        elif isinstance(tree, dict) and schema.is_map:
            for key, value in tree.items():
                yield from self._misfits_of_key(key, value, schema, of, path)

    def _misfits_of_key(
        self, key: str, value: Any, schema: SchemaType, of: Type | None, path: FieldPath
    ) -> Iterator[PlacedMisfit]:
        mark, name = split_if_known(key)
        at = (*path, key)
        if mark is None:
            return
        if mark not in (Mark.NONE, Mark.ADD):
            yield from misfits({key: value}, schema, self.types, of, path)
            return
        field = schema.fields.get(name, schema.extra)
        if key == DIRECTIVE or field is None:
            return
        if value is None and at in self.empty and (field.type.is_map or field.type.is_list):
            yield at, _removed(name, "{}" if field.type.is_map else "[]")
        known = enumeration(self.types, of, name) if of is not None else ()
        for where, text in strings(value, at) if known else ():
            if text and text not in known and "${" not in text:
                yield where, _unknown(text, sorted(map(str, known)))
        below = self.types.field(of, name) if of is not None else None
        if below is None and of is not None and of.kind is Kind.MAP:
            below = of.params[1]
        yield from self.misfits(value, field.type, below, at)


def _removed(name: str, empty: str) -> Misfit:
    what = f"{name} has no value: null removes the field"
    return Misfit(what, f"write {name}: {empty} for an empty one, or {name}: null to remove it")


def _unknown(text: str, known: list[str]) -> Misfit:
    right = next((each for each in known if each.lower() == text.lower()), "")
    fix = Fix(text, right) if right else None
    return Misfit(f'"{text}" is not a known value of this field', nearest(text, known), fix=fix)
