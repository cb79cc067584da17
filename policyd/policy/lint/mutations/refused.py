"""Advice on mutations that change existing Pods where the API server refuses changes: then every
update of such a Pod fails, whatever it is about. Evaluates nothing.
"""

from collections.abc import Iterator

from policyd.errors import Problem
from policyd.policy.kinds.subresources import ANY_STEP
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.written import writes
from policyd.policy.lint.run import LintRun
from policyd.policy.model.expressions import expressions_of, mutations_of
from policyd.policy.model.findings import path_text
from policyd.policy.model.kinds import AnyPolicy, Policy
from policyd.policy.model.match import covers

RULE = "refused-write"
# ValidatePodUpdate in k8s.io/kubernetes, pkg/apis/core/validation.
_MUTABLE = (
    ("spec", "containers", ANY_STEP, "image"),
    ("spec", "initContainers", ANY_STEP, "image"),
    ("spec", "activeDeadlineSeconds"),
    ("spec", "tolerations"),
)
_TELLING = (".operation", "oldObject")  # in expressions that may distinguish updates


def refused(run: LintRun) -> Iterator[Problem]:
    """Yield one advice for each policy, about its first such write."""
    for document, policy in run.policies():
        texts = [each.text for each in expressions_of(document.raw)]
        if not _updates_pods(policy) or any(word in text for text in texts for word in _TELLING):
            continue
        written = ((each, write) for each in mutations_of(document.raw) for write in writes(each))
        for mutation, write in written:
            if not _may_change(write.place):
                message = (
                    f"the API server refuses updates that change {path_text(write.place)} of an "
                    "existing Pod: they fail unless the Pod has the value already"
                )
                yield write.problem(document, mutation, message, _hint(policy), RULE)
                break


def _updates_pods(policy: AnyPolicy) -> bool:
    return any(
        "pods" in rule.resources
        and covers(rule.api_groups, "")
        and covers(rule.operations, "UPDATE")
        for rule in policy.spec.match_constraints.resource_rules
    )


def _may_change(place: Place) -> bool:
    """Whether a change at a place, or of a part of it, may be one that the API server admits."""
    if place[:1] != ("spec",):
        return True
    adds = place[-1] == ANY_STEP and place[1:-1] in (("containers",), ("initContainers",))
    return not adds and any(
        all(step == kept for step, kept in zip(place, mutable, strict=False))
        for mutable in _MUTABLE
    )


def _hint(policy: AnyPolicy) -> str:
    if isinstance(policy, Policy) and policy.spec.pod_controllers:
        return "add the match condition request.kind.kind != 'Pod' || request.operation == 'CREATE'"
    return "match only CREATE"
