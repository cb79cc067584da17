"""The patches of a rule without a foreach, as mutations."""

from collections.abc import Iterable

from policyd._core.schema.types import Field, Relation
from policyd.importers.jmespath.interpolation import has_variables
from policyd.importers.jmespath.terms import single
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.merge import Merge, marked, marks_in
from policyd.importers.kyverno.mutate.operations import (
    LenientOperation,
    LenientPatch,
    Surroundings,
    as_overlay,
    read_operations,
)
from policyd.importers.kyverno.mutate.pointers import PathStep, Pointer, member
from policyd.importers.kyverno.mutate.texts import cel, overlay_value
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.policies import json_patch, overlay
from policyd.json_types import JSON, JSONObject, values_in
from policyd.pattern.marks import Mark

_ONCE = "unlike in Kyverno, an item that is there already is not added again"
_APPEND: JSONObject = {"$patch": "append"}
RuleSchemas = list[Field] | None


def strategic_merge(
    tree: JSON, schemas: RuleSchemas, scope: Vocabulary, path: str, notes: ImportNotes
) -> JSONObject:
    """Return a ``patchStrategicMerge`` as a mutation. Raises Refused."""
    if not isinstance(tree, dict):
        raise Refused(path, "a map is expected")
    if schemas is None:
        return json_patch(merged_as_json_patch(tree, surroundings(None, scope), path))
    merge = Merge(scope, notes)
    return overlay(same_for_all((merge.map(tree, each, path) for each in schemas), path))


def same_for_all(overlays: Iterable[JSON], path: str) -> JSON:
    """Return what is the overlay for all kinds of a rule; Refused if it depends on the kind."""
    first, *others = overlays
    if any(each != first for each in others):
        raise Refused(path, "the kinds of the rule merge this in different ways")
    return first


def operations_patch(
    patch: JSON, schemas: RuleSchemas, scope: Vocabulary, path: str, notes: ImportNotes
) -> JSONObject:
    """Return a ``patchesJson6902`` as a mutation. Raises Refused."""
    operations = read_operations(patch, scope, path)
    tree = as_overlay(operations)
    if schemas is not None and tree is not None:
        found = [with_marks(tree, each, scope, path) for each in schemas]
        if found[0] is not None and all(each == found[0] for each in found):
            if _appends(found[0]):
                notes.comments["mutations", 0] = _ONCE
            return overlay(found[0])
    written = LenientPatch(surroundings(schemas, scope))
    for operation in operations:
        written.add(operation)
    return json_patch(written.expression())


def with_marks(tree: JSONObject, at: Field, scope: Vocabulary, path: str) -> JSONObject | None:
    """Return the overlay of fields that operations set; None if it would do something else."""
    found: JSONObject = {}
    for key, value in tree.items():
        below = member(at, key)
        if below is None:
            return None
        if isinstance(value, dict):
            inner = with_marks(value, below, scope, path) if below.type.is_map else None
            if inner is None:
                return None
            found[key] = inner
        elif isinstance(value, list):
            keys = below.type.keys if below.type.is_list else None
            if keys is None:
                return None
            if below.type.relation == Relation.KEYED and not all(
                isinstance(each, dict) and keys[0] in each for each in value
            ):
                return None
            made = overlay_value(value, scope, path)
            found[key] = [{**_APPEND}, *made] if below.type.relation == Relation.ATOMIC else made
        elif value is not None and (below.type.is_map or below.type.is_list):
            return None
        else:
            found[key] = overlay_value(value, scope, path)
    return found


def _appends(tree: JSON) -> bool:
    """Whether an overlay appends to a list."""
    return any(isinstance(each, list) and _APPEND in each for each in values_in(tree))


def surroundings(schemas: RuleSchemas, scope: Vocabulary) -> Surroundings:
    """Return what is known of the objects of a rule."""
    present = single(scope.meanings["request.object"]).present
    known = [tuple(map(PathStep, each.split("."))) for each in ("metadata", *sorted(present))]
    if schemas is not None and all("spec" in each.type.fields for each in schemas):
        known.append((PathStep("spec"),))
        for below in (("template",), ("jobTemplate", "spec", "template")):
            template = tuple(map(PathStep, ("spec", *below)))
            if all(Pointer(template).field(each) is not None for each in schemas):
                known += [(*template, PathStep("spec")), (*template, PathStep("metadata"))]
    return Surroundings(scope, known)


def merged_as_json_patch(tree: JSONObject, around: Surroundings, path: str) -> str:
    """Return a ``patchStrategicMerge`` for kinds without a schema, such as custom resources, as CEL
    of a JSON Patch: maps are merged, everything else is replaced. Raises Refused.
    """
    patch = LenientPatch(around)
    _map(tree, Pointer(), patch, path)
    if not patch.texts:
        raise Refused(path, "it changes nothing")
    return patch.expression()


def _map(tree: JSONObject, at: Pointer, patch: LenientPatch, path: str) -> None:
    for key, value in tree.items():
        here = f"{path}.{key}"
        if has_variables(key):
            raise Refused(here, "a key with a variable, of a kind whose schema is not known")
        mark, name = marked(key, here)
        to = at.below(PathStep(name.replace("~", "~0").replace("/", "~1")))
        match mark:
            case Mark.NONE if isinstance(value, dict) and value:
                _map(value, to, patch, here)
            case Mark.NONE if value is None:
                patch.add(LenientOperation("remove", to, here))
            case Mark.NONE:
                patch.set(to, _value(value, patch, here))
            case Mark.ADD:
                patch.set(to, _value(value, patch, here), unless=patch.around.presence(to))
            case _:
                raise Refused(here, "a condition on a kind whose schema is not known")


def _value(value: JSON, patch: LenientPatch, path: str) -> str:
    if marks_in(value):
        raise Refused(path, "anchors in a list of a kind whose schema is not known")
    return cel(value, patch.around.scope, path)
