"""Generate the table of built-in schemas in policyd/mutation/schemas from a real kube-apiserver.

python -m tools.make_schemas

Starts the API server of ``tests/e2e`` with all API versions enabled and reads /openapi/v3;
``tests/e2e/apiserver/gotypes`` adds what OpenAPI leaves out. The file is JSON Lines. The first line
holds ``version``, ``kinds`` ({"group/version/kind": definition}, the kinds that ApplyConfiguration
can merge) and ``decoded`` (the same for kinds that only occur in subresources of other groups, such
as Scale: their results can be checked). Each other line is one ``{"name", "schema"}``: the OpenAPI
schema without descriptions and value rules, with these additions:

- ``go``: the Go type as error messages print it, without the star of a pointer;
- ``pointer``: true if Go has a pointer, so that zero differs from absent;
- ``via``: the embedded Go structs that contain the field (``VolumeSource.``), also part of
  messages;
- ``omit``: ``empty`` or ``zero``: Go's omitempty or omitzero, so that such values are not printed.
"""

import gzip
import json
import subprocess
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests import kubernetes
from tests.e2e.cluster import MODULE, cluster

TARGET = Path(__file__).resolve().parent.parent / "policyd" / "mutation" / "schemas"
KEPT = {
    "type",
    "format",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
}
# Nobody mutates lists, watch events or the options of a call.
NOT_OBJECTS = ("List", "WatchEvent", "DeleteOptions", "Status")


def main() -> None:
    with cluster(
        flags=["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"]
    ) as server:
        documents = dict(server.schemas())
    kinds: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    definitions: dict[str, JSONObject] = {}
    for group_version, document in documents.items():
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            # DeleteOptions and WatchEvent differ by group only in the kinds they claim.
            definitions[name] = pruned(schema, keys_of_items(name, document))
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                if kind["kind"].endswith(NOT_OBJECTS):
                    continue
                home = "/".join(filter(None, (kind["group"], kind["version"])))
                key = f"{kind['group']}/{kind['version']}/{kind['kind']}"
                (kinds if home == group_version else elsewhere)[key] = name
    add_go_types(definitions, server.version)
    decoded = {kind: name for kind, name in sorted(elsewhere.items()) if kind not in kinds}
    used = reachable(definitions, [*kinds.values(), *decoded.values()])
    head = {"version": kubernetes.RELEASES[server.version], "kinds": dict(sorted(kinds.items()))}
    write(server.version, {**head, "decoded": decoded}, used)


def keys_of_items(name: str, document: JSONObject) -> set[str]:
    """Fields whose defaults are kept: only those that are keys of list items need them."""
    keys: set[str] = set()
    for schema in document["components"]["schemas"].values():
        for member in schema.get("properties", {}).values():
            if reference(member.get("items", {})) == name:
                keys.update(member.get("x-kubernetes-list-map-keys", []))
    return keys


def pruned(schema: JSONObject, defaults_of: Set[str] = frozenset()) -> JSONObject:
    """The schema without descriptions, rules and defaults, except those of ``defaults_of``."""
    kept = {key: value for key, value in schema.items() if key in KEPT}
    if reference(schema):
        kept["$ref"] = reference(schema)
    if "properties" in schema:
        kept["properties"] = {}
        for name, member in schema["properties"].items():
            kept["properties"][name] = pruned(member)
            if name in defaults_of and "default" in member:
                kept["properties"][name]["default"] = member["default"]
    if "items" in schema:
        kept["items"] = pruned(schema["items"])
    extra = schema.get("additionalProperties")
    if extra is not None:
        kept["additionalProperties"] = pruned(extra) if isinstance(extra, dict) else extra
    return kept


def reference(schema: JSONObject) -> str:
    """The name of the referenced definition, directly or in a single allOf; "" without one."""
    alone = schema.get("allOf") or [{}]
    path: str = schema.get("$ref") or alone[0].get("$ref", "")
    return path.rpartition("/")[2]


def add_go_types(definitions: dict[str, JSONObject], version: str) -> None:
    command = kubernetes.go(MODULE, version, "run", "./gotypes")
    printed = subprocess.run(command, cwd=MODULE, check=True, capture_output=True).stdout
    for line in printed.splitlines():
        struct = json.loads(line)
        definition = definitions.get(definition_name(struct["name"]))
        if definition is None:
            continue
        definition["go"] = struct["name"].rpartition(".")[2]
        for name, member in definition.get("properties", {}).items():
            annotate(member, struct["fields"][name])


def definition_name(go_name: str) -> str:
    """``k8s.io/api/core/v1.PodSpec`` -> ``io.k8s.api.core.v1.PodSpec``."""
    host, _, rest = go_name.partition("/")
    return ".".join([*reversed(host.split(".")), *rest.split("/")])


def annotate(schema: JSONObject, field: JSONObject) -> None:
    if field.get("omitzero") or field.get("omitempty"):
        schema["omit"] = "zero" if field.get("omitzero") else "empty"
    if "via" in field:
        schema["via"] = field["via"]
    if field["kind"] == "ptr":
        schema["pointer"] = True
        field = field["element"]
    schema["go"] = field["type"]
    if field["kind"] == "slice" and "items" in schema:
        annotate(schema["items"], field["element"])
    elif field["kind"] == "map" and isinstance(schema.get("additionalProperties"), dict):
        annotate(schema["additionalProperties"], field["element"])


def reachable(definitions: dict[str, JSONObject], roots: Iterable[str]) -> dict[str, JSONObject]:
    found: dict[str, JSONObject] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = definitions[name]
            waiting.extend(references(definitions[name]))
    return dict(sorted(found.items()))


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [name for member in schema.values() for name in references(member)]


def write(version: str, head: JSONObject, definitions: dict[str, JSONObject]) -> None:
    lines: list[JSONObject] = [head]
    lines += [{"name": name, "schema": schema} for name, schema in definitions.items()]
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    TARGET.mkdir(exist_ok=True)
    # Without a time stamp, so that the same server produces the same bytes.
    packed = gzip.compress(text.encode(), 9, mtime=0)
    (TARGET / f"kubernetes-{version}.jsonl.gz").write_bytes(packed)
    print(f"{len(head['kinds'])} kinds, {len(definitions)} definitions, {len(packed)} bytes")


if __name__ == "__main__":
    main()
