"""Values that a test of Kyverno gives in place of what its policy would get from the cluster.
Evaluates nothing.
"""

import json
from collections.abc import Iterator

from policyd.json_types import JSON, JSONObject

_FETCHED = frozenset(("apiCall", "globalReference"))


def substituted(policy: JSON, values: JSONObject) -> JSON:
    """Return a policy in which variables with these values stand in place of calls and references
    of the same names.
    """
    if isinstance(policy, list):
        return [substituted(each, values) for each in policy]
    if not isinstance(policy, dict):
        return policy
    name = policy.get("name")
    if isinstance(name, str) and _FETCHED & policy.keys():
        found = [*_values_of(name, values)]
        if found:
            return {"name": name, "variable": {"value": found[-1]}}
    return {key: substituted(each, values) for key, each in policy.items()}


def _values_of(name: str, values: JSONObject) -> Iterator[JSON]:
    """Yield the values of a variable, the last of which has all the fields that are given."""
    fields: JSONObject = {}
    for key, value in values.items():
        if key == name:
            yield _decoded(value)
        elif key.startswith(f"{name}."):
            *above, last = key.removeprefix(f"{name}.").split(".")
            holder = fields
            for part in above:
                if not isinstance(holder.get(part), dict):
                    holder[part] = {}
                holder = holder[part]
            holder[last] = value
            yield fields


def _decoded(value: JSON) -> JSON:
    """Return the list or number that a string such as ``["a"]`` or ``1`` stands for to operators of
    Kyverno.
    """
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return value if isinstance(found, bool | None) else found
