"""``patchStrategicMerge`` as an overlay: what it merges, its anchors, and where new items go.

Kyverno's anchors: kyverno/kyverno pkg/engine/mutate/patch/strategicPreprocessing.go. Its merge puts
new items of lists first: kubernetes-sigs/kustomize kyaml/yaml/walk/associative_sequence.go.
"""

from dataclasses import dataclass

from policyd._core.schema.types import Field, Relation, SchemaType
from policyd.importers.jmespath.interpolation import has_variables
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.pointers import member
from policyd.importers.kyverno.mutate.texts import cel, overlay_text, overlay_value
from policyd.importers.model import ImportNotes, Refused, refusing
from policyd.json_types import JSON, JSONObject
from policyd.pattern.marks import Mark, UnknownMark, split, split_if_known

PREPEND: JSONObject = {"$patch": "prepend"}
_REPLACE: JSONObject = {"$patch": "replace"}
_CONDITIONS = (Mark.CONDITION, Mark.GLOBAL)
_NAME = "name"
_ONE_FOR_ALL = (
    "Kyverno applies an item with an anchor to all items of the list, whatever its name; so does "
    "the overlay"
)
_NOT_BY_NAME = (
    "Kyverno changes nothing here, because it finds items with conditions only by a name; the "
    "overlay changes the items for which the conditions hold"
)


def marked(key: str, path: str) -> tuple[Mark, str]:
    """Return the anchor of a key and its name. Raises Refused if mutations do not have it."""
    with refusing(path, UnknownMark):
        mark, name = split(key)
    if mark not in (Mark.NONE, Mark.ADD, *_CONDITIONS):
        raise Refused(
            path,
            f"`{key}`: only validations of Kyverno have this anchor; it would set a field",
        )
    return mark, name


def marks_in(value: JSON) -> set[Mark]:
    """Return the anchors of a map and of the maps and lists in it; not those in conditions."""
    if isinstance(value, list):
        return set().union(*map(marks_in, value))
    if not isinstance(value, dict):
        return set()
    found: set[Mark] = set()
    for key, below in value.items():
        mark, _ = split_if_known(key)  # an unknown one is refused where it is read
        found |= {mark or Mark.NONE, *(() if mark in _CONDITIONS else marks_in(below))}
    return found - {Mark.NONE}


