"""Empty lists that ``Object{...}`` writes into custom resources: nil slices in Go.

Kubernetes sees an empty list until a later JSON Patch or the storage prints the object as JSON,
where the list is null. The API server then drops a null that the schema of the custom resource does
not allow (kube-apiserver, apiextensions-apiserver
``pkg/apiserver/schema/defaulting/prunenulls.go``).
"""

from collections.abc import Iterator
from typing import Any

from policyd._core.go.printing import EMPTY
from policyd._core.json.tree import contains
from policyd.json_types import JSON, JSONObject

_Parent = dict[str, Any] | list[Any]


def printed(obj: JSONObject) -> JSONObject:
    """Return the object as a JSON Patch sees it, with null for such lists."""
    if not contains(obj, EMPTY):
        return obj
    root: list[Any] = [obj]
    for parent, key, _ in _empty_lists(root, None):
        parent[key] = None
    result: JSONObject = root[0]
    return result


def stored(obj: JSON, structural: JSONObject | None) -> JSON:
    """Return the object as the API server stores it, of a kind with this structural schema.

    A nullable field and a field without a schema get null. A list in a list stays empty, because
    the API server would refuse null there. All other such lists are dropped.
    """
    if not contains(obj, EMPTY):
        return obj
    root: list[Any] = [obj]
    for parent, key, schema in list(_empty_lists(root, structural)):
        if isinstance(parent, list):
            parent[key] = []
        elif schema is None or schema.get("nullable"):
            parent[key] = None
        else:
            del parent[key]
    return root[0]


def _empty_lists(
    root: list[Any], structural: JSONObject | None
) -> Iterator[tuple[Any, Any, JSONObject | None]]:
    """Yield the place of each such list: a copy of the map or list that has it, its key there, and
    its schema. Does not recurse, because the object may have 1,000 levels.
    """
    metadata: JSONObject = {"additionalProperties": {}}  # as if it could contain no null
    schema = structural and {
        **structural,
        "properties": {**structural.get("properties", {}), "metadata": metadata},
    }
    rest: list[tuple[_Parent, JSONObject | None]] = [(root, {"items": schema})]
    while rest:
        parent, known = rest.pop()
        for key, item in [*(parent.items() if isinstance(parent, dict) else enumerate(parent))]:
            below = _below(known, key)
            if item is EMPTY:
                yield parent, key, below
            elif isinstance(item, dict | list):
                parent[key] = item.copy()
                rest.append((parent[key], below))


def _below(schema: JSONObject | None, key: object) -> JSONObject | None:
    """Return the schema of a member or item, or None."""
    if not schema:
        return None
    if isinstance(key, int):
        found = schema.get("items")
    else:
        found = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return found if isinstance(found, dict) else None
