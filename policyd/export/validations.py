"""Export what a policy validates: ValidatingAdmissionPolicies and their bindings."""

from policyd.export.controllers import pod_expression
from policyd.export.expressions.rewriting import free_name
from policyd.export.model import ExportedPart, Reason
from policyd.export.patterns.translation import translate
from policyd.export.policy_views import (
    ExportSource,
    View,
    attempt,
    bound_part,
    remarks_on,
    views_of,
)
from policyd.json_types import JSONObject
from policyd.policy.model.match import covers

# Unicode White_Space, which Go's strings.TrimSpace removes.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


_PATTERNS = frozenset({"pattern", "anyPattern"})


def validation_part(source: ExportSource) -> ExportedPart:
    """Return the policies with their bindings, or the fields that cannot be translated."""
    reasons: list[Reason] = []
    views = views_of(source, reasons)
    specs = [(view, _spec(view, source, reasons)) for view in views]
    if reasons:
        return ExportedPart("validate", reasons=tuple(dict.fromkeys(reasons)))
    bound: JSONObject = {
        "paramRef": source.raw.get("paramRef"),
        "validationActions": list(source.spec.validation_actions),
    }
    return bound_part("validate", specs, bound, source, [*remarks_on(source, views)])


def _spec(view: View, source: ExportSource, reasons: list[Reason]) -> JSONObject:
    """Return the spec of the policy for a view, and add what cannot be translated."""
    raw = source.raw
    given: list[JSONObject] = raw.get("validations") or []
    variables = [*view.variables]
    obj = "object"
    if any(_PATTERNS & item.keys() for item in given) and (text := _checked_object(view)):
        name = free_name("checked", [variable["name"] for variable in variables])
        variables.append({"name": name, "expression": text})
        obj = f"variables.{name}"
    return {
        "failurePolicy": source.spec.failure_policy,
        "paramKind": raw.get("paramKind"),
        "matchConstraints": view.constraints,
        "matchConditions": list(view.conditions),
        "variables": variables,
        "validations": [
            _validation(item, f"spec.validations[{index}]", view, obj, reasons)
            for index, item in enumerate(given)
        ],
        "auditAnnotations": _annotations(view, raw, reasons),
    }


def _checked_object(view: View) -> str:
    """Return the object that patterns check, which read it often; empty if it is ``object``."""
    if view.template is not None:
        return pod_expression(view.template)
    rules: list[JSONObject] = view.constraints.get("resourceRules") or []
    may_delete = any(covers(rule["operations"], "DELETE") for rule in rules)
    return "object != null ? object : oldObject" if may_delete else ""


def _validation(
    item: JSONObject, path: str, view: View, obj: str, reasons: list[Reason]
) -> JSONObject:
    """Return a validation that is lifted by the exceptions from it."""
    pattern = _PATTERNS & item.keys()
    if pattern:
        found = _pattern(item, path, view, obj, reasons)
    else:
        found = _expression(item, path, view, reasons)
    found["expression"] = view.exceptions.lifted(item.get("name", ""), found["expression"])
    if not pattern and found["expression"] != item["expression"] and not item.get("message"):
        # The usual message of a validation without one quotes the expression.
        found["message"] = f"failed expression: {item['expression'].strip(_SPACE)}"
        if "\n" in found["message"] or "\r" in found["message"]:
            text = (
                "without a message, a denial quotes the expression, which is exported in another "
                "form and is on several lines, as no message can be; add a message"
            )
            reasons.append(Reason(f"{path}.message", text))
    return found


def _expression(item: JSONObject, path: str, view: View, reasons: list[Reason]) -> JSONObject:
    found = {key: value for key, value in item.items() if key != "name"}
    for field in ("expression", "messageExpression"):
        if field in item:
            found[field] = attempt(reasons, f"{path}.{field}", view.expression, item[field])
    return found


def _pattern(
    item: JSONObject, path: str, view: View, obj: str, reasons: list[Reason]
) -> JSONObject:
    """Return a validation that means the same as a pattern."""
    shown = "" if view.template is None else view.template.shown_path
    secret = view.template is None and may_match_secrets(view.constraints)
    translated = translate(item, obj, shown, secret=secret, version=view.version)
    if isinstance(translated, list):
        reasons += (Reason(f"{path}.{each.path}", each.message) for each in translated)
        return {"expression": "true"}
    reason = {"reason": item["reason"]} if "reason" in item else {}
    return {
        "expression": translated.expression,
        # The API server's message if the messageExpression fails.
        "message": item.get("message") or "the object does not fit the pattern",
        "messageExpression": translated.message_expression,
        **reason,
    }


def may_match_secrets(constraints: JSONObject) -> bool:
    """Whether a policy with these matchConstraints may see a Secret."""
    return any(
        covers(rule["apiGroups"], "")
        and any(each.partition("/")[0] in ("secrets", "*") for each in rule["resources"])
        for rule in constraints.get("resourceRules") or ()
    )


def _annotations(view: View, raw: JSONObject, reasons: list[Reason]) -> list[JSONObject]:
    annotations: list[JSONObject] = []
    for index, annotation in enumerate(raw.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        text = attempt(reasons, path, view.expression, annotation["valueExpression"])
        annotations.append({**annotation, "valueExpression": text})
    return annotations
