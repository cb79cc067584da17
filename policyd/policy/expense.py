"""Advice on expressions that may cost more than one evaluation is allowed.

The cost is estimated for an object in which every list, map and text has ``ASSUMED`` parts: large,
not impossible. What is above the limit then ends, for such objects, as an error.
"""

from collections.abc import Iterator

from policyd._core.estimates import CALL_LIMIT, Range
from policyd.cel.ast import Checked
from policyd.cel.env import Environment
from policyd.cel.estimate import estimate
from policyd.cel.sizes import assumed
from policyd.cel.types import Type
from policyd.errors import CelCompileError, Problem
from policyd.policy.documents import Document, Sources
from policyd.policy.model import MutatingAdmissionPolicy, Policy, ValidatingAdmissionPolicy

RULE = "expensive-expression"
ASSUMED = 100
AnyPolicy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy | Policy


def expensive(sources: Sources) -> list[Problem]:
    """The advice for all policies, in file order. Expressions that do not compile are left out."""
    return [
        _problem(document, path, cost)
        for document in sources.documents
        if isinstance(document.model, AnyPolicy)
        for path, cost in costs(document.model)
        if cost.max > CALL_LIMIT
    ]


def costs(policy: AnyPolicy) -> Iterator[tuple[str, Range]]:
    """The path and the estimated cost of each expression; that of a variable stands with it, not
    with its uses.
    """
    plain = Environment.admission(params=True, authorizer=True, patch_types=True)
    environment = plain
    declared: dict[str, Type] = {}
    for index, variable in enumerate(policy.spec.variables):
        checked = _checked(environment, variable.expression)
        if checked is not None:
            yield f"spec.variables[{index}].expression", _estimated(checked)
            declared[variable.name] = checked.result_type
            environment = plain.with_variables(declared)
    for path, text in _expressions(policy):
        checked = _checked(environment, text)
        if checked is not None:
            yield path, _estimated(checked)


def _checked(environment: Environment, text: str) -> Checked | None:
    try:
        return environment.check(text)
    except CelCompileError:
        return None


def _estimated(checked: Checked) -> Range:
    return estimate(checked, assumed(ASSUMED), dyn_fields=True)


def _expressions(policy: AnyPolicy) -> Iterator[tuple[str, str]]:
    for index, condition in enumerate(policy.spec.match_conditions):
        yield f"spec.matchConditions[{index}].expression", condition.expression
    if not isinstance(policy, MutatingAdmissionPolicy):
        for index, validation in enumerate(policy.spec.validations):
            path = f"spec.validations[{index}]"
            yield f"{path}.expression", validation.expression
            yield f"{path}.messageExpression", validation.message_expression
        for index, annotation in enumerate(policy.spec.audit_annotations):
            yield f"spec.auditAnnotations[{index}].valueExpression", annotation.value_expression
    if not isinstance(policy, ValidatingAdmissionPolicy):
        for index, mutation in enumerate(policy.spec.mutations):
            field = "jsonPatch" if mutation.patch_type == "JSONPatch" else "applyConfiguration"
            yield f"spec.mutations[{index}].{field}.expression", mutation.expression


def _problem(document: Document, path: str, cost: Range) -> Problem:
    line, column = document.place(path)
    return Problem(
        message=f"may cost {cost.max:,} units where lists, maps and texts have {ASSUMED} parts; "
        f"at {CALL_LIMIT:,} an evaluation ends with an error",
        file=document.file,
        line=line,
        column=column,
        path=path,
        hint="avoid lists within lists; match patterns and ask the authorizer outside of loops",
        rule=RULE,
        severity="advice",
    )
