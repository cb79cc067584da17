"""ConfigMaps that hold policies, as an API server returns them."""

import base64
import json
from collections.abc import Mapping

from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy

LABELS = {"policyd.dev/policies": "true"}
NAMESPACE = "policyd"


def policy_map(
    name: str,
    files: Mapping[str, bytes | str] | None = None,
    *,
    version: int = 1,
    **keys: JSONObject | str,
) -> JSONObject:
    """A ConfigMap with these files, and the keys ``NAME.yaml`` with documents or texts."""
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    named = {f"{key}.yaml": value for key, value in keys.items()}
    for file, value in {**named, **(files or {})}.items():
        if isinstance(value, bytes):
            binary[file] = base64.b64encode(value).decode()
        else:
            data[file] = value if isinstance(value, str) else json.dumps(value)
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-20T08:00:00Z",
        "labels": LABELS,
    }
    made: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {**made, "data": data, **({"binaryData": binary} if binary else {})}


def of_day(config_map: JSONObject, day: int) -> JSONObject:
    """The ConfigMap as if it had been created on this day."""
    created = f"2026-11-{day:02}T08:00:00Z"
    return {**config_map, "metadata": {**config_map["metadata"], "creationTimestamp": created}}


def forbidding(name: str, key: str = "bad") -> JSONObject:
    """A policy that denies ConfigMaps with this key; its message is the name and the key."""
    return policy(
        name, CONFIG_MAPS, validations=[demand(f"!has(object.data.{key})", f"{name}: no {key}")]
    )


# A policy with an error in its expression.
BROKEN = policy("broken", CONFIG_MAPS, validations=[demand("object.", "never")])
