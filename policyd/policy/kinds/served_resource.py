"""A resource that a cluster serves, in one version. Only data."""

from dataclasses import dataclass

from policyd._core.match.equivalents import EQUIVALENTS


@dataclass(frozen=True, slots=True)
class Served:
    """A resource of a cluster, in one version."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """Return the apiVersion as in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label(self) -> str:
        """Return the name that kubectl uses: ``deployments.apps``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def storage_of(served: Served) -> tuple[str, str]:
    """Return the group and resource that identify the same objects in all groups."""
    place = (served.group, served.resource)
    family = EQUIVALENTS.families.get(place)
    return place if family is None else (family.resources[0][0], family.resources[0][2])
