"""CEL types of Kubernetes objects, from OpenAPI schemas (built-in kinds and CRDs).

The types are the types of the values at run time, so they differ from the API server's type
checking: a date-time is a string, a field named ``a-b`` has no other spelling, a quantity is a
string, and a value without a type in the schema is dyn.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from policyd.cel.types.structs import Structs
from policyd.cel.types.types import BOOL, DOUBLE, DYN, INT, STRING, Type, list_of, map_of
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import (
    ANY_KIND,
    Gvk,
    Table,
    any_object,
    as_object,
    as_published,
    builtin_table,
)
from policyd.mutation.schemas.type_builder import QUANTITY
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCES
from policyd.versions import NEWEST, KubernetesVersion

_SCALARS = {"boolean": BOOL, "integer": INT, "number": DOUBLE, "string": STRING}
_ANY_MAP = map_of(STRING, DYN)
_SERVED_VERSIONS = {api_version for api_version, _ in BUILTIN_KINDS}


@cache
def go_fields(section: str) -> Mapping[str, frozenset[str]]:
    """Return fields by Go type, from ``go_fields.json``. ``alwaysThere``: optional fields that the
    API server sets or requires, so that every object has them when it is validated. ``nullable``:
    fields that it accepts and prints as null: without omitempty, or times.
    """
    table = json.loads(Path(__file__).with_name("go_fields.json").read_bytes())
    return {name: frozenset(fields.split()) for name, fields in table[section].items()}


def built_in_enum(definition: str, field: str) -> frozenset[str]:
    """Return the values of a field of an OpenAPI definition, in any supported version; empty if it
    is no enumeration. ``field`` ends with ``[]`` for the items of a list, with ``{}`` for the
    values of a map.
    """
    return frozenset(_enums().get(definition, {}).get(field, ()))


@cache
def _enums() -> Mapping[str, Mapping[str, list[str]]]:
    table: Mapping[str, Mapping[str, list[str]]]
    table = json.loads(Path(__file__).with_name("enums.json").read_bytes())
    return table


class ObjectTypes:
    """The types of some kinds, besides ``structs``, the struct types of admission. Created for each
    check: it records the names of the types that it returns.
    """

    def __init__(self, schemas: "KindSchemas", structs: Structs) -> None:
        self.structs = structs
        self._kinds = schemas
        self._schemas: dict[str, JSONObject] = {}
        self._definitions: dict[str, str] = {}
        self._roots: dict[str, str] = {}

    def declare(self, name: str, fields: Mapping[str, Type]) -> None:
        """Give the struct ``name`` these fields and no others."""
        self.structs = self.structs.with_fields(name, fields)

    def of_kind(self, gvk: Gvk) -> Type | None:
        """Return the type of a kind's objects; None for unknown kinds."""
        schema = self._kinds.find(gvk)
        if schema is None:
            return None
        # A one-letter name would be a type parameter.
        name = "any" if gvk == ANY_KIND else gvk.kind if len(gvk.kind) > 1 else f"{gvk.kind}_"
        while self._schemas.get(name, schema) is not schema:
            name += "_"
        self._schemas[name] = schema
        self._roots[name] = self._kinds.definition_name(gvk)
        return Type(name)

    def find(self, name: str) -> Type | None:
        return Type(name) if name in self._schemas else self.structs.find(name)

    def field(self, struct: Type, name: str) -> Type | None:
        schema = self._schemas.get(struct.name)
        if schema is None:
            return self.structs.field(struct, name)
        member = schema["properties"].get(name)
        if member is not None:
            return self.of_schema(f"{struct.name}.{name}", member)
        return DYN if schema.get("x-kubernetes-preserve-unknown-fields") else None

    def fields(self, struct: Type) -> Iterable[str]:
        schema = self._schemas.get(struct.name)
        return self.structs.fields(struct) if schema is None else schema["properties"]

    def schema_of(self, struct: Type, name: str) -> JSONObject | None:
        """Return the schema of a field with its ``enum``, as CRDs have it, for built-in kinds too;
        None if the schema has no such field.
        """
        _, member = self._member(struct, name)
        if member is None:
            return None
        definition = self._definitions.get(struct.name) or self._roots.get(struct.name, struct.name)
        found = _with_enum(member, built_in_enum(definition, name))
        for mark, part in (("[]", "items"), ("{}", "additionalProperties")):
            values = built_in_enum(definition, name + mark)
            if values:
                found = {**found, part: _with_enum(member[part], values)}
        return found

    def _member(self, struct: Type, name: str) -> tuple[JSONObject, JSONObject | None]:
        """Return the schema of a struct, and its field's; None if there is no such field."""
        schema = self._schemas.get(struct.name)
        return ({}, None) if schema is None else (schema, schema["properties"].get(name))

    def may_lack(self, struct: Type, name: str) -> bool:
        """Whether an object that the API server accepted may lack a field of its kind.

        In Go types only fields with omitempty can be absent; in custom resources, fields that are
        neither required nor have a default.
        """
        schema, member = self._member(struct, name)
        if member is None:
            return False
        if "go" not in schema:
            own = name in ("apiVersion", "kind", "metadata") and "metadata" in schema["properties"]
            return not own and name not in schema.get("required", ()) and "default" not in member
        if name in go_fields("alwaysThere").get(schema["go"], ()):
            return False
        if "omit" not in member:
            return False
        is_struct = member["omit"] == "empty" and "$ref" in member and not member.get("pointer")
        return not is_struct  # Go writes empty structs despite omitempty

    def may_be_null(self, struct: Type, name: str) -> bool:
        """Whether a field may be null in an object that the API server accepted."""
        schema, member = self._member(struct, name)
        if member is None:
            return False
        return bool(member.get("nullable")) or name in go_fields("nullable").get(
            schema.get("go", ""), ()
        )

    def is_object(self, t: Type) -> bool:
        return t.name in self._schemas

    def shared(self, t: Type) -> Type:
        if t.params:
            return Type(t.name, tuple(map(self.shared, t.params)))
        definition = self._definitions.get(t.name)
        if definition is None:
            return t
        self._schemas.setdefault(definition, self._schemas[t.name])
        return Type(definition)

    def of_schema(self, name: str, schema: JSONObject) -> Type:
        """Return the type, with this name, of the values of a schema."""
        reference = schema.get("$ref")
        if reference == QUANTITY:
            return STRING
        if reference is not None:
            schema = self._kinds.definition(reference)
        form = schema.get("type", "")
        if schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
            return DYN
        if form == "array":
            items = schema.get("items")
            return list_of(DYN if items is None else self.of_schema(f"{name}.@idx", items))
        if form == "object":
            return self._object_type(name, schema, reference)
        return _SCALARS.get(form, DYN)

    def _object_type(self, name: str, schema: JSONObject, reference: str | None) -> Type:
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            return map_of(STRING, self.of_schema(f"{name}.@elem", extra))
        if not schema.get("properties"):
            return _ANY_MAP
        self._schemas[name] = schema
        if reference is not None:
            self._definitions[name] = reference
        return Type(name)


