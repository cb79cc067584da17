"""The schema of the inline params of a Policy, from their values. Gives no advice."""

from typing import Any

from policyd.json_types import JSONObject


def schema_of(value: Any) -> JSONObject:
    """Return the schema of a constant; empty for null, for floats, which are also compared with
    integers, and for what else may be of any type. Fields that are missing are reported elsewhere.
    """
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
        case list():
            items = [schema_of(each) for each in value]
            same = bool(items) and all(each == items[0] for each in items)
            return {"type": "array", "items": items[0] if same else {}}
        case dict():
            return {
                "type": "object",
                "properties": {str(key): schema_of(each) for key, each in value.items()},
                "required": [*map(str, value)],
                "x-kubernetes-preserve-unknown-fields": True,
            }
    return {}
