"""Targets: one operation on one resource each. Match rules are expanded into targets, intersected
and subtracted as sets. The scope and the only version of built-in resources are known. Knows no
policies.

    t = RequestTarget("CREATE", "", "v1", "pods")
    RequestTarget("CREATE", "*", "*", "*").covers(t)              # True: a rule for every resource
    t.meet(RequestTarget("CREATE", "apps", "*", "*"))             # None: no request matches both
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, TypeVar

from policyd.json_types import JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.model.match import OPERATIONS, covers

ANY = "*"


@dataclass(frozen=True, slots=True, order=True)
class RequestTarget:
    """One operation on a resource; ``*`` in a field stands for every value.

    ``subresource`` is empty for the resource itself; ``*`` includes it (``pods/*`` matches Pods).
    Without ``names`` it covers every object.
    """

    operation: str
    group: str
    version: str
    resource: str
    subresource: str = ""
    scope: str = ANY
    names: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the resource as in rules: ``pods/status``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def wide(self) -> bool:
        """Whether it has a wildcard outside its scope."""
        return ANY in (self.operation, self.group, self.version, self.resource, self.subresource)

    def covers(self, other: "RequestTarget", *, versions: bool = True) -> bool:
        """Whether it includes every request of ``other``; ``versions``: the version counts."""
        return (
            _covers(self.operation, other.operation)
            and _covers(self.group, other.group)
            and (not versions or _covers(self.version, other.version))
            and _covers(self.resource, other.resource)
            and _covers(self.subresource, other.subresource)
            and _covers(self.scope, other.scope)
            and (not self.names or (bool(other.names) and set(other.names) <= set(self.names)))
        )

    def meet(self, other: "RequestTarget", *, versions: bool = True) -> "RequestTarget | None":
        """Return the requests that both match; None if there are none.

        ``versions`` false: keep the version of this target, regardless of the other's.
        """
        version = _meet(self.version, other.version) if versions else self.version
        if (
            (operation := _meet(self.operation, other.operation)) is None
            or (group := _meet(self.group, other.group)) is None
            or version is None
            or (resource := _meet(self.resource, other.resource)) is None
            or (subresource := _meet(self.subresource, other.subresource)) is None
            or (scope := _meet(self.scope, other.scope)) is None
        ):
            return None
        names = self.names or other.names
        if self.names and other.names:
            names = tuple(name for name in self.names if name in other.names)
            if not names:
                return None
        return RequestTarget(operation, group, version, resource, subresource, scope, names)


def targets_of(rules: Iterable[JSONObject]) -> Iterator[RequestTarget]:
    """Yield the targets of match rules or webhook rules (camelCase JSON)."""
    for rule in rules:
        given = rule.get("operations") or ()
        operations = [each for each in OPERATIONS if covers(given, each)]
        names = tuple(sorted(set(rule.get("resourceNames") or ())))
        scope = rule.get("scope") or ANY
        for resource in rule.get("resources") or ():
            name, _, subresource = resource.partition("/")
            for group in rule.get("apiGroups") or ():
                for version in rule.get("apiVersions") or ():
                    for operation in operations:
                        yield RequestTarget(
                            operation, group, version, name, subresource, scope, names
                        )


EVERYTHING = tuple(RequestTarget(operation, ANY, ANY, ANY, ANY) for operation in OPERATIONS)


def reduced(targets: Iterable[RequestTarget]) -> list[RequestTarget]:
    """Return the same requests in the fewest targets, sorted: none covers another target."""
    scopes: dict[RequestTarget, set[str]] = {}
    for target in targets:
        scopes.setdefault(replace(target, scope=ANY), set()).add(target.scope)
    joined = [
        replace(target, scope=next(iter(found)) if len(found) == 1 else ANY)
        for target, found in scopes.items()
    ]
    wide = [each for each in joined if each.wide]
    return sorted(
        target
        for target in joined
        if not any(other is not target and other.covers(target) for other in wide)
    )


def minus(target: RequestTarget, excluded: RequestTarget) -> list[RequestTarget]:
    """Return the rest of a target, as far as targets can express it: it may be too much, but never
    too little. Versions must be compared before.
    """
    if excluded.covers(target, versions=False):
        return []
    both_scopes = target.scope == ANY and excluded.scope != ANY
    if both_scopes and replace(excluded, scope=ANY).covers(target, versions=False):
        return [
            replace(target, scope="Cluster" if excluded.scope == "Namespaced" else "Namespaced")
        ]
    return [target]


def _covers(mine: str, other: str) -> bool:
    return mine in (ANY, other)


def _meet(mine: str, other: str) -> str | None:
    if mine in (ANY, other):
        return other
    return mine if other == ANY else None


GroupResource = tuple[str, str]  # API group and resource
_Of = TypeVar("_Of")


class TargetIndex(Generic[_Of]):
    """Targets, each with its need or rule."""

    def __init__(self, targets: Iterable[tuple[RequestTarget, _Of]]) -> None:
        self._found: dict[GroupResource, list[tuple[RequestTarget, _Of]]] = {}
        for target, of in targets:
            self._found.setdefault((target.group, target.resource), []).append((target, of))

    @property
    def pairs(self) -> list[GroupResource]:
        """Return the groups and resources of the targets, ``*`` included, sorted."""
        return sorted(self._found)

    def about(self, pair: GroupResource) -> Iterator[tuple[RequestTarget, _Of]]:
        """Yield the targets that a request for a resource may match."""
        group, resource = pair
        for key in dict.fromkeys(((group, resource), (ANY, resource), (group, ANY), (ANY, ANY))):
            yield from self._found.get(key, ())

    def at(self, pair: GroupResource) -> Iterator[tuple[RequestTarget, _Of]]:
        """Yield the targets with exactly this group and resource."""
        yield from self._found.get(pair, ())


def without_scopes(targets: Iterable[RequestTarget]) -> Iterator[RequestTarget]:
    """Yield the targets that can have requests, without redundant scopes."""
    for target in targets:
        scope, _ = _known().get((target.group, target.resource), ("", ""))
        if not scope or target.scope == ANY:
            yield target
        elif target.scope == scope:
            yield replace(target, scope=ANY)


def in_only_version(target: RequestTarget) -> RequestTarget:
    """Return a target for every version with the only version that clusters serve, if any."""
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