def _with_enum(schema: JSONObject, values: frozenset[str]) -> JSONObject:
    return {**schema, "enum": sorted(values)} if values else schema


class KindSchemas:
    """The OpenAPI schemas of kinds, and the kind of each resource."""

    def __init__(
        self, crds: Iterable[Mapping[str, Any]], version: KubernetesVersion = NEWEST
    ) -> None:
        self._table: Table = builtin_table(version)
        self._found: dict[Gvk, JSONObject | None] = {
            ANY_KIND: any_object(),
            **{Gvk("", "v1", kind): schema for kind, schema in CONNECT_OPTIONS.items()},
        }
        self._by_name: dict[tuple[str, ...], list[Gvk]] | None = None
        kinds = [Gvk.of(*each) for each in BUILTIN_KINDS]
        # Versions that a cluster can be configured to serve.
        others = (Gvk(*key.split("/")) for key in self._table.kinds)
        kinds += [each for each in others if each.api_version not in _SERVED_VERSIONS]
        self._resources = {(each.group, each.version, plural(each.kind)): each for each in kinds}
        for crd in crds:
            self._add(crd.get("spec") or {})

    def _add(self, spec: Mapping[str, Any]) -> None:
        names, group = spec.get("names") or {}, spec.get("group", "")
        for version in spec.get("versions") or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if version.get("served", True):
                gvk = Gvk(group, version.get("name", ""), names.get("kind", ""))
                self._resources[group, gvk.version, names.get("plural", "")] = gvk
                self._found[gvk] = None if schema is None else as_object(as_published(schema))

    def of_resource(self, group: str, version: str, resource: str) -> Gvk | None:
        """Return the kind of a resource without its subresources."""
        return self._resources.get((group, version, resource))

    def named(self, group: str, version: str, resource: str) -> list[Gvk]:
        """Return the kinds with these names; without a group, of all groups, the core first."""
        if group:
            found = self._resources.get((group, version, resource))
            return [] if found is None else [found]
        if self._by_name is None:
            self._by_name = {}
            for key in sorted(self._resources):
                self._by_name.setdefault(key[1:], []).append(self._resources[key])
        return self._by_name.get((version, resource), [])

    def versions(self, group: str, resource: str) -> list[str]:
        """Return the versions in which a resource is served."""
        return [key[1] for key in self._resources if (key[0], key[2]) == (group, resource)]

    def versions_of(self, group: str, kind: str) -> list[str]:
        """Return the versions in which a kind is served."""
        known = self._resources.values()
        return [each.version for each in known if (each.group, each.kind) == (group, kind)]

    def find(self, gvk: Gvk) -> JSONObject | None:
        """Return the schema of a kind's objects."""
        if gvk not in self._found:
            name = self.definition_name(gvk)
            self._found[gvk] = as_object(self.definition(name)) if name else None
        return self._found[gvk]

    def definition_name(self, gvk: Gvk) -> str:
        """Return the name of a built-in kind's OpenAPI definition; empty for other kinds."""
        return self._table.definition_name("/".join(gvk))

    def definition(self, name: str) -> JSONObject:
        """Return the schema that a reference names."""
        return self._table.definition(name)


_BOOLEAN: JSONObject = {"type": "boolean", "omit": "empty"}
_STRING: JSONObject = {"type": "string", "omit": "empty"}
_STREAMS: JSONObject = {
    **dict.fromkeys(("stdin", "stdout", "stderr", "tty"), _BOOLEAN),
    "container": _STRING,
}
_FIELDS: dict[str, JSONObject] = {
    "attach": _STREAMS,
    "exec": {**_STREAMS, "command": {"type": "array", "items": {"type": "string"}}},
    "portforward": {"ports": {"type": "array", "items": {"type": "integer"}, "omit": "empty"}},
    "proxy": {"path": _STRING},
}


def _schema(kind: str, fields: JSONObject) -> JSONObject:
    own: dict[str, JSON] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    return {"type": "object", "go": kind, "properties": {**own, **fields}}


# kind -> the schema; all are in the core group, v1.
CONNECT_OPTIONS = {
    each.kind[1]: _schema(each.kind[1], _FIELDS[each.subresource])
    for each in SUBRESOURCES
    if each.operation == "CONNECT"
}
