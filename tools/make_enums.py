"""Generate the table of enumerations, policyd/policy/kinds/enums.json, from a real kube-apiserver.

python -m tools.make_enums

Starts the newest API server of ``tests/e2e`` with all API versions enabled and reads /openapi/v3.
The file has one line for each definition that has an enumeration: ``{field: values}``. The name of
a field ends with ``[]`` where its items are meant, and with ``{}`` for the values of a map.
"""

import json
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.e2e.cluster import Cluster, cluster

TARGET = Path(__file__).resolve().parent.parent / "policyd" / "policy" / "kinds" / "enums.json"
FLAGS = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"]


def main() -> None:
    with cluster(flags=FLAGS) as server:
        TARGET.write_text(text(enumerations(server)))


def enumerations(server: Cluster) -> dict[str, dict[str, list[str]]]:
    """Return the values of each enumeration, by definition and field."""
    found: dict[str, dict[str, list[str]]] = {}
    for _, document in server.schemas():
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            fields = dict(_of_fields(schema))
            if fields:
                found[name] = fields
    return found


def _of_fields(schema: JSONObject) -> Any:
    for field, member in schema.get("properties", {}).items():
        for mark, part in (
            ("", member),
            ("[]", member.get("items")),
            ("{}", member.get("additionalProperties")),
        ):
            if isinstance(part, dict) and "enum" in part:
                yield field + mark, sorted(part["enum"])


def text(found: dict[str, dict[str, list[str]]]) -> str:
    """Return the content of the file."""
    lines = [
        f" {json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
