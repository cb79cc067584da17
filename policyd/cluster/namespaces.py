"""Namespace objects: their path, and the fields that are kept of followed ones."""

from collections.abc import Callable, Collection
from typing import TypeAlias

from policyd.json_types import JSON, JSONObject

PATH = "api/v1/namespaces"
# A field, by its keys.
FieldKeys = tuple[str, ...]
_Tree: TypeAlias = dict[str, "_Tree | None"]
_NAME = ("metadata", "name")
_MANAGED = "managedFields"


def kept(fields: Collection[FieldKeys]) -> Callable[[JSONObject], JSONObject]:
    """Return a function that keeps the name of a Namespace and everything at or below these fields,
    except managedFields, which namespaceObject does not have.
    """
    tree = _tree([_NAME, *fields])

    def keep(found: JSONObject) -> JSONObject:
        part: JSONObject = _part(found, tree)
        metadata = {key: value for key, value in part["metadata"].items() if key != _MANAGED}
        return {**part, "metadata": metadata}

    return keep


def _tree(paths: Collection[FieldKeys]) -> _Tree | None:
    """Return the paths as a tree; None keeps everything."""
    if () in paths:
        return None
    firsts = {path[0] for path in paths}
    return {key: _tree([path[1:] for path in paths if path[0] == key]) for key in firsts}


def _part(value: JSON, tree: _Tree | None) -> JSON:
    if tree is None or not isinstance(value, dict):
        return value
    return {key: _part(value[key], below) for key, below in tree.items() if key in value}
