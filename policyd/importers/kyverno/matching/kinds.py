"""Kinds as Kyverno selects them, such as ``apps/v1/Deployment`` and ``Pod/exec``, as resources.

A kind without a group is the built-in one of this name, or else that of any group. Reads no
cluster: the plural of a custom kind comes from its CustomResourceDefinition, if it is among the
sources, else from the rule that nearly all kinds follow.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from policyd.importers.kyverno.matching.globs import is_wild
from policyd.json_types import JSON
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCES

# kyverno pkg/utils/kube/kind.go
_VERSION = re.compile(r"v\d((alpha|beta)\d)?|\*")
_CONNECTING = frozenset({"exec", "attach", "portforward", "proxy"})


class KindSelector(NamedTuple):
    """What a string of ``kinds`` selects; parts may have wildcards, and are ``*`` if not given."""

    group: str
    version: str
    kind: str
    subresource: str


@dataclass(frozen=True, slots=True)
class MatchedResource:
    """The resources of a selector. ``exact``: they have no other kinds than the selected ones.
    ``connects``: requests for them are CONNECT. ``derived``: the kind is unknown, and the plural
    follows from its name.
    """

    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    selector: KindSelector
    exact: bool = True
    connects: bool = False
    derived: bool = False


def selected(text: str) -> KindSelector:
    """Read a selector (kyverno pkg/utils/kube/kind.go, ParseKindSelector).

    >>> selected("apps/v1/Deployment")
    KindSelector(group='apps', version='v1', kind='Deployment', subresource='')
    >>> selected("Pod.status")
    KindSelector(group='*', version='*', kind='Pod', subresource='status')
    """
    first, _, last = text.rpartition("/")
    parts = [*first.split("/")] if first else []
    parts += last.split(".", 1)
    if len(parts) == 2 and parts != ["*", "*"] and _VERSION.fullmatch(parts[0]):
        parts = ["*", *parts, ""]
    elif len(parts) == 2:
        parts = ["*", "*", *parts]
    elif len(parts) == 3:
        parts = ["*", *parts] if _VERSION.fullmatch(parts[0]) and parts[0] != "*" else [*parts, ""]
    elif len(parts) == 1:
        parts = ["*", "*", *parts, ""]
    if len(parts) != 4 or not parts[2]:
        raise ValueError(f"{text!r} does not name a kind")
    return KindSelector(*parts)


def target(text: str, definitions: Iterable[Mapping[str, JSON]] = ()) -> MatchedResource:
    """Return the resources that a string of ``kinds`` selects.

    ``definitions`` are CustomResourceDefinitions. Raises ValueError for what names no kind.
    """
    selector = selected(text)
    group, version, kind, subresource = selector
    versions = ("*",) if is_wild(version) else (version,)
    if is_wild(kind):
        resource = f"*/{subresource}" if subresource else "*"
        exact = kind == "*" and _whole(group, version)
        return MatchedResource((_group(group),), versions, (resource,), selector, exact)
    special = _only_subresource(selector)
    if special is not None:
        return special
    found = _known(selector, definitions)
    name = found[0][1] if found else plural(kind)
    groups = tuple(dict.fromkeys(each for each, _ in found)) or (_group(group),)
    if version == "*" and groups == ("",):
        versions = ("v1",)
    resources: tuple[str, ...] = (f"{name}/{subresource}",) if subresource else (name,)
    if kind == "Pod" and not subresource:
        resources = ("pods", "pods/ephemeralcontainers")  # CheckKind's allowEphemeralContainers
    connects = subresource in _CONNECTING
    exact = _whole("*" if found else group, version)
    return MatchedResource(groups, versions, resources, selector, exact, connects, not found)


def _whole(group: str, version: str) -> bool:
    """Return whether wildcards stand for whole parts only, as those of match rules do."""
    return all(each == "*" or not is_wild(each) for each in (group, version))


def _group(group: str) -> str:
    return "*" if is_wild(group) else group


def _only_subresource(selector: KindSelector) -> MatchedResource | None:
    """Return the subresource that takes objects of a kind which has no resource of its own."""
    for (api_version, kind), found in SUBRESOURCES.items():
        if kind != selector.kind or selector.subresource or kind == "Binding":
            continue
        group, _, version = api_version.rpartition("/")
        if not (selector.group in ("*", group) and selector.version in ("*", version)):
            continue
        resource = f"{found.resource or '*'}/{found.subresource}"
        groups = ("",) if found.resource else ("*",)
        versions = ("v1",) if found.resource else ("*",)
        connects = found.operation == "CONNECT"
        return MatchedResource(groups, versions, (resource,), selector, True, connects)
    return None


def _known(
    selector: KindSelector, definitions: Iterable[Mapping[str, JSON]]
) -> list[tuple[str, str]]:
    """Return group and plural of built-in resources of a kind, and of those of the sources."""
    found = {
        (api_version.rpartition("/")[0], plural(kind))
        for api_version, kind in BUILTIN_KINDS
        if kind == selector.kind
    }
    for each in definitions:
        spec = each.get("spec") or {}
        names = spec.get("names") or {}
        if names.get("kind") == selector.kind:
            found.add((str(spec.get("group")), str(names.get("plural"))))
    return sorted(key for key in found if fnmatchcase(key[0], selector.group))
