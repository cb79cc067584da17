"""The directives of strategic merge patches: those that overlays support, and replacements for the
others.
"""

from typing import Any

from policyd.json_types import FieldPath
from policyd.pattern.faults import Fault

DIRECTIVE, DELETE = "$patch", "delete"
# Directives of a list, in a separate item.
APPEND, PREPEND, REPLACE = "append", "prepend", "replace"
DIRECTIVES = (APPEND, PREPEND, REPLACE)
_MERGED = "remove it: maps and items are merged; to remove a key write KEY: null"
# Directives of other keys, without the name of a list after a slash.
_OTHERS = {
    "$retainKeys": "write KEY: null for each key to remove; the others stay",
    "$setElementOrder": "remove it: items keep their order; - $patch: prepend puts new ones first",
    "$deleteFromPrimitiveList": "write - $patch: replace and what remains, or a JSONPatch",
}


def directive_of(item: Any) -> str:
    """Return the list directive that an item is; empty for any other item."""
    if isinstance(item, dict) and item.keys() == {DIRECTIVE}:
        found = item[DIRECTIVE]
        return found if found in DIRECTIVES else ""
    return ""


def unknown_key(key: str, at: FieldPath) -> Fault | None:
    """Return the fault of a key that begins like a directive; None for all other keys."""
    if not key.startswith("$") or key == DIRECTIVE:
        return None
    of_list = "- $patch: append, prepend or replace as an item of a list"
    hint = f"write $patch: delete in an item of a list, or {of_list}"
    hint = _OTHERS.get(key.partition("/")[0], hint)
    return Fault(at, f"{key} is no directive of overlays", hint, at_key=True)


def wrong_value(value: Any, at: FieldPath) -> Fault | None:
    """Return the fault of a ``$patch`` beside other keys; None for ``delete``."""
    if value == DELETE:
        return None
    holder = at[-2] if len(at) > 1 else ""
    hint = "only delete is understood, of items of a list; to remove a key write KEY: null"
    if isinstance(value, str) and value.lower() == DELETE:
        hint = f"write {DELETE}"
    elif value == "merge":
        hint = _MERGED
    elif value == REPLACE and isinstance(holder, str):
        hint = "a map is merged: write KEY: null for each key to remove, or a JSONPatch"
    elif value in DIRECTIVES:
        hint = f"of a list, write it as an item of its own: - $patch: {value}"
    return Fault(at, f"Unsupported value: {value!r}", hint)


def wrong_item(item: Any, at: FieldPath) -> Fault | None:
    """Return the fault of an item that consists of a ``$patch`` with an unknown value; None for all
    other items, and for ``delete``, which lacks its key.
    """
    if not isinstance(item, dict) or item.keys() != {DIRECTIVE} or directive_of(item):
        return None
    value = item[DIRECTIVE]
    if value == DELETE:
        return None
    hint = _MERGED if value == "merge" else f"write one of {', '.join(DIRECTIVES)}"
    return Fault((*at, DIRECTIVE), f"Unsupported value: {value!r}", hint)
