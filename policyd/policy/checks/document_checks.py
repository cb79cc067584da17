"""Checks of the values of documents, beyond their shape; ``CHECKS`` is keyed by model.

For VAP, MAP and bindings they reject exactly what the API server rejects (kubernetes 1.36
``pkg/apis/admissionregistration/validation/validation.go``), except for CEL. A Policy is stricter
where leniency only hides mistakes, such as two variables with the same name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from policyd._core.match.labels import key_errors
from policyd.json_types import FieldPath
from policyd.mutation import KINDS
from policyd.policy.checks.exceptions import check_exception
from policyd.policy.checks.match import (
    check_constraints,
    check_match_conditions,
    check_match_resources,
    check_metadata,
    check_param_kind,
    check_param_ref,
    check_variables,
    duplicates,
    invalid,
    required,
)
from policyd.policy.checks.policy import check_forms, check_overlay, check_policy, check_rollout
from policyd.policy.checks.suite import check_suite
from policyd.policy.model import names
from policyd.policy.model.exceptions import PolicyException
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicyBindingSpec,
    Policy,
    PolicyValidation,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingSpec,
)
from policyd.policy.model.match import AuditAnnotation, MatchResources, Validation
from policyd.policy.model.mutations import (
    KUBERNETES_KINDS,
    OWN_KINDS,
    ExpressionHolder,
    Mutation,
    PolicyMutation,
)
from policyd.policy.model.rollout import Rollout
from policyd.policy.model.suite import PolicyTest

MAX_AUDIT_ANNOTATIONS = 20
MAX_VALUE_EXPRESSION = 5 * 1024  # bytes
_LINE_BREAK = re.compile(r"[\n\r]")
_MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")


def check(model: object) -> list[FormProblem]:
    """Return every problem of the values of a document."""
    return list(CHECKS[type(model)](model))


def _check_vap(policy: ValidatingAdmissionPolicy) -> Iterator[FormProblem]:
    spec = policy.spec
    yield from check_metadata(policy.metadata)
    yield from check_param_kind(spec.param_kind)
    yield from check_constraints(spec.match_constraints, spec.given("match_constraints"))
    yield from check_match_conditions(spec.match_conditions)
    yield from check_variables(spec.variables)
    if not spec.validations and not spec.audit_annotations:
        detail = "validations or auditAnnotations must contain at least one item"
        yield required(("spec", "validations"), detail)
    yield from check_validations(spec.validations)
    yield from check_audit_annotations(spec.audit_annotations, policy.metadata.name)


def check_validations(validations: Sequence[Validation]) -> Iterator[FormProblem]:
    """Check ``spec.validations``."""
    for index, validation in enumerate(validations):
        at: FieldPath = ("spec", "validations", index)
        if isinstance(validation, PolicyValidation):
            yield from check_forms(validation, at)
        elif not validation.expression.strip():
            yield required((*at, "expression"), "expression is not specified")
        for field, text in (
            ("message", validation.message),
            ("messageExpression", validation.message_expression),
        ):
            if text and not text.strip():
                yield from invalid((*at, field), text, ["must be non-empty if specified"])
        if _LINE_BREAK.search(validation.message.strip()):
            wrong = "must not contain line breaks"
            hint = "write >- instead of |: it joins the lines"
            yield from invalid((*at, "message"), validation.message, [wrong], hint)


def check_audit_annotations(
    annotations: Sequence[AuditAnnotation], policy: str
) -> Iterator[FormProblem]:
    """Check ``spec.auditAnnotations``: policy name and key together must be a qualified name."""
    path: FieldPath = ("spec", "auditAnnotations")
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        wrong = f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"
        yield FormProblem(path, wrong)
    for index, annotation in enumerate(annotations):
        at = (*path, index)
        if policy:  # without one, that is the error to report
            key = f"{policy}/{annotation.key}"
            yield from invalid((*at, "key"), key, key_errors(key))
        expression = annotation.value_expression.strip()
        if not expression:
            yield required((*at, "valueExpression"), "valueExpression is not specified")
        elif len(expression.encode()) > MAX_VALUE_EXPRESSION:
            wrong = f"must not exceed {MAX_VALUE_EXPRESSION} bytes in length"
            yield FormProblem((*at, "valueExpression"), f"Too long: {wrong}")
    yield from duplicates(path, (annotation.key for annotation in annotations), "key")


def _check_vap_binding(binding: ValidatingAdmissionPolicyBinding) -> Iterator[FormProblem]:
    spec = binding.spec
    yield from check_metadata(binding.metadata)
    yield from _check_binding_spec(spec)
    yield from check_validation_actions(spec.validation_actions)


def check_validation_actions(actions: Sequence[str]) -> Iterator[FormProblem]:
    """Check ``spec.validationActions``."""
    path: FieldPath = ("spec", "validationActions")
    if not actions:
        wrong = "at least one validation action is required"
        yield required(path, wrong, "write validationActions: [Deny], [Warn] or [Audit]")
    yield from duplicates(path, actions)
    if "Deny" in actions and "Warn" in actions:
        wrong = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        yield from invalid(path, actions, [wrong], "remove Warn: a denial has the same message")


def _check_binding_spec(
    spec: ValidatingAdmissionPolicyBindingSpec | MutatingAdmissionPolicyBindingSpec,
) -> Iterator[FormProblem]:
    path: FieldPath = ("spec", "policyName")
    if not spec.policy_name:
        yield required(path)
    else:
        yield from invalid(path, spec.policy_name, names.dns_subdomain(spec.policy_name))
    yield from check_param_ref(spec.param_ref)
    if spec.match_resources is not None:
        yield from check_match_resources(spec.match_resources, ("spec", "matchResources"))


def _check_map(policy: MutatingAdmissionPolicy) -> Iterator[FormProblem]:
    spec = policy.spec
    yield from check_metadata(policy.metadata)
    yield from check_param_kind(spec.param_kind)
    yield from check_constraints(spec.match_constraints, spec.given("match_constraints"))
    yield from _check_operations(spec.match_constraints, ("spec", "matchConstraints"))
    yield from check_match_conditions(spec.match_conditions)
    yield from check_variables(spec.variables)
    if not spec.mutations:
        yield required(("spec", "mutations"), "mutations must contain at least one item")
    yield from check_mutations(spec.mutations)
    if not spec.given("reinvocation_policy"):
        yield required(("spec", "reinvocationPolicy"), "Never or IfNeeded")


def _check_operations(match: MatchResources, path: FieldPath) -> Iterator[FormProblem]:
    """Check that a MAP or its binding does not match DELETE, which ``*`` does not include there."""
    supported = ", ".join(f'"{operation}"' for operation in _MUTATING_OPERATIONS)
    for index, rule in enumerate(match.resource_rules):
        for number, operation in enumerate(rule.operations):
            if operation not in _MUTATING_OPERATIONS:
                yield FormProblem(
                    (*path, "resourceRules", index, "operations", number),
                    f'Unsupported value: "{operation}": supported values: {supported}',
                    "a DELETE has no object to mutate",
                )


def check_mutations(mutations: Sequence[Mutation]) -> Iterator[FormProblem]:
    """Check ``spec.mutations``: only the field that patchType names, with an expression."""
    for index, mutation in enumerate(mutations):
        at: FieldPath = ("spec", "mutations", index)
        if not mutation.given("patch_type"):
            own = OWN_KINDS if isinstance(mutation, PolicyMutation) else ()
            names = " or ".join(kind.patch_type for kind in KUBERNETES_KINDS)
            detail = names + "".join(f", or {kind.patch_type}" for kind in own)
            held = [kind.patch_type for kind in KINDS.values() if mutation.held(kind) is not None]
            hint = f"write patchType: {held[0]}" if len(held) == 1 else ""
            yield required((*at, "patchType"), detail, hint)
            continue
        for name, kind in KINDS.items():
            holder, path = mutation.held(kind), (*at, kind.field)
            if name == mutation.patch_type:
                if holder is None:
                    yield required(path, f"must be specified when patchType is {name}")
                elif not isinstance(holder, ExpressionHolder):
                    yield from check_overlay(holder, path)
                elif not holder.expression.strip():
                    yield required((*path, "expression"))
            elif holder is not None:
                wrong = f"must not be specified when patchType is {mutation.patch_type}"
                yield FormProblem(path, f"Invalid value: {wrong}", at_key=True)


def _check_map_binding(binding: MutatingAdmissionPolicyBinding) -> Iterator[FormProblem]:
    yield from check_metadata(binding.metadata)
    yield from _check_binding_spec(binding.spec)
    if binding.spec.match_resources is not None:
        yield from _check_operations(binding.spec.match_resources, ("spec", "matchResources"))


def _check_policy(policy: Policy) -> Iterator[FormProblem]:
    """Check the fields shared with VAP, MAP and bindings, then the Policy's own fields."""
    spec = policy.spec
    yield from check_metadata(policy.metadata)
    yield from check_param_kind(spec.param_kind)
    yield from check_param_ref(spec.param_ref)
    yield from check_constraints(spec.match_constraints, spec.given("match_constraints"))
    yield from check_match_conditions(spec.match_conditions)
    yield from check_variables(spec.variables)
    yield from check_validations(spec.validations)
    yield from check_audit_annotations(spec.audit_annotations, policy.metadata.name)
    yield from check_mutations(spec.mutations)
    yield from check_validation_actions(spec.validation_actions)
    yield from check_policy(policy)


CHECKS: dict[type, Callable[[Any], Iterator[FormProblem]]] = {
    ValidatingAdmissionPolicy: _check_vap,
    ValidatingAdmissionPolicyBinding: _check_vap_binding,
    MutatingAdmissionPolicy: _check_map,
    MutatingAdmissionPolicyBinding: _check_map_binding,
    Policy: _check_policy,
    PolicyException: check_exception,
    PolicyTest: check_suite,
    Rollout: check_rollout,
}
