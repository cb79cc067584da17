"""The resources of Kubernetes (1.37) and of CustomResourceDefinitions, with their versions,
subresources and operations. Data and lookups only.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from policyd.mutation.schemas.tables import recent_kinds
from policyd.policy.kinds import subresources
from policyd.policy.kinds.builtin import BUILTIN_KINDS, SHORT_NAMES, SUBRESOURCES
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.kinds.plural import plural

WRITES = frozenset({"CREATE", "UPDATE", "DELETE"})
# The operations of subresources that admission gets; reads (log) never reach admission.
_OPERATIONS = {each.subresource: each.operation for each in subresources.SUBRESOURCES}


class Removal(NamedTuple):
    """The release in which Kubernetes stopped serving a version, and where the resource is now."""

    release: str
    now: str


# (group, version, resource) -> removal. Versions that were served by default, from 1.16 on:
# ``removed.json`` has the resources by release, apiVersion, and where they are now.
REMOVED: Mapping[tuple[str, str, str], Removal] = {
    (*api_version.split("/"), name): Removal(release, now)
    for release, versions in json.loads(
        Path(__file__).with_name("removed.json").read_bytes()
    ).items()
    for api_version, places in versions.items()
    for now, names in places.items()
    for name in names
}


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource; ``namespaced`` is None if unknown. ``versions`` are those that a cluster can
    serve, ``usual`` those that it serves by default. ``aliases`` are the names, in lower case, that
    kubectl accepts in place of the plural: kind, singular and short names.
    """

    versions: tuple[str, ...]
    usual: tuple[str, ...]
    namespaced: bool | None
    operations: frozenset[str] = WRITES
    subresources: tuple[str, ...] = ()
    aliases: frozenset[str] = frozenset()

    def operations_of(self, subresource: str) -> frozenset[str]:
        """Return the operations that admission gets (``*``: also of all subresources)."""
        if not subresource:
            return self.operations
        everything = subresource == "*"
        names = [each for each in self.subresources if everything or each == subresource]
        seen = {_OPERATIONS[name] for name in names if name in _OPERATIONS}
        return self.operations | seen if everything else frozenset(seen)


Resources = Mapping[tuple[str, str], Resource]  # by group and plural name


def known_resources(crds: Iterable[Mapping[str, Any]]) -> Resources:
    """Return the resources of Kubernetes and of these CustomResourceDefinitions (plain JSON)."""
    found, crds = dict(_builtin()), tuple(crds)
    mapper = BUILT_IN.with_definitions(crds)
    for crd in crds:
        spec = crd.get("spec") or {}
        names, group = spec.get("names") or {}, spec.get("group", "")
        served = [each for each in spec.get("versions") or () if each.get("served", True)]
        subresources = {name for each in served for name in each.get("subresources") or ()}
        versions = tuple(each.get("name", "") for each in served)
        found[group, names.get("plural", "")] = Resource(
            versions,
            versions,
            mapper.namespaced(group, names.get("plural", "")),
            subresources=tuple(sorted(subresources)),
            aliases=_aliases(names),
        )
    return found


def _aliases(names: Mapping[str, Any]) -> frozenset[str]:
    short = names.get("shortNames")
    given = [names.get("kind"), names.get("singular"), *(short if isinstance(short, list) else ())]
    return frozenset(each.lower() for each in given if isinstance(each, str) and each)


@functools.cache
def _builtin() -> Resources:
    versions: dict[tuple[str, str], list[str]] = {}
    aliases: dict[tuple[str, str], frozenset[str]] = {}
    for api_version, kind in BUILTIN_KINDS:
        group, _, version = api_version.rpartition("/")
        versions.setdefault((group, plural(kind)), []).append(version)
        short = SHORT_NAMES.get(plural(kind), ())
        aliases[group, plural(kind)] = frozenset({kind.lower(), *short})
    usual = {key: tuple(listed) for key, listed in versions.items()}
    served = {api_version for api_version, _ in BUILTIN_KINDS}
    for key in recent_kinds():  # versions that a cluster can be configured to serve
        group, version, kind = key.split("/")
        if f"{group}/{version}".removeprefix("/") not in served:
            versions.setdefault((group, plural(kind)), []).append(version)
    return {
        (group, name): Resource(
            tuple(listed),
            usual.get((group, name), ()),
            BUILT_IN.namespaced(group, name),
            subresources.special_resources("operations").get((group, name), WRITES),
            tuple(SUBRESOURCES.get(group, {}).get(name, ())),
            aliases.get((group, name), frozenset()),
        )
        for (group, name), listed in versions.items()
    }
