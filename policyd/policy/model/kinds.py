"""The policy documents: VAP, MAP and their bindings verbatim, and policyd's own Policy.

A suite (PolicyTest) is in ``suite.py``, exceptions are in ``exceptions.py``. ``KINDS`` says which
document has which model.
"""

from typing import Any, Literal, get_args

from policyd.policy.model.base import Model, Object
from policyd.policy.model.exceptions import Exception_, PolicyException
from policyd.policy.model.match import (
    AuditAnnotation,
    FailurePolicy,
    MatchCondition,
    MatchResources,
    ParamKind,
    ParamRef,
    ReinvocationPolicy,
    Validation,
    ValidationAction,
    Variable,
)
from policyd.policy.model.mutations import Mutation, PolicyMutation
from policyd.policy.model.reads import PolicyRead
from policyd.policy.model.rollout import PolicyRollout, Rollout
from policyd.policy.model.shapes import Many
from policyd.policy.model.suite import PolicyTest

AdmissionVersion = Literal[
    "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"
]
ADMISSION_GROUP, POLICYD_GROUP = "admissionregistration.k8s.io", "policyd.dev"
ADMISSION_V1: tuple[str, ...] = get_args(AdmissionVersion)
POLICYD_V1 = ("policyd.dev/v1",)


class ValidatingAdmissionPolicySpec(Model):
    """``spec`` of a ValidatingAdmissionPolicy."""

    param_kind: ParamKind | None = None
    match_constraints: MatchResources = MatchResources()
    validations: Many[Validation] = ()
    failure_policy: FailurePolicy = "Fail"
    audit_annotations: Many[AuditAnnotation] = ()
    match_conditions: Many[MatchCondition] = ()
    variables: Many[Variable] = ()


class ValidatingAdmissionPolicy(Object):
    """Validates with CEL; does nothing without a binding."""

    api_version: AdmissionVersion
    kind: Literal["ValidatingAdmissionPolicy"]
    spec: ValidatingAdmissionPolicySpec = ValidatingAdmissionPolicySpec()


class MutatingAdmissionPolicyBindingSpec(Model):
    """``spec`` of a MutatingAdmissionPolicyBinding."""

    policy_name: str = ""
    param_ref: ParamRef | None = None
    match_resources: MatchResources | None = None


class ValidatingAdmissionPolicyBindingSpec(MutatingAdmissionPolicyBindingSpec):
    """``spec`` of a ValidatingAdmissionPolicyBinding."""

    validation_actions: Many[ValidationAction] = ()


class ValidatingAdmissionPolicyBinding(Object):
    """Puts a ValidatingAdmissionPolicy to work: where, with which params, to which effect."""

    api_version: AdmissionVersion
    kind: Literal["ValidatingAdmissionPolicyBinding"]
    spec: ValidatingAdmissionPolicyBindingSpec = ValidatingAdmissionPolicyBindingSpec()


class MutatingAdmissionPolicySpec(Model):
    """``spec`` of a MutatingAdmissionPolicy."""

    param_kind: ParamKind | None = None
    match_constraints: MatchResources = MatchResources()
    variables: Many[Variable] = ()
    mutations: Many[Mutation] = ()
    failure_policy: FailurePolicy = "Fail"
    match_conditions: Many[MatchCondition] = ()
    reinvocation_policy: ReinvocationPolicy = "Never"


class MutatingAdmissionPolicy(Object):
    """Mutates with CEL; does nothing without a binding."""

    api_version: AdmissionVersion
    kind: Literal["MutatingAdmissionPolicy"]
    spec: MutatingAdmissionPolicySpec = MutatingAdmissionPolicySpec()


class MutatingAdmissionPolicyBinding(Object):
    """Puts a MutatingAdmissionPolicy to work."""

    api_version: AdmissionVersion
    kind: Literal["MutatingAdmissionPolicyBinding"]
    spec: MutatingAdmissionPolicyBindingSpec = MutatingAdmissionPolicyBindingSpec()


class PolicyValidation(Validation):
    """A validation of a Policy: an expression, a pattern, or patterns one of which must hold.

    Its name is what an exception refers to.
    """

    name: str = ""
    pattern: dict[str, Any] | None = None
    any_pattern: Many[dict[str, Any]] | None = None


class PolicySpec(Model):
    """``spec`` of a Policy: the fields of VAP and MAP with the binding folded in."""

    description: str = ""
    match_constraints: MatchResources = MatchResources()
    pod_controllers: bool = False
    match_conditions: Many[MatchCondition] = ()
    params: dict[str, Any] | None = None
    param_kind: ParamKind | None = None
    param_ref: ParamRef | None = None
    reads: Many[PolicyRead] = ()
    variables: Many[Variable] = ()
    failure_policy: FailurePolicy = "Fail"
    timeout_seconds: float | None = None
    validation_actions: Many[ValidationAction] = ("Deny",)
    validations: Many[PolicyValidation] = ()
    audit_annotations: Many[AuditAnnotation] = ()
    mutations: Many[PolicyMutation] = ()
    reinvocation_policy: ReinvocationPolicy = "Never"
    exceptions: Many[Exception_] = ()
    rollout: PolicyRollout | None = None


class Policy(Object):
    """policyd's own kind: validates and/or mutates, works without a binding."""

    api_version: Literal["policyd.dev/v1"]
    kind: Literal["Policy"]
    spec: PolicySpec = PolicySpec()


POLICY_KINDS = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "Policy")
AnyPolicy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy | Policy
AnyBinding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding
PolicyModel = (
    ValidatingAdmissionPolicy
    | ValidatingAdmissionPolicyBinding
    | MutatingAdmissionPolicy
    | MutatingAdmissionPolicyBinding
    | Policy
    | PolicyException
    | PolicyTest
    | Rollout
)


def match_of(model: PolicyModel | None) -> tuple[str, MatchResources | None]:
    """Return the field of a policy or binding that has its match rules, and these if it has any."""
    if isinstance(model, AnyPolicy):
        return "matchConstraints", model.spec.match_constraints
    return "matchResources", model.spec.match_resources if isinstance(model, AnyBinding) else None


# kind -> (accepted apiVersions, model)
KINDS: dict[str, tuple[tuple[str, ...], type[PolicyModel]]] = {
    "ValidatingAdmissionPolicy": (ADMISSION_V1, ValidatingAdmissionPolicy),
    "ValidatingAdmissionPolicyBinding": (ADMISSION_V1, ValidatingAdmissionPolicyBinding),
    "MutatingAdmissionPolicy": (ADMISSION_V1, MutatingAdmissionPolicy),
    "MutatingAdmissionPolicyBinding": (ADMISSION_V1, MutatingAdmissionPolicyBinding),
    "Policy": (POLICYD_V1, Policy),
    "PolicyException": (POLICYD_V1, PolicyException),
    "PolicyTest": (POLICYD_V1, PolicyTest),
    "Rollout": (POLICYD_V1, Rollout),
}
