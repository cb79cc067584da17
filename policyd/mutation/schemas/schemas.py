"""Schemas of kinds, from the built-in table and CRD documents, as ``_core.schema`` types.

    schemas = Schemas.builtin().with_crds(documents)
    schemas.lookup("apps", "v1", "Deployment")      # a KindSchema, or None

``type_builder`` builds the types; this module neither merges nor decodes.
"""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policyd._core.schema.types import Field, SchemaType
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.request_type import REQUEST_KIND, request_type
from policyd.mutation.schemas.tables import read_table
from policyd.mutation.schemas.type_builder import Builder
from policyd.versions import NEWEST, KubernetesVersion

ListKeys = Callable[[tuple[str | int, ...]], tuple[str, ...] | None]
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Gvk(NamedTuple):
    """Group, version and kind; prints as Kubernetes prints them (``apps/v1, Kind=Deployment``)."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: object, kind: object) -> "Gvk":
        """Return the kind that an apiVersion and a kind name."""
        group, _, version = str(api_version).rpartition("/")
        return cls(group, version, str(kind))

    @classmethod
    def of_object(cls, value: JSON) -> "Gvk":
        """Return the kind that an object names; for any other value, a kind that does not exist."""
        given = value if isinstance(value, dict) else {}
        return cls.of(given.get("apiVersion"), given.get("kind"))

    @property
    def api_version(self) -> str:
        """Return group and version as manifests have them."""
        return f"{self.group}/{self.version}".removeprefix("/")

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def label(self) -> str:
        """Return the words of a manifest (``apps/v1 Deployment``), or of ANY_KIND."""
        if self.kind == "*":
            return "any kind"
        return f"{self.api_version} {self.kind}"


# The kind of objects with known metadata only, which is the same for every kind.
ANY_KIND = Gvk("*", "*", "*")


@dataclass(frozen=True, slots=True)
class KindSchema:
    """The schema of one kind.

    ``root`` is its type; ``native``: it has a Go type, so results must decode; ``mergeable``:
    ApplyConfiguration supports it (not kinds that only subresources have). ``structural`` is the
    part of a custom resource's schema that determines its defaults.
    """

    gvk: Gvk
    root: Field
    native: bool
    mergeable: bool
    structural: JSONObject | None = None

    @property
    def list_keys(self) -> ListKeys:
        """Return the ``keys`` argument of ``_core.patch.diff``."""
        return self.root.list_keys


@dataclass(frozen=True, slots=True)
class Target:
    """The kind of the mutated object, its schema (None: unknown), and all known schemas.

    ``native`` is the schema if the kind has a Go type: the mutated object must decode.
    """

    gvk: Gvk
    schema: KindSchema | None
    schemas: "Schemas"
    native: KindSchema | None = field(init=False)

    def __post_init__(self) -> None:
        """Set ``native``."""
        native = self.schema if self.schema is not None and self.schema.native else None
        object.__setattr__(self, "native", native)


@dataclass(eq=False, repr=False)
class Schemas:
    """The kinds of a Kubernetes version by group, version and kind. Immutable: ``with_crds``
    returns a new object.
    """

    table: "Table | None"
    custom: Mapping[Gvk, KindSchema]
    served: frozenset[str]
    version: KubernetesVersion = NEWEST

    def __post_init__(self) -> None:
        self._targets: dict[tuple[str, str, str], Target] = {}

    @classmethod
    def builtin(cls, version: KubernetesVersion = NEWEST) -> "Schemas":
        """Return Kubernetes' own kinds, read at first use."""
        return cls(builtin_table(version), {}, frozenset(), version)

    def with_crds(self, documents: Iterable[JSONObject]) -> "Schemas":
        """Add the kinds that CustomResourceDefinitions (plain documents) serve."""
        custom = dict(self.custom)
        served = set(self.served)
        for document in documents:
            for kind in custom_kinds(document, self.table or builtin_table(self.version)):
                custom[kind.gvk] = kind
                served.add(f"{kind.gvk.group}/{kind.gvk.version}")
        return Schemas(self.table, custom, frozenset(served), self.version)

    def lookup(self, group: str, version: str, kind: str) -> KindSchema | None:
        gvk = Gvk(group, version, kind)
        found = self.custom.get(gvk)
        return found or (self.table.kind(gvk) if self.table else None)

    @functools.cached_property
    def of_any_kind(self) -> KindSchema:
        """The schema of ANY_KIND."""
        definition = (self.table or builtin_table(self.version)).definition
        root = Builder(definition).field(any_object(), preserve=False)
        return KindSchema(ANY_KIND, root, native=False, mergeable=False)

    def go_type(self, gvk: tuple[str, str, str]) -> Field | None:
        """Return the Go type of a kind or of ``request`` (``REQUEST_KIND``), or None."""
        if gvk == REQUEST_KIND:
            return request_type()
        found = self.lookup(*gvk)
        return found.root if found is not None and found.native else None

    def target(self, gvk: tuple[str, str, str]) -> Target:
        """Return the data that mutators need about the kind of their object."""
        target = self._targets.get(gvk)
        if target is None:
            target = Target(Gvk(*gvk), self.lookup(*gvk), self)
            if target.schema is not None:  # so that there is at most one per kind
                self._targets[gvk] = target
        return target

    def knows(self, gvk: tuple[str, str, str]) -> bool:
        """Return whether ApplyConfiguration and Overlay can merge objects of that kind."""
        found = self.lookup(*gvk)
        return found is not None and found.mergeable

    def list_keys(self, gvk: tuple[str, str, str]) -> ListKeys | None:
        """Return ``KindSchema.list_keys`` of the kind; None if unknown."""
        found = self.lookup(*gvk)
        return found.list_keys if found is not None else None

    def serves(self, group: str, version: str) -> bool:
        """Return whether any kind of that API version is known."""
        home = f"{group}/{version}"
        return home in self.served or (self.table is not None and home in self.table.versions)


