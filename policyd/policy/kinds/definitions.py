"""CustomResourceDefinitions among the documents: only well-formed ones are used.

Only the fields that policyd reads are checked (names, scope, versions, the shape of the schemas);
the API server checks the rest.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from policyd.errors import Problem
from policyd.json_types import JSON, FieldPath, JSONObject
from policyd.mutation.schemas.schemas import builtin_table
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document, Sources

KIND = "CustomResourceDefinition"
_GROUP = "apiextensions.k8s.io"
API_VERSION = f"{_GROUP}/v1"
_SCOPES = ("Cluster", "Namespaced")
_VERSION = "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: …}}"
_DEEPEST = 200  # levels of a schema


@dataclass(frozen=True, slots=True)
class UsableDefinitions:
    """The usable definitions, and the problems of the others."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def definitions(sources: Sources) -> UsableDefinitions:
    """Return the CustomResourceDefinitions of all documents, in order."""
    good: list[Document] = []
    problems: list[Problem] = []
    for document in sources.of_kind(KIND):
        if document.group != _GROUP:
            continue
        found = [document.problem(each) for each in _check(document.raw)]
        problems += found
        if not found:
            good.append(document)
    return UsableDefinitions(tuple(good), tuple(problems))


def definitions_among(objects: Iterable[JSON]) -> list[JSONObject]:
    """Return the usable definitions among plain objects."""
    return [each for each in objects if is_definition(each) and usable(each)]


def problems_among(documents: Iterable[Document]) -> Iterator[Problem]:
    """Yield why definitions among documents, such as manifests, are not used."""
    for document in documents:
        if is_definition(document.raw):
            yield from map(document.problem, _check(document.raw))


def is_definition(obj: JSON) -> bool:
    """Whether an object is meant to be a CustomResourceDefinition, of any version."""
    if not isinstance(obj, dict) or obj.get("kind") != KIND:
        return False
    return str(obj.get("apiVersion")).startswith(f"{_GROUP}/")


def usable(crd: JSONObject) -> bool:
    """Whether the fields that are read of a definition are valid."""
    return next(_check(crd), None) is None


def _check(raw: dict[str, Any]) -> Iterator[FormProblem]:
    if raw.get("apiVersion") != API_VERSION:
        message = f"only {API_VERSION} is understood of a {KIND}"
        hint = f"write {API_VERSION}, and the schema in each of versions"
        yield FormProblem(("apiVersion",), message, hint)
        return
    spec = raw.get("spec")
    if not isinstance(spec, dict):
        yield _wrong(("spec",), "an object")
        return
    yield from _text(spec, "group", ("spec",))
    names = spec.get("names")
    if isinstance(names, dict):
        yield from _text(names, "kind", ("spec", "names"))
        yield from _text(names, "plural", ("spec", "names"))
    else:
        yield _wrong(("spec", "names"), "an object")
    scope = spec.get("scope", "Cluster")
    if scope not in _SCOPES:
        near = str(scope).capitalize()
        hint = f"write {near}" if near in _SCOPES else ""
        yield FormProblem(("spec", "scope"), "expected Namespaced or Cluster", hint)
    if not isinstance(spec.get("conversion"), dict | None):
        yield _wrong(("spec", "conversion"), "an object")
    versions = spec.get("versions")
    if not isinstance(versions, list):
        yield FormProblem(("spec", "versions"), "expected a list", f"write [{_VERSION}]")
        return
    for index, version in enumerate(versions):
        yield from _version(version, ("spec", "versions", index))


def _version(version: Any, at: FieldPath) -> Iterator[FormProblem]:
    if not isinstance(version, dict):
        yield FormProblem(at, "expected an object", f"write {_VERSION}")
        return
    yield from _text(version, "name", at)
    for field in ("served", "storage"):
        if not isinstance(version.get(field, False), bool):
            yield _wrong((*at, field), "true or false")
    if not isinstance(version.get("subresources"), dict | None):
        yield _wrong((*at, "subresources"), "an object")
    holder = version.get("schema")
    if not isinstance(holder, dict | None):
        yield _wrong((*at, "schema"), "an object")
    elif holder and holder.get("openAPIV3Schema") is not None:
        yield from _schema(holder["openAPIV3Schema"], (*at, "schema", "openAPIV3Schema"))


def _schema(schema: Any, at: FieldPath, depth: int = 0) -> Iterator[FormProblem]:
    """Check the fields of a structural schema from which types are built."""
    if depth > _DEEPEST:
        yield FormProblem(at, f"the schema is deeper than {_DEEPEST} levels")
        return
    if not isinstance(schema, dict):
        yield _wrong(at, "a schema")
        return
    for field, (right, word) in _FIELDS.items():
        if field in schema and not right(schema[field]):
            yield _wrong((*at, field), word)
    if "$ref" in schema:
        yield FormProblem((*at, "$ref"), "a structural schema has no references", at_key=True)
    properties = schema.get("properties", {})
    for name, member in properties.items() if isinstance(properties, dict) else ():
        yield from _schema(member, (*at, "properties", name), depth + 1)
    for field in ("items", "additionalProperties"):
        below = schema.get(field, True)
        if not (field == "additionalProperties" and isinstance(below, bool)) and field in schema:
            yield from _schema(below, (*at, field), depth + 1)


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("go", "type", "via", "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy"),
        (_is(str), "a text"),
    ),
    "format": (_is(str), "a text"),
    "properties": (_is(dict), "an object"),
    "nullable": (_is(bool), "true or false"),
    "x-kubernetes-list-type": (_is(str), "a text"),
    "x-kubernetes-map-type": (_is(str), "a text"),
    "x-kubernetes-list-map-keys": (_texts, "a list of texts"),
}


def _text(value: dict[str, Any], field: str, at: FieldPath) -> Iterator[FormProblem]:
    if not isinstance(value.get(field), str) or not value[field]:
        yield _wrong((*at, field), "a text")


def _wrong(path: FieldPath, expected: str) -> FormProblem:
    return FormProblem(path, f"expected {expected}")


def is_custom(group: str) -> bool:
    """Whether the group has only resources of CRDs or of aggregated API servers."""
    return group != "*" and all(
        home.rpartition("/")[0] != group for home in builtin_table().versions
    )
