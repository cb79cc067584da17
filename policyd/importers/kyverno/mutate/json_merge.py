"""``patchStrategicMerge`` for kinds without a schema, such as custom resources, as a JSON Patch:
maps are merged, everything else is replaced.
"""

from policyd.importers.jmespath import has_variables
from policyd.importers.kyverno.mutate.merge import marked, marks_in
from policyd.importers.kyverno.mutate.operations import LenientOperation, LenientPatch, Surroundings
from policyd.importers.kyverno.mutate.pointers import PathStep, Pointer
from policyd.importers.kyverno.mutate.texts import cel
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject
from policyd.pattern.marks import Mark


def merged_as_json_patch(tree: JSONObject, around: Surroundings, path: str) -> str:
    """Return the CEL of a JSON Patch. Raises Refused."""
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