def field_below(field: Field, part: str) -> Field | None:
    """Return the schema of a map's member or a list's item, or None."""
    kind = field.type
    return kind.item if kind.is_list else kind.fields.get(part, kind.extra)


@functools.cache
def builtin_table(version: KubernetesVersion = NEWEST) -> "Table":
    return Table(version)


class Table:
    """The table of a Kubernetes version. A kind's types are built at first use."""

    def __init__(self, version: KubernetesVersion) -> None:
        head, self._lines = read_table(version)
        self.version: str = head["version"]
        self.kinds: dict[str, str] = head["kinds"]
        self._decoded: dict[str, str] = head["decoded"]
        self.versions = frozenset(key.rpartition("/")[0] for key in self.kinds)
        self._builder = Builder(self.definition)
        self._built: dict[Gvk, KindSchema] = {}

    def kind(self, gvk: Gvk) -> KindSchema | None:
        built = self._built.get(gvk)
        if built is None:
            key = "/".join(gvk)
            name = self.definition_name(key)
            if not name:
                return None
            go = "v1." + gvk.kind
            root = Field(self._builder.named(name), go)
            built = KindSchema(gvk, root, native=True, mergeable=key in self.kinds)
            self._built[gvk] = built
        return built

    def definition_name(self, kind: str) -> str:
        """Return the name of the definition of a kind (``group/version/kind``); "" if unknown."""
        return self.kinds.get(kind) or self._decoded.get(kind, "")

    def definition_of(self, kind: SchemaType) -> str:
        """Return the name of the definition that a type was built from; "" if it has no name."""
        return self._builder.definitions.get(kind, "")

    def definition(self, name: str) -> JSONObject:
        schema: JSONObject = json.loads(self._lines[name])["schema"]
        return schema


def custom_kinds(document: JSONObject, table: Table) -> Iterable[KindSchema]:
    """Yield the kinds of a CustomResourceDefinition: each served version with a schema."""
    spec = document.get("spec") or {}
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not version.get("served", True) or schema is None:
            continue
        gvk = Gvk(spec["group"], version["name"], spec["names"]["kind"])
        root = Builder(table.definition).field(as_object(as_published(schema)), preserve=False)
        yield KindSchema(gvk, root, native=False, mergeable=True, structural=outline(schema))


def outline(schema: JSONObject) -> JSONObject:
    """Return the part of a structural schema that determines defaults, without descriptions."""
    kept: JSONObject = {word: schema[word] for word in ("default", "nullable") if word in schema}
    return {**kept, **_inner(schema, outline)}


def _inner(schema: JSONObject, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """Return the schemas inside a schema, changed, under their keywords."""
    found: JSONObject = {
        word: change(schema[word])
        for word in ("items", "additionalProperties")
        if isinstance(schema.get(word), Mapping)
    }
    if "properties" in schema:
        found["properties"] = {name: change(each) for name, each in schema["properties"].items()}
    return found


def as_published(schema: JSONObject) -> JSONObject:
    """Add the metadata of embedded resources, as OpenAPI does: structural schemas omit it."""
    changed = {**schema, **_inner(schema, as_published)}
    return as_object(changed) if schema.get("x-kubernetes-embedded-resource") else changed


def as_object(schema: JSONObject) -> JSONObject:
    own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    members = {**schema.get("properties", {}), **own, "metadata": {"$ref": OBJECT_META}}
    return {**schema, "type": "object", "properties": members}


def any_object() -> JSONObject:
    """Return the OpenAPI schema of ANY_KIND."""
    return as_object({"x-kubernetes-preserve-unknown-fields": True})
