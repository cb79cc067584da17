"""CustomResourceDefinitions that policies need and no document has: list them, and add a
cluster's to the sources. Queries no cluster.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from policyd.cel.syntax.recursion import deep_recursion
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.definitions import API_VERSION, KIND, definitions, is_custom, usable
from policyd.policy.model import kinds
from policyd.policy.model.match import MatchResources
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.places import Chunk, Origin

EVERY = "*"
FILE = "(cluster)"
_BINDINGS = kinds.ValidatingAdmissionPolicyBinding | kinds.MutatingAdmissionPolicyBinding
_BELOW = ("items", "additionalProperties")


class WantedDefinition(NamedTuple):
    """A definition by its group and the plural name of its resource. Either can be EVERY; of a
    definition that is wanted for every group only, the versions are needed.
    """

    group: str
    plural: str

    @property
    def name(self) -> str:
        """Return the name of the definition in the API server."""
        return f"{self.plural}.{self.group}"


Fetch = Callable[[frozenset[WantedDefinition]], Iterable[JSONObject]]


def wanted(sources: Sources) -> frozenset[WantedDefinition]:
    """Return the definitions that match rules need and that no document has."""
    given = {_identity(document.raw) for document in definitions(sources).documents}
    needed = {
        each
        for document in sources.documents
        if document.is_policy
        for constraints in _constraints(document)
        for each in _needed(constraints)
    }
    return frozenset(needed - given)


def _needed(match: MatchResources) -> Iterator[WantedDefinition]:
    """Yield the custom resources of the groups that rules name; of every group for a rule that
    lists versions of all groups, because it also matches objects written in another version.
    """
    for rule in (*match.resource_rules, *match.exclude_resource_rules):
        converts = match.match_policy == "Equivalent" and EVERY not in rule.api_versions
        for group in rule.api_groups:
            if is_custom(group) or (group == EVERY and converts):
                for resource in rule.resources:
                    yield WantedDefinition(group, resource.partition("/")[0])


def _constraints(document: Document) -> Iterator[MatchResources]:
    found = document.match_constraints
    if found is not None:
        yield found
    if isinstance(document.model, _BINDINGS) and document.model.spec.match_resources is not None:
        yield document.model.spec.match_resources


def with_definitions(sources: Sources, crds: Iterable[JSONObject]) -> Sources:
    """Return the sources with these definitions, except invalid ones and the ones that documents
    have.
    """
    given = {_identity(document.raw) for document in definitions(sources).documents}
    added = [
        _document(slim(crd), len(sources.documents) + index)
        for index, crd in enumerate(sorted(crds, key=_identity))
        if usable(crd) and _identity(crd) not in given
    ]
    if not added:
        return sources
    digest = hashlib.sha256(sources.generation.encode())
    for document in added:
        digest.update(document.origin.chunk.text.encode())
    return replace(
        sources,
        documents=(*sources.documents, *added),
        generation=digest.hexdigest()[:16],
    )


def _identity(crd: JSONObject) -> WantedDefinition:
    spec = crd.get("spec") or {}
    return WantedDefinition(str(spec.get("group")), str((spec.get("names") or {}).get("plural")))


def _document(crd: JSONObject, index: int) -> Document:
    # Never shown to users: the chunk only distinguishes one state from another.
    with deep_recursion():  # the encoder counts each level
        digest = hashlib.sha256(json.dumps(crd, sort_keys=True).encode()).hexdigest()
    return Document(
        kind=KIND,
        api_version=API_VERSION,
        name=crd["metadata"]["name"],
        namespace="",
        file=FILE,
        index=index,
        raw=crd,
        origin=Origin(Chunk(FILE, digest, 0)),
    )


def slim(crd: JSONObject, schemas: bool = True) -> JSONObject:
    """Return the fields of a definition that policyd reads: most of a large one is descriptions.
    Without ``schemas`` little more is left than the names of its versions.
    """
    spec = crd["spec"]
    with deep_recursion():  # an answer of the API server has at most 1,000 levels
        versions = [
            {
                "name": version["name"],
                "served": version.get("served", True),
                "schema": {"openAPIV3Schema": _slim(schema)}
                if schemas and schema is not None
                else None,
            }
            for version in spec["versions"]
            for schema in [(version.get("schema") or {}).get("openAPIV3Schema")]
        ]
    kept = {key: spec[key] for key in ("group", "names", "scope", "conversion") if key in spec}
    if isinstance(kept.get("conversion"), dict):
        kept["conversion"] = {"strategy": kept["conversion"].get("strategy", "None")}
    name = (crd.get("metadata") or {}).get("name") or _identity(crd).name
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {**kept, "versions": versions},
    }


def _slim(schema: JSON) -> JSON:
    if not isinstance(schema, dict):
        return schema  # additionalProperties: true
    kept = {key: value for key, value in schema.items() if key != "description"}
    for key in _BELOW:
        if key in kept:
            kept[key] = _slim(kept[key])
    if "properties" in kept:
        kept["properties"] = {name: _slim(each) for name, each in kept["properties"].items()}
    return kept
