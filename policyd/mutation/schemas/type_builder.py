"""Build types from OpenAPI schemas, as the API server does for server-side apply.

The rules are from kube-openapi, pkg/schemaconv: a list without a list type is atomic, a schema
without a type allows any value, unknown fields need additionalProperties or
preserve-unknown-fields.
"""

from collections.abc import Callable

from policyd._core.schema.types import Decoding, Field, Relation, Scalar, SchemaType
from policyd.json_types import JSONObject
from policyd.mutation.schemas.leaves import LEAVES

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
SCALARS = {
    "integer": Scalar.NUMERIC,
    "number": Scalar.NUMERIC,
    "boolean": Scalar.BOOLEAN,
    "string": Scalar.STRING,
}
TYPE_ATTRIBUTES = (
    "name",
    "scalar",
    "is_map",
    "atomic",
    "fields",
    "extra",
    "is_list",
    "relation",
    "keys",
    "key_defaults",
    "item",
    "decoding",
    "leaf",
)


class Builder:
    """Builds types from OpenAPI schemas; named types only once, because they refer to each other.

    ``definition`` returns the schema of a ``$ref``.
    """

    def __init__(self, definition: Callable[[str], JSONObject]) -> None:
        self._definition = definition
        self._named: dict[str, SchemaType] = {}
        self.definitions: dict[SchemaType, str] = {}  # the names of the types built from a $ref
        self.anything = deduced()

    def named(self, name: str) -> SchemaType:
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = SchemaType()
            self.definitions[found] = name
            if name == QUANTITY:
                found.scalar = Scalar.UNTYPED
            elif name == RAW_EXTENSION:
                untyped(found)
            else:
                self.fill(found, self._definition(name), preserve=False)
        return found

    def field(self, schema: JSONObject, *, preserve: bool) -> Field:
        go = schema.get("go", "")
        name = schema.get("$ref", "")
        overridden = schema.get("x-kubernetes-map-type") if name else None
        if name and not overridden and go not in LEAVES:
            kind = self.named(name)
        else:
            kind = SchemaType()
            if name:
                copy_type(self.named(name), kind)
                self.definitions[kind] = name
                kind.atomic = kind.atomic if overridden is None else overridden == "atomic"
            else:
                self.fill(kind, schema, preserve=preserve)
            if go in LEAVES:
                kind.decoding = Decoding.LEAF
                kind.leaf = LEAVES[go]
        return Field(
            kind,
            go,
            via=schema.get("via", ""),
            pointer=schema.get("pointer", False),
            omitted="omit" in schema,
            omitted_zero=schema.get("omit") == "zero",
        )

    def fill(self, kind: SchemaType, schema: JSONObject, *, preserve: bool) -> None:
        form = schema.get("type", "")
        preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind.name = schema.get("go", "") if "properties" in schema else ""
        if form in SCALARS:
            # Any string format but byte leaves the scalar untyped: int-or-string, date-time.
            open_text = form == "string" and schema.get("format", "") not in {"", "byte"}
            kind.scalar = Scalar.UNTYPED if open_text else SCALARS[form]
        if form == "":
            kind.scalar = Scalar.UNTYPED
        if form in {"", "object"}:
            self.fill_map(kind, schema, preserve=preserve)
        if form in {"", "array"}:
            self.fill_list(kind, schema, preserve=preserve)
        if "go" in schema:
            kind.decoding = decoding(form, schema)

    def fill_map(self, kind: SchemaType, schema: JSONObject, *, preserve: bool) -> None:
        kind.is_map = True
        kind.atomic = schema.get("x-kubernetes-map-type") == "atomic"
        members = schema.get("properties", {})
        kind.fields = {
            name: self.field(member, preserve=preserve) for name, member in members.items()
        }
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            kind.extra = self.field(extra, preserve=preserve)
        elif extra is True or (extra is None and (preserve or not members)):
            kind.extra = Field(self.anything)

    def fill_list(self, kind: SchemaType, schema: JSONObject, *, preserve: bool) -> None:
        kind.is_list = True
        items = schema.get("items")
        kind.item = (
            Field(untyped(SchemaType())) if items is None else self.field(items, preserve=preserve)
        )
        list_type = schema.get("x-kubernetes-list-type")
        keys = schema.get("x-kubernetes-list-map-keys", ())
        strategy = schema.get("x-kubernetes-patch-strategy", "").split(",")
        if list_type is None and "merge" in strategy:
            key = schema.get("x-kubernetes-patch-merge-key")
            list_type, keys = ("map", (key,)) if key else ("set", ())
        if list_type == "map":
            kind.relation = Relation.KEYED
            kind.keys = tuple(keys)
            kind.key_defaults = self.defaults(items or {}, kind.keys)
        elif list_type == "set":
            kind.relation = Relation.SET

    def defaults(self, item: JSONObject, keys: tuple[str, ...]) -> dict[str, object]:
        if "$ref" in item:
            item = self._definition(item["$ref"])
        members = item.get("properties", {})
        found = {key: members.get(key, {}).get("default") for key in keys}
        return {key: value for key, value in found.items() if value is not None}


def decoding(form: str, schema: JSONObject) -> Decoding:
    if form == "object":
        return Decoding.STRUCT if "properties" in schema else Decoding.MAP
    if form == "integer":
        return Decoding.INT32 if schema.get("format") == "int32" else Decoding.INT64
    names = {
        "array": Decoding.LIST,
        "string": Decoding.GO_STRING,
        "boolean": Decoding.GO_BOOL,
        "number": Decoding.FLOAT,
    }
    return names.get(form, Decoding.ANYTHING)


def untyped(kind: SchemaType) -> SchemaType:
    """Return a type for any value, replaced as a whole."""
    kind.scalar = Scalar.UNTYPED
    kind.is_map = kind.is_list = kind.atomic = True
    kind.extra = kind.item = Field(kind)
    return kind


def deduced() -> SchemaType:
    """Return a type for any value: maps merge key by key, lists are replaced."""
    kind = SchemaType()
    kind.scalar = Scalar.UNTYPED
    kind.is_map = kind.is_list = True
    kind.extra = Field(kind)
    kind.item = Field(untyped(SchemaType()))
    return kind


def copy_type(source: SchemaType, target: SchemaType) -> None:
    for name in TYPE_ATTRIBUTES:
        setattr(target, name, getattr(source, name))
