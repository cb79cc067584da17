"""CustomResourceDefinitions among the documents: only well-formed ones are used.

Only the fields that policyd reads are checked (names, versions, the shape of the schemas); the API
server checks the rest.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from policyd.errors import Problem
from policyd.json_types import FieldPath
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.documents import Document, Sources

KIND = "CustomResourceDefinition"
_GROUP = "apiextensions.k8s.io"
API_VERSION = f"{_GROUP}/v1"
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


def usable(crd: dict[str, Any]) -> bool:
    """Whether the fields that are read of a definition are valid."""
    return next(_check(crd), None) is None


def _check(raw: dict[str, Any]) -> Iterator[FormProblem]:
    if raw.get("apiVersion") != API_VERSION:
        yield FormProblem(("apiVersion",), f"only {API_VERSION} is understood of a {KIND}")
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
    versions = spec.get("versions")
    if not isinstance(versions, list):
        yield _wrong(("spec", "versions"), "a list")
        return
    for index, version in enumerate(versions):
        at: FieldPath = ("spec", "versions", index)
        if not isinstance(version, dict):
            yield _wrong(at, "an object")
            continue
        yield from _text(version, "name", at)
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
    "type": (_is(str), "a text"),
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
