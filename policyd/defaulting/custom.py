"""Defaults of custom resources: ``default`` in the structural schema of their definition.

The rules are from k8s.io/apiextensions-apiserver, pkg/apiserver/schema/defaulting: the default
replaces null in a field that is not nullable; without a default, null is removed.
"""

from policyd.defaulting.go_values import UndecodableError, copied, decode, printed
from policyd.json_types import JSON, JSONObject, object_in
from policyd.mutation.schemas.schemas import KindSchema


def with_structural_defaults(obj: JSONObject, kind: KindSchema) -> JSONObject:
    """Return a custom resource with the defaults of its schema; its metadata has a Go type."""
    result: JSONObject = copied(obj)
    metadata = kind.root.type.fields["metadata"]
    if "metadata" in result:
        try:
            result["metadata"] = printed(decode(obj["metadata"], metadata), metadata.type)
        except UndecodableError:
            return obj
    add_defaults(result, kind.structural)
    return result


def add_defaults(value: JSON, schema: JSON) -> None:
    """Add the defaults of a structural schema to a value, in place."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict):
        _apply_map(value, schema)
    elif isinstance(value, list):
        items = schema.get("items")
        for index, each in enumerate(value):
            if _is_refused(each, items):
                value[index] = copied(_default(items))
            add_defaults(value[index], items)


def _apply_map(value: JSONObject, schema: JSONObject) -> None:
    members = object_in(schema, "properties")
    for name, member in members.items():
        if _default(member) is not None and (name not in value or _is_refused(value[name], member)):
            value[name] = copied(_default(member))
    for name in list(value):
        below = members[name] if name in members else schema.get("additionalProperties")
        if _is_refused(value[name], below):
            if _default(below) is None:
                del value[name]
                continue
            value[name] = copied(_default(below))
        add_defaults(value[name], below)


def _default(schema: JSON) -> JSON:
    return schema.get("default") if isinstance(schema, dict) else None


def _is_refused(value: JSON, schema: JSON) -> bool:
    """Whether this is null although the schema does not allow it."""
    return value is None and isinstance(schema, dict) and schema.get("nullable") is not True
