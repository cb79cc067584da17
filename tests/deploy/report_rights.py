"""The rights that a run of ``policyd report`` needs for the policies of the chart. No tests here."""

import itertools

# Each (group, resource, verb).
Rights = set[tuple[str, str, str]]


def product(groups: list[str], resources: list[str], verbs: list[str]) -> Rights:
    """Every right that a rule with these lists grants."""
    return set(itertools.product(groups, resources, verbs))


WRITTEN = product(
    ["openreports.io"], ["reports", "clusterreports"], ["list", "create", "patch", "delete"]
) | product(
    ["wgpolicyk8s.io"],
    ["policyreports", "clusterpolicyreports"],
    ["list", "create", "patch", "delete"],
)
# Of ConfigMaps: of policies in policyd's own namespace, of exceptions in those of teams.
CONFIG_MAPS = product([""], ["configmaps"], ["list"])
NAMESPACES = product([""], ["namespaces"], ["get", "list"])
WORKLOADS = (
    product([""], ["pods", "replicationcontrollers"], ["list"])
    | product(["apps"], ["deployments", "statefulsets", "daemonsets", "replicasets"], ["list"])
    | product(["batch"], ["jobs", "cronjobs"], ["list"])
)
