"""Export what a policy validates: ValidatingAdmissionPolicies and their bindings."""

from datetime import datetime
from typing import Any

from policyd.export.controllers import pod_expression
from policyd.export.expressions.rewriting import free_name
from policyd.export.model import ExportedPart, Reason
from policyd.export.patterns.translation import translate
from policyd.export.policy_views import View, attempt, plain_spec, views_of, with_bindings
from policyd.json_types import JSONObject
from policyd.policy.model.kinds import Policy
from policyd.policy.model.match import covers
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion

# Unicode White_Space, which Go's strings.TrimSpace removes.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class Validations:
    """Exports the validations of a policy for one view.

    ``exported`` are the validations, ``variables`` those that they need besides the variables of
    the view. Untranslatable parts are added to ``reasons``.
    """

    def __init__(self, view: View, raw: JSONObject, reasons: list[Reason]) -> None:
        self.variables: list[JSONObject] = []
        self._view = view
        self._reasons = reasons
        self._checked = ""
        self.exported = [
            self._exported(item, f"spec.validations[{index}]")
            for index, item in enumerate(raw.get("validations") or ())
        ]

    def _exported(self, item: JSONObject, path: str) -> JSONObject:
        """Return a validation that is lifted by the exceptions from it."""
        pattern = "pattern" in item or "anyPattern" in item
        found = self._pattern(item, path) if pattern else self._expression(item, path)
        expression = found["expression"]
        found["expression"] = self._view.exceptions.lifted(item.get("name", ""), expression)
        if not pattern and found["expression"] != item["expression"] and not item.get("message"):
            found["message"] = self._usual_message(item["expression"], path)
        return found

    def _expression(self, item: JSONObject, path: str) -> JSONObject:
        found = {key: value for key, value in item.items() if key != "name"}
        for field in ("expression", "messageExpression"):
            if field in item:
                at = f"{path}.{field}"
                found[field] = attempt(self._reasons, at, self._view.expression, item[field])
        return found

    def _usual_message(self, expression: str, path: str) -> str:
        """Return the message of a validation that has none: it quotes the expression."""
        message = f"failed expression: {expression.strip(_SPACE)}"
        if "\n" in message or "\r" in message:
            text = (
                "without a message, a denial quotes the expression, which is exported in another "
                "form and is on several lines, as no message can be; add a message"
            )
            self._reasons.append(Reason(f"{path}.message", text))
        return message

    def _pattern(self, item: JSONObject, path: str) -> JSONObject:
        """Return a validation that means the same as a pattern."""
        template = self._view.template
        shown = "" if template is None else template.shown_path
        secret = template is None and may_match_secrets(self._view.constraints)
        translated = translate(
            item, self._object(), shown, secret=secret, version=self._view.version
        )
        if isinstance(translated, list):
            self._reasons += (Reason(f"{path}.{each.path}", each.message) for each in translated)
            return {"expression": "true"}
        reason = {"reason": item["reason"]} if "reason" in item else {}
        return {
            "expression": translated.expression,
            # The API server's message if the messageExpression fails.
            "message": item.get("message") or "the object does not fit the pattern",
            "messageExpression": translated.message_expression,
            **reason,
        }

    def _object(self) -> str:
        """Return the object that patterns check, as short CEL: they read it often."""
        view = self._view
        if view.template is None and not _may_delete(view.constraints):
            return "object"
        if not self._checked:
            taken = [variable["name"] for variable in view.variables]
            self._checked = free_name("checked", taken)
            text = "object != null ? object : oldObject"
            if view.template is not None:
                text = pod_expression(view.template)
            self.variables.append({"name": self._checked, "expression": text})
        return f"variables.{self._checked}"


def may_match_secrets(constraints: JSONObject) -> bool:
    """Whether a policy with these matchConstraints may see a Secret."""
    return any(
        covers(rule["apiGroups"], "")
        and any(each.partition("/")[0] in ("secrets", "*") for each in rule["resources"])
        for rule in constraints.get("resourceRules") or ()
    )


def _may_delete(constraints: JSONObject) -> bool:
    rules: list[dict[str, Any]] = constraints.get("resourceRules") or []
    return any(covers(rule["operations"], "DELETE") for rule in rules)


KIND = "ValidatingAdmissionPolicy"


def validation_part(
    document: Document, policy: Policy, version: KubernetesVersion, now: datetime
) -> ExportedPart:
    """Return the policies with their bindings, or the fields that cannot be translated."""
    found = views_of(document, policy, version, now)
    reasons = list(found.reasons)
    raw = plain_spec(document, policy)
    specs = [(view, _spec(view, policy, raw, reasons)) for view in found.views]
    if reasons:
        return ExportedPart("validate", reasons=tuple(dict.fromkeys(reasons)))
    bound: JSONObject = {
        "paramRef": raw.get("paramRef"),
        "validationActions": list(policy.spec.validation_actions),
    }
    documents = with_bindings(KIND, specs, bound, document, version)
    return ExportedPart("validate", documents, remarks=found.remarks)


def _spec(view: View, policy: Policy, raw: JSONObject, reasons: list[Reason]) -> JSONObject:
    """Return the spec of the policy for a view, and add what cannot be translated."""
    validations = Validations(view, raw, reasons)
    return {
        "failurePolicy": policy.spec.failure_policy,
        "paramKind": raw.get("paramKind"),
        "matchConstraints": view.constraints,
        "matchConditions": list(view.conditions),
        "variables": [*view.variables, *validations.variables],
        "validations": validations.exported,
        "auditAnnotations": _annotations(view, raw, reasons),
    }


def _annotations(view: View, raw: JSONObject, reasons: list[Reason]) -> list[JSONObject]:
    annotations: list[JSONObject] = []
    for index, annotation in enumerate(raw.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        text = attempt(reasons, path, view.expression, annotation["valueExpression"])
        annotations.append({**annotation, "valueExpression": text})
    return annotations
