"""Export what a policy validates: ValidatingAdmissionPolicies and their bindings."""

from datetime import datetime

from policyd.export.metadata import metadata, source_hash
from policyd.export.model import ExportedPart, Reason
from policyd.export.policy_views import View, attempt, plain_spec, views_of
from policyd.export.served import api_version
from policyd.export.validations import Validations
from policyd.json_types import JSONObject
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion

KIND = "ValidatingAdmissionPolicy"


def validation_part(
    document: Document, policy: Policy, version: KubernetesVersion, now: datetime
) -> ExportedPart:
    """Return the policies with their bindings, or the fields that cannot be translated."""
    found = views_of(document, policy, version, now)
    reasons = list(found.reasons)
    raw = plain_spec(document, policy)
    specs = [_spec(view, policy, raw, reasons) for view in found.views]
    if reasons:
        return ExportedPart("validate", reasons=tuple(dict.fromkeys(reasons)))
    served = api_version(KIND, version)
    digest = source_hash([document.raw], version)
    documents: list[JSONObject] = []
    for view, spec in zip(found.views, specs, strict=True):
        described = metadata(document.raw, view.name, policy.metadata.name, digest)
        bound: JSONObject = {"policyName": view.name}
        if "paramRef" in raw:
            bound["paramRef"] = raw["paramRef"]
        bound["validationActions"] = list(policy.spec.validation_actions)
        documents += (
            {"apiVersion": served, "kind": kind, "metadata": described, "spec": each}
            for kind, each in ((KIND, spec), (f"{KIND}Binding", bound))
        )
    return ExportedPart("validate", tuple(documents), remarks=found.remarks)


def _spec(view: View, policy: Policy, raw: JSONObject, reasons: list[Reason]) -> JSONObject:
    """Return the spec of the policy for a view, and add what cannot be translated."""
    validations = Validations(view, raw, reasons)
    spec: JSONObject = {
        "failurePolicy": policy.spec.failure_policy,
        "paramKind": raw.get("paramKind"),
        "matchConstraints": view.constraints,
        "matchConditions": list(view.conditions),
        "variables": [*view.variables, *validations.variables],
        "validations": validations.exported,
        "auditAnnotations": _annotations(view, raw, reasons),
    }
    return {key: value for key, value in spec.items() if value}


def _annotations(view: View, raw: JSONObject, reasons: list[Reason]) -> list[JSONObject]:
    annotations: list[JSONObject] = []
    for index, annotation in enumerate(raw.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        text = attempt(reasons, path, view.expression, annotation["valueExpression"])
        annotations.append({**annotation, "valueExpression": text})
    return annotations
