"""Assign, AssignMetadata, ModifySet and AssignImage of mutations.gatekeeper.sh.

A value that is known in advance becomes an Overlay, one that is computed a JSON Patch. Gatekeeper
applies mutators until nothing changes any more; here they run again if another policy changed the
object.
"""

from collections.abc import Mapping, Sequence

from policyd.importers.fields import items, object_at, objects, require_fields, strings
from policyd.importers.gatekeeper.changes import Computed, image, patch, pruned, setting
from policyd.importers.gatekeeper.locations import steps
from policyd.importers.gatekeeper.matching import matched
from policyd.importers.model import Imported, ImportedDocument, ImportNotes, Refused
from policyd.importers.policies import json_patch, metadata_of, overlay, policy, whole
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.source.loaded_documents import Document

_SPEC = ("applyTo", "match", "location", "parameters")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "Assign": ("assign", "pathTests"),
    "AssignMetadata": ("assign",),
    "ModifySet": ("operation", "values", "pathTests"),
    "AssignImage": ("assignDomain", "assignPath", "assignTag", "pathTests"),
}
KINDS = tuple(_PARAMETERS)
_METADATA: Mapping[str, str] = {
    "name": "${object.metadata.?name.orValue('')}",
    "namespace": "${object.metadata.?namespace.orValue('')}",
}
_CONDITIONS = ("MustExist", "MustNotExist")


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Return what became of one mutator."""
    return [whole(document, document.kind, lambda n: _Mutator(document, others, n).converted())]


class _Mutator:
    def __init__(self, document: Document, others: Sequence[Document], notes: ImportNotes) -> None:
        self._document = document
        self._others = others
        self._notes = notes
        self._spec = object_at(document.raw, "spec", "", _SPEC)
        self._location = steps(str(self._spec.get("location", "")), "spec.location")
        known = _PARAMETERS[document.kind]
        self._parameters = object_at(self._spec, "parameters", "spec", known)

    def converted(self) -> list[ImportedDocument]:
        """Return the Policy; raises Refused."""
        match = object_at(self._spec, "match", "spec")
        match = {**match, "kinds": self._kinds(match)}
        found = matched(match, "spec.match", self._others, self._notes, subresources=False)
        spec = {field: value for field, value in found.items() if value}
        spec |= {"mutations": self._mutations(), "reinvocationPolicy": "IfNeeded"}
        return [policy(self._document.name, metadata_of(self._document), spec)]

    def _kinds(self, match: JSONObject) -> list[JSONObject]:
        """Return the kinds that both ``applyTo`` and ``match`` name."""
        wanted = objects(match.get("kinds"), "spec.match.kinds")
        if self._document.kind == "AssignMetadata":
            return wanted
        found: list[JSONObject] = []
        known = ("groups", "versions", "kinds")
        for each, path in items(self._spec, "applyTo", "spec", known):
            groups = strings(each.get("groups"), f"{path}.groups")
            for group in groups:
                named = strings(each.get("kinds"), f"{path}.kinds")
                kinds = [kind for kind in named if not wanted or _accepts(wanted, group, kind)]
                versions = strings(each.get("versions"), f"{path}.versions")
                if kinds:
                    found.append({"apiGroups": [group], "apiVersions": versions, "kinds": kinds})
        if not found:
            raise Refused(
                "spec.applyTo", "no kind is both in applyTo and in match: it does nothing"
            )
        return found

    def _mutations(self) -> list[JSONObject]:
        kind, parameters = self._document.kind, self._parameters
        if kind == "AssignImage":
            parts = {
                part: str(parameters[field])
                for part, field in (
                    ("domain", "assignDomain"),
                    ("path", "assignPath"),
                    ("tag", "assignTag"),
                )
                if parameters.get(field)
            }
            if not parts:
                raise Refused("spec.parameters", "there is no part of an image to assign")
            return [self._patch(*image(parts))]
        if kind == "ModifySet":
            return [self._set(parameters)]
        tests = self._tests()
        if kind == "AssignMetadata":
            tests = {len(self._location) - 1: "MustNotExist"}
        return self._assigned(self._assigned_value(), tests)

    def _assigned(self, value: JSON, tests: Mapping[int, str]) -> list[JSONObject]:
        """Return one mutation, or two if a map must be replaced, which an overlay would merge."""
        last = len(self._location) - 1
        if isinstance(value, list):
            value = [{"$patch": "replace"}, *value]
        found = [overlay(setting(self._location, value, tests, "spec.location"))]
        if self._location[-1].is_list:
            text = "an item that is there keeps the fields that the value does not name"
            self._notes.remark("spec.location", text)
        elif isinstance(value, dict) and value and last not in tests:
            found.insert(0, overlay(setting(self._location, None, tests, "spec.location")))
        elif isinstance(value, dict) and tests.get(last) == "MustExist":
            text = "a map that is replaced only where there is one cannot be said in an overlay"
            raise Refused("spec.parameters.pathTests", text)
        return found

    def _assigned_value(self) -> JSON:
        assign = object_at(self._parameters, "assign", "spec.parameters")
        path = "spec.parameters.assign"
        if assign.get("externalData"):
            raise Refused(f"{path}.externalData", "it calls another service")
        require_fields(assign, ("value", "fromMetadata"), path)
        origin = object_at(assign, "fromMetadata", path, ("field",))
        if origin:
            field = str(origin.get("field"))
            if field not in _METADATA:
                raise Refused(
                    f"{path}.fromMetadata.field", f"expected name or namespace, not {field}"
                )
            return _METADATA[field]
        return _literal(assign.get("value"))

    def _set(self, parameters: JSONObject) -> JSONObject:
        values = object_at(parameters, "values", "spec.parameters", ("fromList",))
        listed = values.get("fromList")
        if not isinstance(listed, list) or not listed:
            raise Refused("spec.parameters.values.fromList", "expected a list of values")
        operation = parameters.get("operation") or "merge"
        if operation == "prune":
            return self._patch(*pruned(listed))
        if operation != "merge":
            text = f"the operation {operation} is not merge or prune"
            raise Refused("spec.parameters.operation", text)
        added = list(map(_literal, listed))
        if not self._has_keys():  # of a list with keys, new items are always added
            added.insert(0, {"$patch": "append"})
        return overlay(setting(self._location, added, self._tests(), "spec.location"))

    def _has_keys(self) -> bool:
        """Whether the list at the location has keys, in the schema of every kind."""
        definitions = definitions_among(each.raw for each in self._others)
        schemas = Schemas.builtin().with_crds(definitions)
        place = tuple(0 if step.is_list else step.name for step in self._location)
        found: set[bool] = set()
        for each in self._kinds(object_at(self._spec, "match", "spec")):
            for version in each["apiVersions"]:
                for kind in each["kinds"]:
                    keys = schemas.list_keys((each["apiGroups"][0], version, kind))
                    found.add(keys is not None and keys(place) is not None)
        if len(found) > 1:
            raise Refused("spec.applyTo", "the list has keys in some of the kinds, in others none")
        return found == {True}

    def _patch(self, test: Computed, value: Computed) -> JSONObject:
        if "MustNotExist" in self._tests().values():
            text = "what does not exist is not changed: the mutator does nothing"
            raise Refused("spec.parameters.pathTests", text)
        return json_patch(patch(self._location, test, value, "spec.location"))

    def _tests(self) -> dict[int, str]:
        """Return the conditions of path tests by the index of the last step of their path."""
        found: dict[int, str] = {}
        known = ("subPath", "condition")
        for each, here in items(self._parameters, "pathTests", "spec.parameters", known):
            if each.get("condition") not in _CONDITIONS:
                raise Refused(f"{here}.condition", "expected MustExist or MustNotExist")
            part = steps(str(each.get("subPath", "")), f"{here}.subPath")
            if self._location[: len(part)] != part:
                raise Refused(f"{here}.subPath", "expected the beginning of the location")
            found[len(part) - 1] = str(each["condition"])
        return found


def _accepts(kinds: Sequence[JSONObject], group: str, kind: str) -> bool:
    for index, each in enumerate(kinds):
        path = f"spec.match.kinds[{index}]"
        groups = strings(each.get("apiGroups"), f"{path}.apiGroups") or ["*"]
        names = strings(each.get("kinds"), f"{path}.kinds") or ["*"]
        if ("*" in groups or group in groups) and ("*" in names or kind in names):
            return True
    return False


def _literal(value: JSON) -> JSON:
    """Return a value for an overlay, in which ``${`` begins an expression."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, list):
        return [_literal(each) for each in value]
    if isinstance(value, dict):
        return {key: _literal(each) for key, each in value.items()}
    return value
