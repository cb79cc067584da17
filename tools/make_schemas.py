"""Generate the tables of built-in schemas in policyd/mutation/schemas, one for each version.

python -m tools.make_schemas            # all versions
python -m tools.make_schemas 1.38       # one

They are from the OpenAPI documents and Go types that the modules of a version publish
(``tools/kubernetes``). A table is JSON Lines. The first line holds ``version``, ``kinds``
({"group/version/kind": definition}, the kinds that ApplyConfiguration can merge) and ``decoded``
(the same for kinds that only occur in subresources of other groups, such as Scale: their results
can be checked). Each other line is one ``{"name", "schema"}``: the OpenAPI schema without
descriptions and value rules, with these additions:

- ``go``: the Go type as error messages print it, without the star of a pointer;
- ``pointer``: true if Go has a pointer, so that zero differs from absent;
- ``via``: the embedded Go structs that contain the field (``VolumeSource.``), also part of
  messages;
- ``omit``: ``empty`` or ``zero``: Go's omitempty or omitzero, so that such values are not printed.

The table of the default version is whole. Those of the other versions have only the schemas that
differ from it, so after a change of the default version all are made anew.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping, Set
from typing import Any

from policyd.json_types import JSONObject
from policyd.mutation.schemas.tables import lines_of, table_path
from policyd.versions import NEWEST, KubernetesVersion
from tools.kubernetes import modules

BASE = str(NEWEST)
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


def main(versions: list[str]) -> None:
    if not versions or BASE in versions:
        versions = [BASE, *(version for version in modules.RELEASES if version != BASE)]
    for version in versions:
        write(version, *table(version))


def table(version: str) -> tuple[JSONObject, dict[str, JSONObject]]:
    """Return the first line of a version's table, and its schemas by name."""
    kinds: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    definitions: dict[str, JSONObject] = {}
    for group_version, document in modules.openapi(version):
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            # DeleteOptions and WatchEvent differ by group only in the kinds they claim.
            definitions[name] = pruned(schema, keys_of_items(name, document))
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                if kind["kind"].endswith(NOT_OBJECTS):
                    continue
                home = "/".join(filter(None, (kind["group"], kind["version"])))
                key = f"{kind['group']}/{kind['version']}/{kind['kind']}"
                (kinds if home == group_version else elsewhere)[key] = name
    structs, missing = modules.go_types(version)
    for part, reason in missing.items():
        print(f"{version}: no Go types of {part}, those of {BASE} are used: {reason}")
        structs = {**modules.go_types(BASE)[0], **structs}
    add_go_types(definitions, structs)
    decoded = {kind: name for kind, name in sorted(elsewhere.items()) if kind not in kinds}
    used = reachable(definitions, [*kinds.values(), *decoded.values()])
    release = f"v{modules.RELEASES[version]}"
    return {"version": release, "kinds": dict(sorted(kinds.items())), "decoded": decoded}, used


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


def add_go_types(definitions: dict[str, JSONObject], structs: Mapping[str, JSONObject]) -> None:
    for name, definition in definitions.items():
        struct = structs.get(name)
        if struct is None:
            continue
        definition["go"] = struct["name"].rpartition(".")[2]
        for field, member in definition.get("properties", {}).items():
            annotate(member, struct["fields"][field])


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
    lines = {name: line({"name": name, "schema": each}) for name, each in definitions.items()}
    if version != BASE:
        whole = lines_of(table_path(NEWEST).read_bytes())[1]
        lines = {name: each for name, each in lines.items() if each != whole.get(name)}
    # Without a time stamp, so that the same modules produce the same bytes.
    packed = gzip.compress(b"\n".join([line(head), *lines.values()]), 9, mtime=0)
    table_path(KubernetesVersion.parse(version)).write_bytes(packed)
    print(f"{version}: {len(head['kinds'])} kinds, {len(lines)} schemas, {len(packed)} bytes")


def line(value: JSONObject) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


if __name__ == "__main__":
    main(sys.argv[1:])
