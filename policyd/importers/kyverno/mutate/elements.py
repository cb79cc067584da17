"""``patchStrategicMerge`` of a loop: what it changes of each item, as one overlay."""

from dataclasses import dataclass, replace

from policyd._core.schema.types import Field, Relation, SchemaType
from policyd.export.expressions.literals import string_literal
from policyd.importers.jmespath.cel import is_field
from policyd.importers.jmespath.reading import read
from policyd.importers.kyverno.mutate.loops import ForeachLoop
from policyd.importers.kyverno.mutate.merge import Merge, condition, marked, marks_in
from policyd.importers.kyverno.mutate.patches import RuleSchemas, same_for_all
from policyd.importers.kyverno.mutate.pointers import member
from policyd.importers.kyverno.mutate.texts import alike, cel, names_element, translated, typed_cel
from policyd.importers.model import Refused
from policyd.importers.policies import overlay
from policyd.json_types import JSON, JSONObject
from policyd.pattern.marks import Mark

_CONDITIONS = {Mark.CONDITION, Mark.GLOBAL}
_LAST = "its value is that of the last item, which an overlay cannot say"


def merged_elements(
    tree: JSON, schemas: RuleSchemas, loop: ForeachLoop, merge: Merge, path: str
) -> tuple[JSONObject, bool]:
    """Return the overlay of a loop, and whether it also changes what is not of the items, if there
    is one. Raises Refused.
    """
    if not isinstance(tree, dict):
        raise Refused(path, "a map is expected")
    if schemas is None:
        raise Refused(path, "a foreach over objects of a kind whose schema is not known")
    elements = _Elements(loop, merge)
    found = same_for_all((elements.map(tree, each, (), path) for each in schemas), path)
    return overlay(found), elements.outside


@dataclass(slots=True)
class _Elements:
    loop: ForeachLoop
    merge: Merge
    outside: bool = False

    def map(self, tree: JSONObject, at: Field, keys: tuple[str, ...], path: str) -> JSON:
        if any(names_element(key, self.loop.names) for key in tree):
            if not all(names_element(key, self.loop.names) for key in tree) or marks_in(tree):
                raise Refused(path, "keys with and without the name of an item side by side")
            return f"${{{self.loop.entries(cel(tree, self.loop.scope, path))}}}"
        found: JSONObject = {}
        for key, value in tree.items():
            here = f"{path}.{key}"
            mark, name = marked(key, here)
            below = member(at, name)
            if mark in _CONDITIONS:
                found[key] = condition(value, here)
            elif below is None:
                raise Refused(here, f"`{name}` is no field of this kind")
            elif not names_element(value, self.loop.names):
                self.outside = True
                part = self.merge.map({key: value}, at, path)
                assert isinstance(part, dict)
                found.update(part)
            elif isinstance(value, dict):
                found[key] = self.map(value, below, (*keys, name), here)
            elif isinstance(value, list) and below.type.relation == Relation.KEYED:
                found[key] = self._list(value, below.type, (*keys, name), here)
            else:
                raise Refused(here, _LAST)
        return found

    def _list(self, items: list[JSON], kind: SchemaType, keys: tuple[str, ...], path: str) -> JSON:
        found: list[JSON] = []
        for number, item in enumerate(items):
            at = f"{path}[{number}]"
            if not isinstance(item, dict):
                raise Refused(at, "a value in a list whose items are maps")
            made = self._item(item, kind, keys, at)
            if isinstance(made, str) and len(items) > 1:
                raise Refused(path, "several items, one of which is about the items of the loop")
            found.append(made)
        return found[0] if isinstance(found[0], str) else found

    def _item(self, item: JSONObject, kind: SchemaType, keys: tuple[str, ...], path: str) -> JSON:
        """Return what an item changes: an item of the overlay, or an expression for the list."""
        key = kind.keys[0]
        own = [each for each in item if _is_own(each, item[each], key, self.loop)]
        if not own:
            return self._new(item, path)
        here = any(each.keys() == keys for each in self.loop.lists)
        if not here or (own[0] == key and len(self.loop.lists) > 1):
            raise Refused(path, "the items of the loop are not only those of this list")
        rest = {name: value for name, value in item.items() if name != own[0]}
        if not names_element(rest, self.loop.names) and not self.loop.condition:
            assert kind.item is not None
            return self.merge.as_map({f"({key})": "*", **rest}, kind.item, path)
        body = self._literal({key: item[own[0]], **rest}, (), path)
        source = self.loop
        if len(source.lists) > 1:
            whole = f"request.object.{'.'.join(keys)}"
            items = translated(read, whole, self.merge.scope, path).or_value("[]")
            source = replace(source, items=items)
        return f"${{{source.mapped(body)}}}"

    def _new(self, item: JSONObject, path: str) -> JSON:
        if marks_in(item):
            raise Refused(path, "anchors in an item about the items of the loop")
        return f"${{{self.loop.mapped(cel(item, self.loop.scope, path))}}}"

    def _literal(self, tree: JSONObject, at: tuple[str, ...], path: str) -> str:
        """Return CEL of a map that is merged into the item; keys with + if they are missing."""
        entries: list[tuple[str, str]] = []
        names: list[str] = []
        for key, value in tree.items():
            here = f"{path}.{key}"
            mark, name = marked(key, here)
            if mark in _CONDITIONS:
                raise Refused(here, "a condition in an item about the items of the loop")
            below = (*at, name)
            if isinstance(value, dict) and marks_in(value) and mark is Mark.NONE:
                entries.append((self._literal(value, below, here), "map"))
            elif marks_in(value):
                raise Refused(here, "anchors in a list of an item about the items of the loop")
            else:
                entries.append(typed_cel(value, self.loop.scope, here))
            names.append(string_literal(name))
            if mark is Mark.ADD:
                missing = f"{self._access(below)}.hasValue()"
                text, kind = entries[-1]
                if len(tree) > 1 and kind != "dyn":
                    text = f"dyn({text})"
                text = f"{missing} ? optional.none() : optional.of({text})"
                names[-1] = f"?{names[-1]}"
                entries[-1] = (text, "dyn")
        texts = alike(entries)
        return f"{{{', '.join(f'{key}: {text}' for key, text in zip(names, texts, strict=True))}}}"

    def _access(self, keys: tuple[str, ...]) -> str:
        steps = (f".?{each}" if is_field(each) else f"[?{string_literal(each)}]" for each in keys)
        return self.loop.item + "".join(steps)


def _is_own(marked_key: str, value: JSON, key: str, loop: ForeachLoop) -> bool:
    """Return whether a field says that an item has the key of the loop's item."""
    if marked_key not in (key, f"({key})") or not isinstance(value, str):
        return False
    text = value.removeprefix("{{").removesuffix("}}").strip()
    return value.startswith("{{") and text in (f"element.{key}", f"element0.{key}")
