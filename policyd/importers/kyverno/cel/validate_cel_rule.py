"""The body of a rule of ClusterPolicy and Policy with ``validate.cel``.

It has the fields of a ValidatingAdmissionPolicy. Kyverno shows the message of an expression, not
that of ``validate``; here an expression without a message has it.
"""

from policyd.importers.fields import object_at, require_fields
from policyd.importers.kyverno.cel.rewriting import Rewriting, params_in
from policyd.importers.kyverno.cel.validations import (
    audit_annotations,
    bound_variables,
    conditions,
    guarded,
    validations,
)
from policyd.importers.kyverno.rule_parts import RuleParts
from policyd.importers.model import Refused
from policyd.json_types import JSONObject

_FIELDS = (
    "expressions",
    "variables",
    "auditAnnotations",
    "paramKind",
    "paramRef",
    "generate",  # whether Kyverno makes a ValidatingAdmissionPolicy of it, which decides the same
)


def parts(rule: JSONObject, path: str) -> RuleParts:
    """Return what the CEL of a rule at ``path`` contributes to a Policy: matchConditions of its
    ``celPreconditions``, variables, validations, auditAnnotations, paramKind and paramRef.

    Raises Refused.
    """
    validate = object_at(rule, "validate", path)
    here = f"{path}.validate.cel"
    cel = object_at(validate, "cel", f"{path}.validate")
    require_fields(cel, _FIELDS, here)
    spec: JSONObject = {}
    for field in ("paramKind", "paramRef"):
        if cel.get(field):
            spec[field] = object_at(cel, field, here)
    params = params_in(cel)
    if len(params) == 1 and not spec:
        spec |= params[0]
    rewriting = Rewriting(param=spec if params else {})
    variables, rewriting = bound_variables(cel, here, rewriting)
    message = str(validate.get("message") or "")
    checks, remarks = validations(cel, "expressions", here, rewriting, fallback=message)
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
    return RuleParts({field: value for field, value in spec.items() if value}, tuple(remarks))
