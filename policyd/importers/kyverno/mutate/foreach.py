"""``mutate.foreach``: each entry becomes one mutation, which sees what those before it changed."""

import re

from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.elements import merged_elements
from policyd.importers.kyverno.mutate.loops import Loop, loop_of
from policyd.importers.kyverno.mutate.operations import LenientPatch, Surroundings, read_operations
from policyd.importers.kyverno.mutate.patches import Schemas, as_json_patch, surroundings
from policyd.importers.kyverno.rule import RuleParts
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSON, JSONObject

_BODIES = ("patchStrategicMerge", "patchesJson6902", "foreach")


def loops(entries: JSON, schemas: Schemas, scope: Vocabulary, path: str) -> RuleParts:
    """Return the mutations of a ``foreach``. Raises Refused."""
    if not isinstance(entries, list):
        raise Refused(path, "a list is expected")
    mutations: list[JSONObject] = []
    conditions: list[JSONObject] = []
    remarks: list[ImportRemark] = []
    for number, entry in enumerate(entries):
        at = f"{path}[{number}]"
        loop = loop_of(entry, scope, at)
        if _body(entry, at) == "patchStrategicMerge":
            merged = merged_elements(
                entry["patchStrategicMerge"], schemas, loop, scope, f"{at}.patchStrategicMerge"
            )
            mutations.append(merged.mutation)
            remarks += merged.remarks
            if merged.needs_element and loop.may_be_empty:
                if len(entries) > 1:
                    raise Refused(at, "it sets fields outside of the list only if an item counts")
                conditions.append({"name": "an-item-counts", "expression": loop.any()})
            continue
        prelude: list[str] = []
        expression = _operations(entry, (loop,), surroundings(schemas, scope), at, prelude)
        mutations.append(as_json_patch("\n+ ".join([*prelude, expression])))
    spec: JSONObject = {"matchConditions": conditions} if conditions else {}
    return RuleParts({**spec, "mutations": mutations}, tuple(remarks))


def _body(entry: JSONObject, path: str) -> str:
    found = [name for name in _BODIES if entry.get(name)]
    if len(found) != 1:
        raise Refused(path, f"one of {', '.join(_BODIES)} is expected")
    return found[0]


def _operations(
    entry: JSONObject, around: tuple[Loop, ...], known: Surroundings, path: str, prelude: list[str]
) -> str:
    """Return CEL of the operations of a loop. ``prelude`` gets those to be made once, before it."""
    loop = around[-1]
    if _body(entry, path) == "foreach":
        body, flat = _nested(entry["foreach"], around, known, f"{path}.foreach", prelude)
    elif _body(entry, path) == "patchesJson6902":
        body, flat = _patch(entry["patchesJson6902"], around, known, f"{path}.patchesJson6902", prelude)
    else:
        raise Refused(path, "patchStrategicMerge in a foreach of a foreach")
    found = loop.mapped(body)
    return found if flat else f"{found}.flatten()"


def _nested(
    entries: JSON, around: tuple[Loop, ...], known: Surroundings, path: str, prelude: list[str]
) -> tuple[str, bool]:
    texts: list[str] = []
    here: list[str] = []
    for number, entry in enumerate(entries):
        at = f"{path}[{number}]"
        inner = loop_of(entry, around[-1].scope, at, around)
        own: list[str] = []
        text = _operations(entry, (*around, inner), known, at, own)
        for each in own:
            (here if _mentions(each, around[-1]) else prelude).append(each)
        texts.append(text)
    return "\n+ ".join([*here, *texts]), False


def _patch(
    patch: JSON, around: tuple[Loop, ...], known: Surroundings, path: str, prelude: list[str]
) -> tuple[str, bool]:
    loop = around[-1]
    named = {each.element: each.item for each in around if each.element is not None}
    inner = Surroundings(loop.scope, known.root, known.known, named)
    written = LenientPatch(inner, prelude=lambda text: not _mentions(text, loop))
    for operation in read_operations(patch, loop.scope, path):
        written.add(operation)
    prelude += dict.fromkeys(written.before)
    return written.body()


def _mentions(text: str, loop: Loop) -> bool:
    return re.search(rf"\b(?:{loop.item}|{loop.index})\b", text) is not None
