"""Advice on policies that can lock a cluster: with failurePolicy Fail they match what nodes and the
API server must write to work, and nobody can while the webhook is down.

Only cluster-scoped resources and Leases matter: the webhooks leave out kube-system, kube-node-lease
and policyd's own namespace.
"""

from collections.abc import Iterator
from typing import NamedTuple

from policyd.cel.syntax.ast import Checked, Ident, Select
from policyd.cel.syntax.recursion import nodes
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.base import LabelSelector
from policyd.policy.model.expressions import CONDITION
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.match import (
    MatchResources,
    NamedRuleWithOperations,
    covers,
    covers_resource,
)

RULE = "cluster-lockout"
WILDCARD_RULE = "wildcard"


class Vital(NamedTuple):
    """A resource that the cluster itself must write: ``without``, what happens if it cannot; and a
    matchCondition that exempts who writes it, empty if that is anybody.
    """

    group: str
    resource: str
    subresources: tuple[str, ...]
    without: str
    condition: str = ""


_NODES = (
    "!('system:nodes' in request.userInfo.?groups.orValue([]) || 'system:bootstrappers' in "
    "request.userInfo.?groups.orValue([]) || 'system:serviceaccounts:kube-system' in "
    "request.userInfo.?groups.orValue([]))"
)
_API_SERVER = "request.userInfo.?username.orValue('') != 'system:apiserver'"
_RBAC = "rbac.authorization.k8s.io"
# kubernetes pkg/kubelet/kubelet_node_status.go, pkg/volume/csi/nodeinfomanager (the kubelet ends
# without a CSINode), pkg/registry/rbac/rest/storage_rbac.go (the API server ends if it cannot
# update its roles), kube-aggregator pkg/controllers/autoregister (it does not get ready).
VITAL = (
    Vital("", "nodes", ("status",), "no node can join or report that it is ready", _NODES),
    Vital("certificates.k8s.io", "certificatesigningrequests", ("approval", "status"),
          "no node gets or renews its certificate", _NODES),
    Vital("storage.k8s.io", "csinodes", (), "no kubelet can start", _NODES),
    Vital(_RBAC, "clusterroles", (), "an API server of another version cannot start", _API_SERVER),
    Vital(_RBAC, "clusterrolebindings", (), "an API server of another version cannot start",
          _API_SERVER),
    Vital("apiregistration.k8s.io", "apiservices", ("status",),
          "an API server of another version does not get ready", _API_SERVER),
    Vital("coordination.k8s.io", "leases", (),
          "controllers outside kube-system lose their leader elections"),
)  # fmt: skip
# The cluster's operations on them; it also deletes them, but can wait.
_WRITES = ("CREATE", "UPDATE")
_OWN_DOMAINS = (".kubernetes.io", ".k8s.io")  # of labels that Kubernetes sets
# A webhook cannot have a condition that reads these.
_ONLY_POLICIES_SEE = ("namespaceObject", "params", "reads", "variables")


def advise_lockouts(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy."""
    if policy.model.spec.failure_policy != "Fail":
        return
    match = policy.model.spec.match_constraints
    spared = any(
        expression.role is CONDITION and _exempts_users(checked)
        for expression, checked in policy.compiled
    )
    for index, rule in enumerate(match.resource_rules):
        path = ("spec", "matchConstraints", "resourceRules", index)
        if rule.resource_names:
            continue
        if "*" in rule.api_groups and {"*", "*/*"}.intersection(rule.resources):
            yield FormProblem(
                path,
                "the rule matches every resource and failurePolicy is Fail: nothing in the cluster "
                "can change while the webhook is down",
                "name the groups and resources that the policy checks",
                rule=WILDCARD_RULE,
            )
        elif not spared and not _requires_labels(match.object_selector):
            yield from _vital(rule, match, path)


def _vital(
    rule: NamedRuleWithOperations, match: MatchResources, path: tuple[str | int, ...]
) -> Iterator[FormProblem]:
    reported: set[Vital] = set()
    for number, pattern in enumerate(rule.resources):
        for each in VITAL:
            every = (each.resource, *(f"{each.resource}/{sub}" for sub in each.subresources))
            named = [name for name in every if covers_resource([pattern], name)]
            names = [name for name in named if _is_written(each, name, rule, match)]
            if not names or each in reported:
                continue
            reported.add(each)
            condition = f"add the matchCondition {each.condition}, " if each.condition else ""
            shown = names[0] if pattern == names[0] else f"{pattern!r} includes {names[0]}"
            yield FormProblem(
                (*path, "resources", number),
                f"{shown}, and failurePolicy is Fail: while the webhook is down, {each.without}",
                f"{condition}set failurePolicy: Ignore, or match less",
                rule=RULE,
            )


def _is_written(
    vital: Vital, name: str, rule: NamedRuleWithOperations, match: MatchResources
) -> bool:
    """Whether the rule matches writes of the cluster that no other rule excludes."""
    namespaced = vital.resource == "leases"
    if rule.scope == ("Cluster" if namespaced else "Namespaced"):
        return False
    if not covers(rule.api_groups, vital.group):
        return False
    excluding = [
        each
        for each in match.exclude_resource_rules
        if covers(each.api_groups, vital.group)
        and covers_resource(each.resources, name)
        and not each.resource_names
    ]
    return any(
        covers(rule.operations, operation)
        and not any(covers(each.operations, operation) for each in excluding)
        for operation in _WRITES
    )


def _requires_labels(selector: LabelSelector) -> bool:
    """Whether a selector requires a label that objects of the cluster lack: one that Kubernetes
    does not set itself, as it does on nodes and on the roles of the API server.
    """
    required = [
        *selector.match_labels,
        *(each.key for each in selector.match_expressions if each.operator in ("In", "Exists")),
    ]
    return not all(f".{key.rpartition('/')[0]}".endswith(_OWN_DOMAINS) for key in required)


def _exempts_users(checked: Checked) -> bool:
    """Whether a condition is about the user, and one that the webhook can have."""
    about_users = False
    for node in nodes(checked.expr):
        if isinstance(node, Ident) and node.name.removeprefix(".") in _ONLY_POLICIES_SEE:
            return False
        about_users = about_users or (isinstance(node, Select) and node.field == "userInfo")
    return about_users