@dataclass(frozen=True, slots=True)
class Merge:
    """Turns patches into overlays."""

    scope: Vocabulary
    notes: ImportNotes

    def map(self, tree: JSONObject, at: Field, path: str, *, new: bool = False) -> JSON:
        """Return the overlay of a map at a field. ``new``: it is merged with nothing, so that marks
        on its lists would say nothing. Raises Refused.
        """
        if any(has_variables(key) for key in tree):
            return self._computed(tree, path)
        found: JSONObject = {}
        for key, value in tree.items():
            here = f"{path}.{key}"
            mark, name = marked(key, here)
            below = member(at, name)
            if mark in _CONDITIONS and _adds(value):
                # Kyverno only checks whether the field is there, and merges into it.
                found[key] = "*"
                found[name] = self._value(value, below, here, new=new)
                continue
            if mark in _CONDITIONS:
                found[key] = condition(value, here)
                continue
            if below is None and name != "$patch":
                raise Refused(here, f"`{name}` is no field of this kind")
            if mark is Mark.ADD and marks_in(value) & {Mark.CONDITION, Mark.GLOBAL}:
                raise Refused(here, f"`{key}`: a condition in the value of an anchor")
            found[key] = self._value(value, below, here, new=new or mark is Mark.ADD)
        return found

    def _computed(self, tree: JSONObject, path: str) -> str:
        if marks_in(tree):
            raise Refused(path, "anchors beside a key with a variable")
        return f"${{{cel(tree, self.scope, path)}}}"

    def _value(self, value: JSON, at: Field | None, path: str, *, new: bool) -> JSON:
        if at is None or not isinstance(value, dict | list):
            return overlay_value(value, self.scope, path)
        kind = at.type
        if isinstance(value, dict):
            return self.map(value, at, path, new=new)
        if not kind.is_list or kind.item is None:
            raise Refused(path, "a list in the place of another value")
        return self._list(value, kind, path, new=new)

    def _list(self, items: list[JSON], kind: SchemaType, path: str, *, new: bool) -> list[JSON]:
        if kind.relation == Relation.ATOMIC:
            if marks_in(items):
                raise Refused(
                    path, "anchors in a list whose items have no name: Kyverno replaces it"
                )
            found = [overlay_value(each, self.scope, path) for each in items]
            return found if new or not items or _is_replace(items) else [{**_REPLACE}, *found]
        if kind.relation == Relation.SET:
            found = [overlay_text(str(each), self.scope, path) for each in items]
            return found if new else [{**PREPEND}, *found]
        made = [self._item(each, kind, f"{path}[{at}]", new=new) for at, each in enumerate(items)]
        kept = [each for each in made if each]
        adds = any(not marks_in(each) and "$patch" not in each for each in kept)
        return [{**PREPEND}, *kept] if adds and not new and not _is_replace(items) else kept

    def _item(self, item: JSON, kind: SchemaType, path: str, *, new: bool) -> JSONObject:
        """Return an item of a list with keys; an empty map if it does nothing."""
        assert kind.item is not None
        if not isinstance(item, dict):
            raise Refused(path, "a value in a list whose items are maps")
        anchors = marks_in(item)
        if not anchors:
            if item.keys() != {"$patch"} and not any(key in item for key in kind.keys):
                raise Refused(path, f"an item without its {kind.keys[0]}")
            # A container with an image is most likely new.
            return self.as_map(item, kind.item, path, new=new or "image" in item)
        if Mark.GLOBAL in anchors:
            return self._global(item, path)
        if all(split_if_known(key)[0] is Mark.CONDITION and not _adds(item[key]) for key in item):
            self.notes.remark(path, "an item that has only conditions does nothing")
            return {}
        if kind.keys != (_NAME,):
            self.notes.remark(path, _NOT_BY_NAME)
        elif _NAME in item:
            item = {key: value for key, value in item.items() if key != _NAME}
            self.notes.remark(path, _ONE_FOR_ALL)
        if not any(marked(key, path)[0] is Mark.CONDITION for key in item):
            item = {f"({kind.keys[0]})": "*", **item}
        return self.as_map(item, kind.item, path, new=new)

    def as_map(self, item: JSONObject, at: Field, path: str, *, new: bool = False) -> JSONObject:
        """Return ``map`` of an item, which stays a map."""
        found = self.map(item, at, path, new=new)
        if not isinstance(found, dict):
            raise Refused(path, "a variable in a key of an item")
        return found

    def _global(self, item: JSONObject, path: str) -> JSONObject:
        kept = {key: value for key, value in item.items() if marked(key, path)[0] in _CONDITIONS}
        if len(kept) < len(item):
            message = "Kyverno ignores fields beside a global anchor; they are left out"
            self.notes.remark(path, message)
        return {key: condition(value, f"{path}.{key}") for key, value in kept.items()}


def _adds(value: JSON) -> bool:
    return isinstance(value, dict) and any(split_if_known(key)[0] is Mark.ADD for key in value)


def condition(value: JSON, path: str) -> JSON:
    """Return the pattern of a condition. Raises Refused if it has variables."""
    if isinstance(value, dict):
        return {key: condition(below, f"{path}.{key}") for key, below in value.items()}
    if isinstance(value, list):
        return [condition(each, f"{path}[{at}]") for at, each in enumerate(value)]
    if isinstance(value, str) and (has_variables(value) or "$(" in value):
        raise Refused(path, f"`{value}`: a condition of an overlay has no variables")
    return value


def _is_replace(items: list[JSON]) -> bool:
    return any(isinstance(each, dict) and each.keys() == {"$patch"} for each in items)
