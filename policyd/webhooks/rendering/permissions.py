"""The roles that policyd needs to follow the objects that policies read: their reads and params.
Finds no objects.
"""

from collections.abc import Iterable, Iterator

from policyd.admission.lookups.wanted import wanted_lookups
from policyd.json_types import JSONObject
from policyd.ownership import LABELS
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.mapping import ResourceMapper, ResourceMapping

_GROUP = "rbac.authorization.k8s.io"
# A param that is not in the list is looked up by its name.
_READ, _PARAM = ("list", "watch"), ("get", "list", "watch")
# The namespace of a Role, empty for a ClusterRole; the group, resource and verbs of a permission.
_Permission = tuple[str, str, str, tuple[str, ...]]


def roles(
    policies: CompiledPolicySet, account: str, namespace: str
) -> tuple[list[JSONObject], list[str]]:
    """Return the roles for policies, each followed by its binding to a service account; and the
    kinds whose resource is only assumed.
    """
    needed: set[_Permission] = set()
    doubts: set[str] = set()
    for mapping, kind, place, verbs in _followed(policies):
        where = place if mapping.namespaced else ""
        needed.add((where, mapping.group, mapping.resource, verbs))
        if mapping.doubt:
            api = f"{mapping.group}/{mapping.version}".removeprefix("/")
            assumed = f"the resource of {kind} ({api}) is assumed to be {mapping.resource}"
            doubts.add(f"{assumed}: {mapping.doubt}")
    made: list[JSONObject] = []
    for where in sorted({each[0] for each in needed}):
        rules = [*_rules(each for each in needed if each[0] == where)]
        made += _bound(f"{account}-reads", where, rules, account, namespace)
    return made, sorted(doubts)


def _followed(
    policies: CompiledPolicySet,
) -> Iterator[tuple[ResourceMapping, str, str, tuple[str, ...]]]:
    mapper: ResourceMapper = policies.mapper
    wanted = wanted_lookups(policies)
    for read in wanted.reads:
        yield mapper.of(read.api_version, read.kind), read.kind, read.namespace, _READ
    for param in wanted.params:
        yield mapper.of(param.api_version, param.kind), param.kind, param.namespace, _PARAM


def _rules(needed: Iterable[_Permission]) -> Iterator[JSONObject]:
    """Yield one rule for the resources of a group that have the same verbs."""
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for _, group, resource, verbs in sorted(needed):
        resources.setdefault((group, verbs), []).append(resource)
    for (group, verbs), names in resources.items():
        yield {"apiGroups": [group], "resources": names, "verbs": [*verbs]}


def _bound(
    name: str, where: str, rules: list[JSONObject], account: str, namespace: str
) -> Iterator[JSONObject]:
    kind = "Role" if where else "ClusterRole"
    metadata: JSONObject = {"name": name, "labels": dict(LABELS)}
    if where:
        metadata["namespace"] = where
    version = {"apiVersion": f"{_GROUP}/v1"}
    yield {**version, "kind": kind, "metadata": metadata, "rules": rules}
    yield {
        **version,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
