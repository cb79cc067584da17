"""Which resource the objects of a kind are, and whether they are in a namespace: the only place
that decides it offline, as a RESTMapper does in clients of a cluster.

    mapper = BUILT_IN.with_definitions(crds)
    mapper.of("cert-manager.io/v1", "ClusterIssuer")    # clusterissuers, without a namespace

Kinds of Kubernetes and of CustomResourceDefinitions are known. The resource of any other
kind is assumed: its plural is derived from the kind, and it is namespaced.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.json_types import JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS, OTHER_SCOPES
from policyd.policy.kinds.plural import plural

UNDEFINED = "no CustomResourceDefinition of it is known"
_MISSING = "Kubernetes has no such kind"


class ResourceMapping(NamedTuple):
    """The resource of a kind, in the version of the kind. ``doubt`` is why it is only assumed;
    empty if it is known.
    """

    group: str
    version: str
    resource: str
    namespaced: bool
    doubt: str = ""

    @property
    def gvr(self) -> JSONObject:
        """The resource as requests name it."""
        return {"group": self.group, "version": self.version, "resource": self.resource}


@dataclass(frozen=True, slots=True)
class DefinedKind:
    """The facts of a CustomResourceDefinition about its kind. ``stored`` is the version in which
    its objects are kept; ``convertible``: they differ only in apiVersion.
    """

    resource: str
    namespaced: bool
    versions: tuple[str, ...]
    served: tuple[str, ...]
    stored: str
    convertible: bool


class ResourceMapper:
    """Maps kinds to resources. Immutable: ``with_definitions`` returns a new one."""

    def __init__(self, defined: Mapping[tuple[str, str], DefinedKind]) -> None:
        self._defined = defined
        self._scopes = {
            (group, kind.resource): kind.namespaced for (group, _), kind in defined.items()
        }

    def with_definitions(self, crds: Iterable[Mapping[str, Any]]) -> "ResourceMapper":
        """Return the same with the kinds of usable CustomResourceDefinitions (plain JSON)."""
        found = dict(map(_defined, crds))
        return ResourceMapper({**self._defined, **found}) if found else self

    def of(self, api_version: str, kind: str) -> ResourceMapping:
        """Return the resource of a kind."""
        group, _, version = api_version.rpartition("/")
        namespaced = _built_in().get((group, kind))
        if namespaced is not None:
            return ResourceMapping(group, version, plural(kind), namespaced)
        defined = self._defined.get((group, kind))
        if defined is None:
            doubt = _MISSING if group in BUILT_IN_GROUPS else UNDEFINED
            return ResourceMapping(group, version, plural(kind), True, doubt)
        served = ", ".join(defined.served) or "no version"
        doubt = "" if version in defined.served else f"its CustomResourceDefinition serves {served}"
        return ResourceMapping(group, version, defined.resource, defined.namespaced, doubt)

    def named(self, resource: str) -> list[ResourceMapping]:
        """Return the known resources with this name: of any group, in the versions served."""
        found = dict.fromkeys(self.of(*kind) for kind in self._known())
        return [each for each in found if each.resource == resource]

    def of_kind(self, kind: str) -> list[ResourceMapping]:
        """Return the same for kinds with this name."""
        return [self.of(*known) for known in self._known() if known[1] == kind]

    def kinds_of(self, group: str) -> list[str]:
        """Return the known kinds of a group."""
        known = (each for each in self._known() if each[0].rpartition("/")[0] == group)
        return sorted({kind for _, kind in known})

    def guessed(self, name: str) -> list[ResourceMapping]:
        """Return the same for what a name may stand for: a kind, a singular, upper case."""
        guesses = [name.lower(), *(each.resource for each in self.of_kind(name)), plural(name)]
        return next(filter(None, map(self.named, guesses)), [])

    def _known(self) -> Iterator[tuple[str, str]]:
        return chain(BUILTIN_KINDS, self._served())

    def _served(self) -> Iterator[tuple[str, str]]:
        for (group, kind), defined in self._defined.items():
            yield from ((f"{group}/{version}", kind) for version in defined.served)

    def namespaced(self, group: str, resource: str) -> bool | None:
        """Whether the objects of a resource are in a namespace; None if that is not known."""
        known = _scopes().get((group, resource))
        return self._scopes.get((group, resource)) if known is None else known

    def namespaced_kind(self, kind: tuple[str, str]) -> bool | None:
        """Return the same for a kind, (apiVersion, kind), that Kubernetes serves by default or a
        definition serves; None for any other.
        """
        built_in = BUILTIN_KINDS.get(kind)
        if built_in is not None:
            return built_in
        found = self.defined(*kind)
        return None if found is None else found.namespaced

    def defined(self, api_version: str, kind: str) -> DefinedKind | None:
        """Return what a definition says about a kind that it serves; None if there is none."""
        group, _, version = api_version.rpartition("/")
        found = self._defined.get((group, kind))
        return found if found is not None and version in found.served else None

    @property
    def convertible(self) -> Iterator[list[tuple[str, str]]]:
        """The kinds, (apiVersion, kind), of each definition whose versions differ only in that."""
        for (group, kind), defined in self._defined.items():
            if defined.convertible:
                yield [(f"{group}/{version}", kind) for version in defined.versions]


def _defined(crd: Mapping[str, Any]) -> tuple[tuple[str, str], DefinedKind]:
    spec = crd["spec"]
    versions = spec["versions"]
    kind = DefinedKind(
        resource=spec["names"].get("plural", ""),
        namespaced=spec.get("scope", "Namespaced") == "Namespaced",
        versions=tuple(each["name"] for each in versions),
        served=tuple(each["name"] for each in versions if each.get("served", True)),
        stored=next((each["name"] for each in versions if each.get("storage")), ""),
        convertible=(spec.get("conversion") or {}).get("strategy", "None") == "None",
    )
    return (spec["group"], spec["names"]["kind"]), kind


@cache
def _built_in() -> dict[tuple[str, str], bool]:
    """Return whether each kind of Kubernetes is namespaced, by group and kind: in any version."""
    known = {
        (home.rpartition("/")[0], kind): scope for (home, kind), scope in BUILTIN_KINDS.items()
    }
    return {**OTHER_SCOPES, **known}


@cache
def _scopes() -> dict[tuple[str, str], bool]:
    return {(group, plural(kind)): scope for (group, kind), scope in _built_in().items()}


BUILT_IN = ResourceMapper({})
