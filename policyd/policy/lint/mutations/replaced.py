"""Advice on overlays that replace a list without keys, so that the items of the object are lost.

Nothing is reported where the author sees the list: in an item with its key, beside a condition on
the list, below ``+(key)``, or if a matchCondition or the list's own expression names it.
"""

from collections.abc import Iterator
from typing import Any

from policyd._core.schema.types import Field, Relation
from policyd.json_types import FieldPath
from policyd.mutation.overlays.directives import directive_of
from policyd.pattern.marks import Mark, split_if_known
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import CONDITION
from policyd.policy.model.findings import FormProblem, path_text

RULE = "replaced-list"
_WHOLE = ("ALL", "*")  # of capabilities, verbs …: nothing is lost
_WRITING = (None, Mark.NONE, Mark.ADD)  # of keys that are no conditions


def replaced(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for the overlays of a policy."""
    conditions = [each.text for each in policy.of_role(CONDITION)]
    for overlay, tree in policy.overlays:
        found = (_lists(tree, schema.root, ()) for schema in policy.schemas.values())
        for place in dict.fromkeys(path for paths in found for path in paths):
            if not any(str(place[-1]) in text for text in conditions):
                yield FormProblem(
                    (*overlay, *place),
                    f"{path_text(place)} is replaced: the items that an object already has are "
                    "lost",
                    "to keep them, write - $patch: append as the first item; if this is intended, "
                    "write - $patch: replace",
                    at_key=True,
                    rule=RULE,
                )


def _lists(tree: dict[str, Any], at: Field, path: FieldPath) -> Iterator[FieldPath]:
    """Yield the paths of the lists of a map that are replaced."""
    marks = [(key, *split_if_known(key)) for key in tree]
    looked_at = {name for _, mark, name in marks if mark not in _WRITING}
    for key, mark, name in marks:
        below = at.type.fields.get(name, at.type.extra)
        if mark not in (None, Mark.NONE) or name in looked_at or below is None:
            continue
        value = tree[key]
        if isinstance(value, dict):
            yield from _lists(value, below, (*path, key))
        elif isinstance(value, list) and below.type.is_list and not below.type.is_map:
            yield from _in_list(value, below, (*path, key))


def _in_list(items: list[Any], at: Field, path: FieldPath) -> Iterator[FieldPath]:
    item = at.type.item
    if item is None or any(map(directive_of, items)):
        return
    conditional = [each for each in items if isinstance(each, dict) and _has_conditions(each)]
    if at.type.relation == Relation.ATOMIC and not conditional:
        own = str(path[-1])
        covered = any(each in _WHOLE or _names(each, own) for each in items)
        if items and not covered:
            yield path
        return
    for index, each in enumerate(items):
        if isinstance(each, dict) and not any(key in each for key in at.type.keys):
            yield from _lists(each, item, (*path, index))


def _names(value: Any, field: str) -> bool:
    """Whether an expression in a value reads a field of this name: the list itself."""
    if isinstance(value, dict):
        return any(_names(each, field) for each in value.values())
    return isinstance(value, str) and "${" in value and field in value


def _has_conditions(tree: dict[str, Any]) -> bool:
    return any(
        split_if_known(key)[0] not in _WRITING
        or (isinstance(value, dict) and _has_conditions(value))
        for key, value in tree.items()
    )
