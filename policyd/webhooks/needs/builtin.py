"""What is known of rules about built-in resources: Pods are in a namespace, Nodes are not, and a
resource may have only one version. Rules about other resources stay as they are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.webhooks.needs.targets import ANY, RequestTarget


def without_scopes(targets: Iterable[RequestTarget]) -> Iterator[RequestTarget]:
    """Yield the targets that can have requests, without a scope that says nothing."""
    for target in targets:
        scope, _ = _known().get((target.group, target.resource), ("", ""))
        if not scope or target.scope == ANY:
            yield target
        elif target.scope == scope:
            yield replace(target, scope=ANY)


def in_only_version(target: RequestTarget) -> RequestTarget:
    """Return a target for every version as one for the only version that clusters serve."""
    _, version = _known().get((target.group, target.resource), ("", ""))
    return replace(target, version=version) if version and target.version == ANY else target


@cache
def _known() -> dict[tuple[str, str], tuple[str, str]]:
    """Return scope and only version (or "") by group and resource."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for (api_version, kind), namespaced in BUILTIN_KINDS.items():
        group, _, version = api_version.rpartition("/")
        resource = (group, plural(kind))
        scope = "Namespaced" if namespaced else "Cluster"
        found[resource] = (scope, "" if resource in found else version)
    return found
