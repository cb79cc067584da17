"""``mutate.foreach``: each entry becomes one mutation, which sees what those before it changed."""

import re
from dataclasses import dataclass, field, replace

from policyd._core.schema.types import Relation
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.elements import merged_elements
from policyd.importers.kyverno.mutate.loops import ForeachLoop, loop_of
from policyd.importers.kyverno.mutate.merge import Merge
from policyd.importers.kyverno.mutate.operations import (
    LenientPatch,
    Surroundings,
    as_overlay,
    read_operations,
)
from policyd.importers.kyverno.mutate.patches import (
    RuleSchemas,
    surroundings,
    with_marks,
)
from policyd.importers.kyverno.mutate.pointers import Pointer
from policyd.importers.kyverno.mutate.texts import names_element, words_of
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.policies import json_patch, overlay
from policyd.json_types import JSON, JSONObject

_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
_AGAIN = "the rule's variables are evaluated after each mutation; in Kyverno, once before all loops"
BODIES = ("patchStrategicMerge", "patchesJson6902", "foreach")


def loops(
    entries: list[JSONObject],
    schemas: RuleSchemas,
    scope: Vocabulary,
    path: str,
    notes: ImportNotes,
    *,
    has_context: bool,
) -> JSONObject:
    """Return the mutations of a ``foreach``, and matchConditions. ``has_context``: the rule has its
    own variables, which Kyverno evaluates once, before the loops. Raises Refused.
    """
    found = _Mutations()
    conditions: list[JSONObject] = []
    for number, entry in enumerate(entries):
        at = f"{path}[{number}]"
        loop = loop_of(entry, scope, at)
        if body_of(entry, at) == "patchStrategicMerge":
            here = f"{at}.patchStrategicMerge"
            mutation, needs_element = merged_elements(
                entry["patchStrategicMerge"], schemas, loop, Merge(scope, notes), here
            )
            if needs_element and loop.may_be_empty:
                if len(entries) > 1:
                    raise Refused(at, "it sets fields outside of the list only if an item counts")
                conditions.append({"name": "an-item-counts", "expression": loop.any()})
            found.mutations.append(mutation)
        else:
            overlaid = _overlay(entry, loop, schemas, at)
            if overlaid is not None:
                found.mutations.append(overlaid)
                continue
            prelude: list[str] = []
            text = _operations(entry, (loop,), surroundings(schemas, scope), at, prelude)
            found.patch(" + ".join([*prelude, text]), entry, join=has_context)
    if has_context and len(found.mutations) > 1:
        notes.remark(path, _AGAIN)
    return {"matchConditions": conditions, "mutations": found.mutations}


@dataclass(slots=True)
class _Mutations:
    mutations: list[JSONObject] = field(default_factory=list)
    # The fields that the operations of the last mutation write, if it is a JSON Patch.
    written: set[str] = field(default_factory=set)

    def patch(self, text: str, entry: JSONObject, *, join: bool) -> None:
        """Add a JSON Patch; to the last one if they are independent, so that both are about the
        same object.
        """
        if join and self.written and not self.written & words_of(str(entry)):
            before = self.mutations[-1]["jsonPatch"]["expression"]
            self.mutations[-1] = json_patch(f"{before} + {text}")
        else:
            self.mutations.append(json_patch(text))
            self.written = set()
        self.written |= _words_written(entry)


def _words_written(entry: JSON) -> set[str]:
    """Return the last fields of the paths of a loop: ``volumes`` of ``/spec/volumes/0``."""
    if not isinstance(entry, dict):
        return set()
    found = set().union(*map(_words_written, entry.get("foreach") or ()))
    patch = entry.get("patchesJson6902")
    for text in re.findall(r"path: *[\"']?([^\s\"']+)", patch if isinstance(patch, str) else ""):
        keys = [each for each in _VARIABLE.sub("0", text).split("/") if each.isalpha()]
        found.update(keys[-1:])
    return found


def _overlay(
    entry: JSONObject, loop: ForeachLoop, schemas: RuleSchemas, path: str
) -> JSONObject | None:
    """Return the overlay of a patch of each item of one list; None if it is something else."""
    element, patch = loop.element, entry.get("patchesJson6902")
    if not patch or schemas is None or element is None or loop.condition:
        return None
    operations = read_operations(patch, loop.scope, f"{path}.patchesJson6902")
    if any(
        each.to.steps[: len(element)] != element or names_element(each.value, loop.names)
        for each in operations
    ):
        return None
    keys = loop.lists[0].keys()
    tree = as_overlay(
        [replace(each, to=Pointer(each.to.steps[len(element) :])) for each in operations]
    )
    if tree is None or keys is None:
        return None
    found: list[JSON] = []
    for root in schemas:
        at = loop.lists[0].field(root)
        item = at.type.item if at is not None and at.type.relation == Relation.KEYED else None
        made = with_marks(tree, item, loop.scope, path) if item is not None else None
        if at is None or made is None:
            return None
        whole: JSON = [{f"({at.type.keys[0]})": "*", **made}]
        for key in reversed(keys):
            whole = {key: whole}
        found.append(whole)
    return overlay(found[0]) if all(each == found[0] for each in found) else None


def body_of(entry: JSONObject, path: str) -> str:
    """Return which of its forms a mutation, or a loop of one, has. Raises Refused."""
    found = [name for name in BODIES if entry.get(name)]
    if len(found) != 1:
        raise Refused(path, f"one of {', '.join(BODIES)} is expected")
    return found[0]


def _operations(
    entry: JSONObject,
    around: tuple[ForeachLoop, ...],
    known: Surroundings,
    path: str,
    prelude: list[str],
) -> str:
    """Return CEL of the operations of a loop. ``prelude`` gets those to be made once, before it."""
    loop = around[-1]
    if body_of(entry, path) == "foreach":
        body, flat = _nested(entry["foreach"], around, known, f"{path}.foreach", prelude)
    elif body_of(entry, path) == "patchesJson6902":
        body, flat = _patch(
            entry["patchesJson6902"], around, known, f"{path}.patchesJson6902", prelude
        )
    else:
        raise Refused(path, "patchStrategicMerge in a foreach of a foreach")
    found = loop.mapped(body)
    return found if flat else f"{found}.flatten()"


def _nested(
    entries: JSON,
    around: tuple[ForeachLoop, ...],
    known: Surroundings,
    path: str,
    prelude: list[str],
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
    return " + ".join([*here, *texts]), False


def _patch(
    patch: JSON, around: tuple[ForeachLoop, ...], known: Surroundings, path: str, prelude: list[str]
) -> tuple[str, bool]:
    loop = around[-1]
    named = {each.element: each.item for each in around if each.element is not None}
    inner = Surroundings(loop.scope, known.known, named)
    written = LenientPatch(inner, prelude=lambda text: not _mentions(text, loop))
    for operation in read_operations(patch, loop.scope, path):
        written.add(operation)
    prelude += dict.fromkeys(written.before)
    return written.body()


def _mentions(text: str, loop: ForeachLoop) -> bool:
    return not {loop.item, loop.index}.isdisjoint(words_of(text))
