"""The subresources of resources: the operation of their requests, the kind of the object, and what
the API server stores of it. One table; which resources have which is in ``served``.

What is stored follows from the strategies in k8s.io/kubernetes, ``pkg/registry``: they copy the
rest from the object that exists (PrepareForUpdate), or read nothing else.
"""

import json
from collections.abc import Container, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from policyd._core.match.equivalents import BUILT_IN_GROUPS

ANY_STEP = "*"  # in a path: each item of a list, or any key
_Path = tuple[str, ...]
_METADATA = frozenset({"annotations", "finalizers", "labels", "ownerReferences"})
_RESIZED = tuple(
    ("spec", containers, ANY_STEP, field)
    for containers in ("containers", "initContainers")
    for field in ("resources", "resizePolicy")
)


@cache
def special_resources(section: str) -> Mapping[tuple[str, str], frozenset[str]]:
    """Return what is special about resources, by group and name, from ``special_resources.json``.

    ``statusUpdates``: the fields of metadata that an update of its status does not store; other
    built-in resources store all, custom resources none. ``operations``: the operations of resources
    that are not simply created, updated and deleted; without any no policy or webhook is called,
    whatever matchPolicy and wildcards are.
    """
    table = json.loads(Path(__file__).with_name("special_resources.json").read_bytes())
    rows = ((place.split("/"), names.split()) for place, names in table[section].items())
    return {(group, name): frozenset(names) for (group, name), names in rows}


class Subresource(NamedTuple):
    """A subresource. ``resource`` is empty if many have it; ``kind``: apiVersion and kind of the
    object, empty if it is the resource's.

    ``stored``: the paths of what is stored (besides metadata); ``dropped``: the fields of metadata
    that are not.
    """

    resource: str
    subresource: str
    operation: str = "CONNECT"
    kind: tuple[str, str] = ("", "")
    stored: tuple[_Path, ...] = ((),)
    dropped: frozenset[str] = frozenset()

    def stores(self, path: _Path, group: str, resource: str) -> bool:
        """Return whether a change at a path is stored, at least in part, for this resource."""
        if path[:1] == ("metadata",):
            return not self.dropped_metadata(group, resource).issuperset(path[1:2] or "*")
        return any(
            all(ANY_STEP in pair or pair[0] == pair[1] for pair in zip(path, kept, strict=False))
            for kept in self.stored
        )

    def dropped_metadata(self, group: str, resource: str) -> frozenset[str]:
        """Return the fields of metadata that are not stored for this resource."""
        if self.subresource != "status":
            return self.dropped
        custom = frozenset() if group in BUILT_IN_GROUPS else _METADATA
        return special_resources("statusUpdates").get((group, resource), custom)


SUBRESOURCES = (
    Subresource("pods", "exec", kind=("v1", "PodExecOptions")),
    Subresource("pods", "attach", kind=("v1", "PodAttachOptions")),
    Subresource("pods", "portforward", kind=("v1", "PodPortForwardOptions")),
    Subresource("pods", "proxy", kind=("v1", "PodProxyOptions")),
    Subresource("services", "proxy", kind=("v1", "ServiceProxyOptions")),
    Subresource("nodes", "proxy", kind=("v1", "NodeProxyOptions")),
    Subresource("pods", "binding", "CREATE", ("v1", "Binding"), (("target",),),
                frozenset({"finalizers", "ownerReferences"})),
    Subresource("pods", "eviction", "CREATE", ("policy/v1", "Eviction"), (("deleteOptions",),),
                _METADATA),
    Subresource("serviceaccounts", "token", "CREATE", ("authentication.k8s.io/v1", "TokenRequest"),
                (("spec",),), _METADATA),
    Subresource("", "scale", "UPDATE", ("autoscaling/v1", "Scale"), (("spec", "replicas"),),
                _METADATA),
    Subresource("pods", "ephemeralcontainers", "UPDATE",
                stored=(("spec", "ephemeralContainers"),), dropped=_METADATA),
    # The resources of the Pod itself and volumes in memory since 1.34 and 1.37.
    Subresource("pods", "resize", "UPDATE",
                stored=(*_RESIZED, ("spec", "resources"), ("spec", "volumes")), dropped=_METADATA),
    Subresource("certificatesigningrequests", "approval", "UPDATE",
                stored=(("status", "conditions"),)),
    Subresource("namespaces", "finalize", "UPDATE", stored=(("spec",),)),
    Subresource("", "status", "UPDATE", stored=(("status",),)),
)  # fmt: skip
# (apiVersion, kind) -> the subresource whose requests alone have objects of that kind.
SUBRESOURCE_OF_KIND = {each.kind: each for each in SUBRESOURCES if each.kind[1]}


def subresources_named(resource: str) -> Iterator[Subresource]:
    """Yield the subresources that a resource of a match rule names, such as ``pods/exec`` or
    ``*/scale``; none for ``pods/*``.
    """
    name, _, subresource = resource.partition("/")
    for each in SUBRESOURCES:
        if each.subresource == subresource and (not each.resource or name in ("*", each.resource)):
            yield each


def subresources_matched(resource: str, operations: Container[str]) -> Iterator[Subresource | None]:
    """Yield the subresources of which a match rule with this resource matches requests; None is
    the resource itself.
    """
    named = list(subresources_named(resource))
    if not named:
        yield None
    for each in named:
        if "*" in operations or each.operation in operations:
            yield each
