"""Advice on mutations that change existing Pods where the API server refuses changes: then every
update of such a Pod fails, whatever it is about. Evaluates nothing.
"""

from collections.abc import Iterable, Iterator

from policyd.errors import Problem
from policyd.mutation.schemas.schemas import Schemas, field_below
from policyd.policy.kinds.subresources import ANY_STEP
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.written import writes
from policyd.policy.lint.run import LintRun
from policyd.policy.model.expressions import expressions_of, mutations_of
from policyd.policy.model.findings import path_text
from policyd.policy.model.kinds import AnyPolicy, Policy
from policyd.policy.model.match import NamedRuleWithOperations, covers, covers_resource

RULE = "refused-write"
# ValidatePodUpdate in k8s.io/kubernetes, pkg/apis/core/validation.
_MUTABLE = (
    ("spec", "containers", ANY_STEP, "image"),
    ("spec", "initContainers", ANY_STEP, "image"),
    ("spec", "activeDeadlineSeconds"),
    ("spec", "tolerations"),
)
_DEBUG = ("spec", "ephemeralContainers")  # only requests to the subresource write it
# In expressions that may distinguish updates, or Pods with gates: some fields of these may change.
_TELLING = (".operation", "oldObject", "ubResource", "schedulingGates")


def refused(run: LintRun) -> Iterator[Problem]:
    """Yield one advice for each policy, about its first such write."""
    for document, policy in run.policies():
        texts = [each.text for each in expressions_of(document.raw)]
        if not _updates_pods(policy) or any(word in text for text in texts for word in _TELLING):
            continue
        rules = policy.spec.match_constraints.resource_rules
        debugs = any(_has_updates(each, "ephemeralcontainers") for each in rules)
        mutable = (*_MUTABLE, _DEBUG) if debugs else _MUTABLE
        written = ((each, write) for each in mutations_of(document.raw) for write in writes(each))
        for mutation, write in written:
            if not _may_change(write.place, mutable, run.schemas):
                message = (
                    f"the API server refuses updates that change {path_text(write.place)} of an "
                    "existing Pod: they fail unless the Pod has the value already"
                )
                yield write.problem(document, mutation, message, _hint(policy), RULE)
                break


def _updates_pods(policy: AnyPolicy) -> bool:
    match = policy.spec.match_constraints
    named = any(
        _has_updates(rule) and not {"pods", "pods/*"}.isdisjoint(rule.resources)
        for rule in match.resource_rules
    )
    return named and not any(
        _has_updates(rule) and not rule.resource_names for rule in match.exclude_resource_rules
    )


def _has_updates(rule: NamedRuleWithOperations, subresource: str = "") -> bool:
    return (
        covers_resource(rule.resources, "pods", subresource)
        and covers(rule.api_groups, "")
        and covers(rule.operations, "UPDATE")
    )


def _may_change(place: Place, mutable: Iterable[Place], schemas: Schemas) -> bool:
    """Whether a change at a place, or of a part of it, may be one that the API server admits."""
    if place[:1] != ("spec",) or not _in_pods(place, schemas):
        return True
    adds = place[-1] == ANY_STEP and place[1:-1] in (("containers",), ("initContainers",))
    return not adds and any(
        all(step == kept for step, kept in zip(place, each, strict=False)) for each in mutable
    )


def _in_pods(place: Place, schemas: Schemas) -> bool:
    """Whether Pods have the field; not if only the value of an expression names it."""
    field = schemas.go_type(("", "v1", "Pod"))
    for step in place[:2]:
        field = None if field is None else field_below(field, step)
    return field is not None


def _hint(policy: AnyPolicy) -> str:
    own = policy.spec if isinstance(policy, Policy) else None
    others = own is not None and (own.validations or own.audit_annotations)
    if own is not None and own.pod_controllers:
        condition = (
            "the match condition request.kind.kind != 'Pod' || request.operation == 'CREATE'"
        )
        return f"move the mutations to a policy with {condition}" if others else f"add {condition}"
    match = "only CREATE for pods"
    return f"move the mutations to a policy that matches {match}" if others else f"match {match}"
