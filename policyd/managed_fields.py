"""Finds the last writers of an object's fields, as recorded in ``managedFields``."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from policyd.json_types import JSONObject
from policyd.ownership import MANAGER, owners_in

# The path of a field in managedFields: ``f:spec`` for a field, ``k:{"name":"a"}`` for an item.
ManagedField = tuple[str, ...]


def field_path(*names: str) -> ManagedField:
    """Return the path of nested fields."""
    return tuple(f"f:{each}" for each in names)


def item(name: str) -> str:
    """Return the part of a path for the list item with this name."""
    return f"k:{json.dumps({'name': name}, separators=(',', ':'))}"


def shown(path: ManagedField) -> str:
    """Return a path in readable form: ``webhooks[a].rules``."""
    parts = [
        f".{each[2:]}" if each.startswith("f:") else f"[{json.loads(each[2:])['name']}]"
        for each in path
    ]
    return "".join(parts).removeprefix(".")


def differing_marks(found: JSONObject, wanted: JSONObject, *names: str) -> list[ManagedField]:
    """Return the wanted entries of these metadata maps, and the wanted owners, that are missing."""
    there, metadata = found.get("metadata") or {}, wanted["metadata"]
    paths = [
        field_path("metadata", name, key)
        for name in names
        for key, value in (metadata.get(name) or {}).items()
        if (there.get(name) or {}).get(key) != value
    ]
    if not all(each in owners_in(found) for each in owners_in(wanted)):
        paths.append(field_path("metadata", "ownerReferences"))
    return paths


def owners(found: JSONObject, path: ManagedField) -> set[str]:
    """Return the field managers that own a field, or a part of it."""
    return {
        str(each.get("manager")) for each in _entries(found) if _has(each.get("fieldsV1"), path)
    }


def changed_by(found: JSONObject, paths: Collection[ManagedField]) -> str:
    """Return the other managers of these fields, or else the last writer; empty if none is known.
    Removed fields have no owner.
    """
    others = [each for each in _entries(found) if each.get("manager") != MANAGER]
    of_these = [each for each in others if any(_has(each.get("fieldsV1"), path) for path in paths)]
    if not of_these:
        last = max((str(each.get("time") or "") for each in others), default="")
        of_these = [each for each in others if str(each.get("time") or "") == last]
    return " and ".join(sorted({str(each.get("manager")) for each in of_these}))


def _entries(found: JSONObject) -> Iterator[JSONObject]:
    """Yield the record of each manager, except of writes of a status."""
    for each in (found.get("metadata") or {}).get("managedFields") or ():
        if not each.get("subresource"):
            yield each


def _has(fields: Any, path: ManagedField) -> bool:
    for each in path:
        if not isinstance(fields, dict) or each not in fields:
            return False
        fields = fields[each]
    return True
