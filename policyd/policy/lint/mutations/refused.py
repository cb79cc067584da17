"""Advice on mutations that change existing Pods where the API server refuses changes: then every
update of such a Pod fails, whatever it is about. Evaluates nothing.
"""

from collections.abc import Iterable, Iterator

from policyd.mutation.schemas.schemas import Schemas, field_below
from policyd.policy.kinds.subresources import ANY_STEP
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.written import writes
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem, path_text
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


def refused(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield one advice for a policy, about its first such write."""
    texts = [each.text for each in policy.expressions]
    excluding = policy.model.spec.match_constraints.exclude_resource_rules
    named = [each for each in policy.rules if {"pods", "pods/*"} & {*each.resources}]
    if (
        not any(map(_has_updates, named))
        or any(_has_updates(each) and not each.resource_names for each in excluding)
        or any(word in text for text in texts for word in _TELLING)
    ):
        return
    debugs = any(_has_updates(each, "pods/ephemeralcontainers") for each in policy.rules)
    mutable = (*_MUTABLE, _DEBUG) if debugs else _MUTABLE
    for mutation, write in ((each, write) for each in policy.mutations for write in writes(each)):
        if not _may_change(write.place, mutable, policy.run.schemas):
            message = (
                f"the API server refuses updates that change {path_text(write.place)} of an "
                "existing Pod: they fail unless the Pod has the value already"
            )
            yield write.finding(mutation, RULE, message, _hint(policy))
            return


def _has_updates(rule: NamedRuleWithOperations, resource: str = "pods") -> bool:
    return (
        covers_resource(rule.resources, resource)
        and covers(rule.api_groups, "")
        and covers(rule.operations, "UPDATE")
    )


def _may_change(place: Place, mutable: Iterable[Place], schemas: Schemas) -> bool:
    """Whether a change at a place, or of a part of it, may be one that the API server admits."""
    field = schemas.go_type(("", "v1", "Pod"))
    for step in place[:2]:
        field = None if field is None else field_below(field, step)
    if place[:1] != ("spec",) or field is None:  # only the value of an expression names it
        return True
    adds = place[-1] == ANY_STEP and place[1:-1] in (("containers",), ("initContainers",))
    return not adds and any(
        all(step == kept for step, kept in zip(place, each, strict=False)) for each in mutable
    )


def _hint(policy: LintedPolicy) -> str:
    if policy.own is not None and policy.own.pod_controllers:
        condition = (
            "the match condition request.kind.kind != 'Pod' || request.operation == 'CREATE'"
        )
        alone, beside = f"add {condition}", f"with {condition}"
    else:
        alone, beside = "match only CREATE for pods", "that matches only CREATE for pods"
    return f"move the mutations to a policy {beside}" if policy.checks else alone
