"""Validations, variables and audit annotations of Kyverno's CEL as those of a Policy.

They have the fields of a ValidatingAdmissionPolicy.
"""

from policyd._core.match.labels import key_errors
from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import objects, one_line, require_fields
from policyd.importers.kyverno.cel.rewriting import Rewriting
from policyd.importers.model import ImportRemark
from policyd.json_types import JSON, JSONObject

_VALIDATION = frozenset(
    ("expression", "message", "messageExpression", "reason", "name", "identifier")
)
# Leaves room for a number that makes the name unique.
_NAME_LENGTH = 60
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def bound_variables(
    given: JSON, path: str, rewriting: Rewriting
) -> tuple[list[JSONObject], Rewriting]:
    """Return the variables, and the rewriting of what comes after them."""
    found: list[JSONObject] = []
    for index, each in enumerate(objects(given, path)):
        here = f"{path}[{index}]"
        require_fields(each, ("name", "expression"), here)
        expression = rewriting.rewritten(str(each.get("expression", "")), f"{here}.expression")
        name = str(each.get("name", ""))
        found.append({"name": name, "expression": expression})
        rewriting = rewriting.with_variable(name, expression)
    return found, rewriting


def conditions(given: JSON, path: str, rewriting: Rewriting) -> list[JSONObject]:
    """Return matchConditions; variables are replaced by their expressions."""
    found: list[JSONObject] = []
    for index, each in enumerate(objects(given, path)):
        here = f"{path}[{index}]"
        require_fields(each, ("name", "expression"), here)
        text = rewriting.without_variables(str(each.get("expression", "")), f"{here}.expression")
        name = condition_name(str(each.get("name", "")))
        name = free_name(name, [known["name"] for known in found])
        found.append({"name": name, "expression": text})
    return found


def condition_name(given: str) -> str:
    """Return the name of a matchCondition: Kubernetes wants a qualified name, Kyverno any string.

    >>> condition_name("Check if the Pod is new.")
    'check-if-the-pod-is-new'
    """
    if given and not key_errors(given):
        return given
    plain = "".join(each if each.isascii() and each.isalnum() else " " for each in given.lower())
    words = plain.split()
    while len("-".join(words)) > _NAME_LENGTH and len(words) > 1:
        words.pop()
    return "-".join(words)[:_NAME_LENGTH] or "condition"


def validations(
    given: JSON, path: str, rewriting: Rewriting, fallback: str = ""
) -> tuple[list[JSONObject], list[ImportRemark]]:
    """Return validations. ``fallback`` is the message of those without one of their own."""
    found: list[JSONObject] = []
    remarks: list[ImportRemark] = []
    for index, each in enumerate(objects(given, path)):
        here = f"{path}[{index}]"
        require_fields(each, _VALIDATION, here)
        one: JSONObject = {}
        name = each.get("name") or each.get("identifier")
        if name:
            one["name"] = str(name)
        text = str(each.get("expression", ""))
        one["expression"] = rewriting.rewritten(text, f"{here}.expression")
        computed = each.get("messageExpression")
        message = str(each.get("message") or ("" if computed else fallback)).strip()
        if message:
            one["message"] = one_line(message)
        if "\n" in message:
            remarks.append(
                ImportRemark(f"{here}.message", "the line breaks of the message became spaces")
            )
        if computed:
            said = rewriting.rewritten(str(computed), f"{here}.messageExpression")
            one["messageExpression"] = said
        reason = each.get("reason")
        if reason in _REASONS:
            one["reason"] = reason
        elif reason is not None:
            one["reason"] = "Forbidden"
            text = f"the reason {reason} became Forbidden: a webhook cannot answer with {reason}"
            remarks.append(ImportRemark(f"{here}.reason", text))
        found.append(one)
    return found, remarks


def audit_annotations(given: JSON, path: str, rewriting: Rewriting) -> list[JSONObject]:
    """Return ``auditAnnotations``."""
    found: list[JSONObject] = []
    for index, each in enumerate(objects(given, path)):
        here = f"{path}[{index}]"
        require_fields(each, ("key", "valueExpression"), here)
        text = str(each.get("valueExpression", ""))
        said = rewriting.rewritten(text, f"{here}.valueExpression")
        found.append({"key": str(each.get("key", "")), "valueExpression": said})
    return found
