"""Validations, variables and audit annotations of Kyverno's CEL as those of a Policy.

They have the fields of a ValidatingAdmissionPolicy.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from policyd._core.match.labels import key_errors
from policyd.export.expressions.occurrences import occurrences
from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import enclosed, objects, one_line, require_fields
from policyd.importers.kyverno.cel.rewriting import Rewriting
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSON, JSONObject
from policyd.versions import NEWEST

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


@dataclass(frozen=True, slots=True)
class SplitConditions:
    """matchConditions; and ``late``, CEL of those that need what matchConditions cannot see."""

    early: list[JSONObject]
    late: str = ""

    def variable(self, taken: Iterable[str]) -> JSONObject | None:
        """Return a variable that holds if the late conditions do."""
        return {"name": free_name("applies", taken), "expression": self.late} if self.late else None


def conditions(given: JSON, path: str, rewriting: Rewriting) -> SplitConditions:
    """Return matchConditions; variables are replaced by their expressions.

    In Kyverno they see the Namespace, in Kubernetes they do not.
    """
    found: list[JSONObject] = []
    late: list[str] = []
    for index, each in enumerate(objects(given, path)):
        here = f"{path}[{index}]"
        require_fields(each, ("name", "expression"), here)
        text = rewriting.without_variables(str(each.get("expression", "")), f"{here}.expression")
        if occurrences(text, frozenset(("namespaceObject",)), NEWEST):
            late.append(text)
            continue
        name = condition_name(str(each.get("name", "")))
        name = free_name(name, [known["name"] for known in found])
        found.append({"name": name, "expression": text})
    return SplitConditions(found, late[0] if len(late) == 1 else " && ".join(map(enclosed, late)))


def guarded(
    checks: list[JSONObject],
    variables: list[JSONObject],
    given: SplitConditions,
    path: str,
    *,
    more: bool = False,
) -> tuple[list[JSONObject], list[JSONObject]]:
    """Return validations and variables so that validations only count if late conditions hold.

    Raises Refused if there are no validations, or ``more`` than them: nothing else can be guarded.
    """
    applies = given.variable(str(each["name"]) for each in variables)
    if applies is None:
        return checks, variables
    if not checks or more:
        raise Refused(path, "a condition reads namespaceObject, which is only known later")
    guard = f"!variables.{applies['name']} || "
    after = [{**each, "expression": guard + enclosed(each["expression"])} for each in checks]
    return after, [*variables, applies]


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
