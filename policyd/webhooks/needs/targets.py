"""Targets: one operation on one resource each. Match rules are expanded into targets, intersected
and subtracted as sets of them. Knows no policies.

    t = RequestTarget("CREATE", "", "v1", "pods")
    RequestTarget("CREATE", "*", "*", "*").covers(t)              # True: a rule for every resource
    t.meet(RequestTarget("CREATE", "apps", "*", "*"))             # None: no request matches both
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from policyd.json_types import JSONObject

ANY = "*"
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")  # in the order of rendered rules


@dataclass(frozen=True, slots=True, order=True)
class RequestTarget:
    """One operation on a resource; ``*`` in a field stands for every value.

    ``subresource`` is empty for the resource itself; ``*`` includes it (``pods/*`` matches Pods).
    Without ``names`` every object is meant.
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
        """Return the resource as rules write it: ``pods/status``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def wide(self) -> bool:
        """Whether it has a wildcard, that of the scope not counted."""
        return ANY in (self.operation, self.group, self.version, self.resource, self.subresource)

    def covers(self, other: "RequestTarget", *, versions: bool = True) -> bool:
        """Whether every request of ``other`` is one of this; ``versions``: the version counts."""
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

        ``versions`` false: the version of this target is kept, whatever that of the other is.
        """
        version = _meet(self.version, other.version) if versions else self.version
        parts = (
            _meet(self.operation, other.operation),
            _meet(self.group, other.group),
            version,
            _meet(self.resource, other.resource),
            _meet(self.subresource, other.subresource),
            _meet(self.scope, other.scope),
        )
        names = self.names or other.names
        if self.names and other.names:
            names = tuple(name for name in self.names if name in other.names)
            if not names:
                return None
        operation, group, version, resource, subresource, scope = parts
        if (
            operation is None
            or group is None
            or version is None
            or resource is None
            or subresource is None
            or scope is None
        ):
            return None
        return RequestTarget(operation, group, version, resource, subresource, scope, names)


def targets_of(rules: Iterable[JSONObject]) -> Iterator[RequestTarget]:
    """Yield the targets of match rules or webhook rules (camelCase JSON)."""
    for rule in rules:
        given = rule.get("operations") or ()
        operations = OPERATIONS if ANY in given else tuple(o for o in OPERATIONS if o in given)
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
    """Return the same requests in the fewest targets, sorted: none covers another one."""
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
    """Return what is left of a target, as far as targets can say it; what is left may be too much,
    never too little. Versions must be compared before.
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
