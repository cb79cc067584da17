"""Resources that other versions or groups serve too (matchPolicy Equivalent).

The API server knows which resources it serves; a webhook sees only a request's ``resource`` and
``requestResource``. This table adds what is known offline: built-in resources that clusters serve
in several versions, and the versions that CustomResourceDefinitions declare.
``match_resources.pyx`` uses the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Gvr = tuple[str, str, str]
GvkTuple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """Resources that the API server treats as equivalent, in the order of their registration.

    ``convertible``: they differ only in apiVersion (a custom resource with conversion None).
    ``kinds`` has the kind of a (resource, subresource) that differs from the request's kind in the
    other version. A kind of three empty strings is unknown to the API server.
    """

    resources: tuple[Gvr, ...]
    convertible: bool = False
    kinds: Mapping[tuple[Gvr, str], GvkTuple] = field(default_factory=dict)


# Groups whose served versions are known: a rule for another version (apps/v1beta1) matches nothing.
# In other groups, every version that a rule names may be served.
BUILT_IN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)

# Resources served in several versions by default since Kubernetes 1.26.
BUILT_IN = (
    Family((("", "v1", "events"), ("events.k8s.io", "v1", "events"))),
    Family(
        (
            ("autoscaling", "v1", "horizontalpodautoscalers"),
            ("autoscaling", "v2", "horizontalpodautoscalers"),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Equivalents:
    """The families by (group, resource), and the groups whose families are all known."""

    families: Mapping[tuple[str, str], Family]
    closed_groups: frozenset[str] = BUILT_IN_GROUPS

    @classmethod
    def of(cls, families: Iterable[Family]) -> "Equivalents":
        """The table of these families and the built-in groups."""
        table = {(gvr[0], gvr[2]): family for family in families for gvr in family.resources}
        return cls(MappingProxyType(table))

    @classmethod
    def of_crds(cls, crds: Iterable[Mapping[str, Any]]) -> "Equivalents":
        """The table with the families of built-in kinds and CustomResourceDefinitions."""
        return cls.of(BUILT_IN).with_crds(crds)

    def with_crds(self, crds: Iterable[Mapping[str, Any]]) -> "Equivalents":
        """This table with the families of CustomResourceDefinitions."""
        added = Equivalents.of(_family(crd["spec"]) for crd in crds)
        return Equivalents(MappingProxyType({**self.families, **added.families}))


def _family(spec: Mapping[str, Any]) -> Family:
    versions = [version["name"] for version in spec["versions"] if version.get("served", True)]
    plural = spec["names"]["plural"]
    strategy = (spec.get("conversion") or {}).get("strategy", "None")
    resources = tuple((spec["group"], version, plural) for version in versions)
    return Family(resources, convertible=strategy == "None")


EQUIVALENTS = Equivalents.of(BUILT_IN)
