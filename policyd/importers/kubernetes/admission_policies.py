"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings.

policyd runs these kinds as they are. A Policy has no binding: what a binding says, where, with
which parameters and to which effect, becomes part of it, so there is one Policy for each binding.
"""

from collections.abc import Mapping, Sequence

from policyd.importers.fields import object_at, require_fields, strings
from policyd.importers.kubernetes.merging import merged_constraints
from policyd.importers.model import Imported, ImportedDocument, ImportRemark, Refused
from policyd.importers.policies import metadata_of, policy, whole
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_COMMON = (
    "paramKind",
    "matchConstraints",
    "matchConditions",
    "variables",
    "failurePolicy",
)
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ValidatingAdmissionPolicy": (*_COMMON, "validations", "auditAnnotations"),
    "MutatingAdmissionPolicy": (*_COMMON, "mutations", "reinvocationPolicy"),
}
_ACTIONS = ("Deny", "Warn", "Audit")
_BINDING = ("policyName", "paramRef", "matchResources", "validationActions")


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Return what became of one policy: a Policy for each of its bindings, one for those that
    differ in nothing but their names.
    """
    return [whole(document, document.kind, lambda: _policies(document, others))]


def _policies(
    document: Document, others: Sequence[Document]
) -> tuple[list[ImportedDocument], list[ImportRemark]]:
    spec = object_at(document.raw, "spec", "")
    require_fields(spec, _FIELDS[document.kind], "spec")
    bindings = [
        each
        for each in others
        if each.kind == f"{document.kind}Binding"
        and each.group == document.group
        and object_at(each.raw, "spec", "").get("policyName") == document.name
    ]
    if not bindings:
        raise Refused("metadata.name", f"it has no {document.kind}Binding, so it does nothing")
    found: list[tuple[str, JSONObject]] = []
    for binding in sorted(bindings, key=lambda each: each.name):
        bound = _bound(spec, binding)
        if all(bound != known for _, known in found):
            found.append((binding.name, bound))
    remarks = []
    if len(found) < len(bindings):
        text = "bindings that say the same became one Policy"
        remarks.append(ImportRemark("metadata.name", text))
    names = [document.name] if len(found) == 1 else [f"{document.name}-{name}" for name, _ in found]
    metadata = metadata_of(document)
    documents = [
        policy(name, metadata, bound) for name, (_, bound) in zip(names, found, strict=True)
    ]
    return documents, remarks


def _bound(spec: JSONObject, binding: Document) -> JSONObject:
    """Return the ``spec`` of a Policy that does what the policy does for one binding."""
    given = object_at(binding.raw, "spec", "")
    path = f"spec of the binding {binding.name}"
    require_fields(given, _BINDING, path)
    found = {**spec}
    actions = strings(given.get("validationActions"), f"{path}.validationActions")
    if actions:
        found["validationActions"] = [each for each in _ACTIONS if each in actions]
    for unknown in set(actions) - set(_ACTIONS):
        raise Refused(f"{path}.validationActions", f"the action {unknown} is not known here")
    if spec.get("paramKind"):
        if not given.get("paramRef"):
            raise Refused("spec.paramKind", f"the binding {binding.name} has no paramRef")
        found["paramRef"] = object_at(given, "paramRef", path)
    elif given.get("paramRef"):
        raise Refused("spec.paramKind", f"the binding {binding.name} has a paramRef without it")
    constraints = object_at(spec, "matchConstraints", "spec")
    found["matchConstraints"] = merged_constraints(
        constraints, object_at(given, "matchResources", path), f"{path}.matchResources"
    )
    return {field: value for field, value in found.items() if value not in (None, [], {})}
