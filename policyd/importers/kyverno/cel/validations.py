"""Validations, variables and audit annotations of Kyverno's CEL as fields of a Policy, and the body
of a rule of ClusterPolicy and Policy with ``validate.cel``, which has them.

They have the fields of a ValidatingAdmissionPolicy. Kyverno shows the message of an expression, not
the message of ``validate``; here an expression without a message has it.
"""

from dataclasses import dataclass

from policyd._core.match.labels import key_errors
from policyd.export.expressions.occurrences import occurrences
from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import conjunction, enclosed, items, object_at, one_line
from policyd.importers.kyverno.cel.rewriting import Rewriting, params_in
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.reads import PolicyReads
from policyd.json_types import JSONObject

_VALIDATION = frozenset(
    ("expression", "message", "messageExpression", "reason", "name", "identifier")
)
# Leaves room for a number that makes the name unique.
_NAME_LENGTH = 60
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def bound_variables(
    spec: JSONObject, path: str, rewriting: Rewriting
) -> tuple[list[JSONObject], Rewriting]:
    """Return the ``variables`` of a spec at ``path``, and the rewriting of what comes after."""
    found: list[JSONObject] = []
    for each, here in items(spec, "variables", path, ("name", "expression")):
        expression = rewriting.field(each, "expression", here)
        name = str(each.get("name", ""))
        found.append({"name": name, "expression": expression})
        rewriting = rewriting.with_variable(name, expression)
    return found, rewriting


@dataclass(frozen=True, slots=True)
class SplitConditions:
    """matchConditions; and ``late``, CEL of those that need what matchConditions cannot see.
    ``path`` is the path of the conditions.
    """

    early: list[JSONObject]
    late: str
    path: str


def conditions(holder: JSONObject, name: str, path: str, rewriting: Rewriting) -> SplitConditions:
    """Return the conditions in a field of ``holder``, which is at ``path``, as matchConditions;
    variables are replaced by their expressions.

    In Kyverno they see the Namespace, in Kubernetes they do not.
    """
    found: list[JSONObject] = []
    late: list[str] = []
    for each, here in items(holder, name, path, ("name", "expression")):
        text = rewriting.without_variables(str(each.get("expression", "")), f"{here}.expression")
        if occurrences(text, frozenset(("namespaceObject",))):
            late.append(text)
            continue
        wanted = condition_name(str(each.get("name", "")))
        unique = free_name(wanted, [known["name"] for known in found])
        found.append({"name": unique, "expression": text})
    return SplitConditions(found, conjunction(late), f"{path}.{name}")


def guarded(
    checks: list[JSONObject],
    variables: list[JSONObject],
    given: SplitConditions,
    *,
    more: bool,
) -> tuple[list[JSONObject], list[JSONObject]]:
    """Return validations and variables so that validations only count if late conditions hold.

    Raises Refused if there are no validations, or ``more`` than them: nothing else can be guarded.
    """
    if not given.late:
        return checks, variables
    if not checks or more:
        raise Refused(given.path, "a condition reads namespaceObject, which is only known later")
    name = free_name("applies", (str(each["name"]) for each in variables))
    guard = f"!variables.{name} || "
    after = [{**each, "expression": guard + enclosed(each["expression"])} for each in checks]
    return after, [*variables, {"name": name, "expression": given.late}]


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
    holder: JSONObject,
    name: str,
    path: str,
    rewriting: Rewriting,
    notes: ImportNotes,
    *,
    fallback: str = "",
) -> list[JSONObject]:
    """Return the validations in a field of ``holder``, which is at ``path``. ``fallback`` is the
    message of validations without one.
    """
    found: list[JSONObject] = []
    for each, here in items(holder, name, path, _VALIDATION):
        one: JSONObject = {}
        if own := each.get("name") or each.get("identifier"):
            one["name"] = str(own)
        one["expression"] = rewriting.field(each, "expression", here)
        computed = each.get("messageExpression")
        message = str(each.get("message") or ("" if computed else fallback)).strip()
        if message:
            one["message"] = one_line(message)
        if "\n" in message:
            notes.remark(f"{here}.message", "the line breaks of the message became spaces")
        if computed:
            one["messageExpression"] = rewriting.field(each, "messageExpression", here)
        reason = each.get("reason")
        if reason in _REASONS:
            one["reason"] = reason
        elif reason is not None:
            one["reason"] = "Forbidden"
            text = f"the reason {reason} became Forbidden: a webhook cannot answer with {reason}"
            notes.remark(f"{here}.reason", text)
        found.append(one)
    return found


def audit_annotations(spec: JSONObject, path: str, rewriting: Rewriting) -> list[JSONObject]:
    """Return the ``auditAnnotations`` of a spec at ``path``."""
    return [
        {
            "key": str(each.get("key", "")),
            "valueExpression": rewriting.field(each, "valueExpression", here),
        }
        for each, here in items(spec, "auditAnnotations", path, ("key", "valueExpression"))
    ]


_FIELDS = (
    "expressions",
    "variables",
    "auditAnnotations",
    "paramKind",
    "paramRef",
    "generate",  # whether Kyverno makes a ValidatingAdmissionPolicy of it, which decides the same
)


def parts(rule: JSONObject, path: str, reads: PolicyReads, notes: ImportNotes) -> JSONObject:
    """Return what the CEL of a rule at ``path`` contributes to a Policy: matchConditions of its
    ``celPreconditions``, variables, validations, auditAnnotations, paramKind and paramRef.

    Raises Refused.
    """
    validate = object_at(rule, "validate", path)
    here = f"{path}.validate.cel"
    cel = object_at(validate, "cel", f"{path}.validate", _FIELDS)
    spec: JSONObject = {}
    for field in ("paramKind", "paramRef"):
        if cel.get(field):
            spec[field] = object_at(cel, field, here)
    params = params_in(cel)
    if len(params) == 1 and not spec:
        spec |= params[0]
    rewriting = Rewriting(param=spec if params else {}, reads=reads)
    variables, rewriting = bound_variables(cel, here, rewriting)
    message = str(validate.get("message") or "")
    checks = validations(cel, "expressions", here, rewriting, notes, fallback=message)
    annotations = cel.get("auditAnnotations")
    held = conditions(rule, "celPreconditions", path, rewriting)
    checks, variables = guarded(checks, variables, held, more=bool(annotations))
    spec |= {
        "matchConditions": held.early,
        "variables": variables,
        "validations": checks,
        "auditAnnotations": audit_annotations(cel, here, rewriting),
    }
    if not checks and not annotations:
        raise Refused(here, "there is neither an expression nor an audit annotation")
    return {field: value for field, value in spec.items() if value}
