"""Kinds as Kyverno selects them, such as ``apps/v1/Deployment`` and ``Pod/exec``, as resources.

A kind without a group is the built-in one of this name, or else the one of any group. Reads no
cluster: the plural of a custom kind comes from its CustomResourceDefinition, if it is among the
sources, else from the rule that nearly all kinds follow.

Grammar: ``group/version/kind/subresource``, parts of which may be left out or have wildcards
(kyverno pkg/utils/kube/kind.go, ParseKindSelector).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from policyd.importers.jmespath.globs import has_wildcards
from policyd.importers.policies import resource_rule
from policyd.json_types import JSONObject
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.served import known_resources
from policyd.policy.kinds.subresources import SUBRESOURCE_OF_KIND, SUBRESOURCES

# `*` is one, so that the first of two or three parts is a version, never a group.
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?|\*")


class KindSelector(NamedTuple):
    """The selection of a string of ``kinds``; parts may have wildcards. Group and version are ``*``
    if not given, the subresource is empty.
    """

    group: str
    version: str
    kind: str
    subresource: str


def selected(text: str) -> KindSelector:
    """Read a selector. Raises ValueError for what names no kind.

    >>> selected("apps/v1/Deployment")
    KindSelector(group='apps', version='v1', kind='Deployment', subresource='')
    >>> selected("Pod.status")
    KindSelector(group='*', version='*', kind='Pod', subresource='status')
    >>> selected("*/scale")
    KindSelector(group='*', version='*', kind='*', subresource='scale')
    """
    *path, last = text.split("/")
    found = _parts(*path, *last.split("."))
    if found is None or not found.kind:
        raise ValueError(f"{text!r} does not name a kind: expected GROUP/VERSION/KIND/SUBRESOURCE")
    return found


def _parts(*parts: str) -> KindSelector | None:
    match parts:
        case (kind,):
            return KindSelector("*", "*", kind, "")
        case ("*", "*"):
            return KindSelector("*", "*", "*", "*")
        case ("*", subresource) if subresource == subresource.lower():
            return KindSelector("*", "*", "*", subresource)
        case (version, kind) if _VERSION.fullmatch(version):
            return KindSelector("*", version, kind, "")
        case (kind, subresource):
            return KindSelector("*", "*", kind, subresource)
        case (version, kind, subresource) if _VERSION.fullmatch(version):
            return KindSelector("*", version, kind, subresource)
        case (group, version, kind):
            return KindSelector(group, version, kind, "")
        case (group, version, kind, subresource):
            return KindSelector(group, version, kind, subresource)
    return None


_CONNECTING = {each.subresource for each in SUBRESOURCES if each.operation == "CONNECT"}
# Subresources whose objects are of the kind of the resource.
OF_THE_KIND = {"", *(each.subresource for each in SUBRESOURCES if not each.kind[1])}


@dataclass(frozen=True, slots=True)
class MatchedResource:
    """The resources of a selector. ``exact``: match rules can say it; else a condition must compare
    group, version or kind with wildcards.

    ``connects`` and ``writes``: whether requests for them can be CONNECT, and anything else.
    ``namespaced``: all of them are known to be. ``derived``: the kind is unknown, and the plural
    follows from its name.
    """

    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    selector: KindSelector
    exact: bool = True
    connects: bool = False
    writes: bool = True
    namespaced: bool = False
    derived: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of the objects; empty if it is not the resource's, or not one."""
        _, _, kind, subresource = self.selector
        return kind if subresource in OF_THE_KIND and not has_wildcards(kind) else ""


def target(text: str, definitions: Sequence[JSONObject] = ()) -> MatchedResource:
    """Return the resources that a string of ``kinds`` selects.

    ``definitions`` are usable CustomResourceDefinitions. Raises ValueError for what selects
    nothing, and for what match rules and conditions cannot say.
    """
    selector = selected(text)
    group, version, kind, subresource = selector
    if subresource != subresource.lower():
        raise ValueError(
            f"{text} selects the subresource {subresource} of the kind {kind}, which nothing has"
        )
    if has_wildcards(subresource) and subresource != "*":
        raise ValueError(f"{text} has wildcards in the subresource, which match rules cannot say")
    if has_wildcards(kind):
        return _of_any_kind(text, selector)
    special = _only_subresource(selector)
    if special is not None:
        return special
    found = _known(selector, definitions)
    if not found and kind == kind.lower():
        raise ValueError(f"{text} selects the kind {kind}, which nothing has")
    names = tuple(dict.fromkeys(name for _, name in found)) or (plural(kind),)
    groups = tuple(dict.fromkeys(each for each, _ in found)) or (_part(group),)
    versions = ("v1",) if version == "*" and groups == ("",) else (_part(version),)
    known = known_resources(definitions)
    served = [known[key] for key in found if key in known]
    exists = any(subresource in ("", "*", *each.subresources) for each in served)
    if served and not exists:
        raise ValueError(f"{text} selects the subresource {subresource}, which {names[0]} lack")
    return MatchedResource(
        groups,
        versions,
        tuple(each for name in names for each in _resources(name, subresource, groups)),
        selector,
        # In match rules, pods/* is pods too; to Kyverno, Pod/* is its subresources only.
        # Resources of several names are each of one group, which a rule of both cannot say.
        _whole("*" if found else group, version) and subresource != "*" and len(names) == 1,
        *_reached(subresource),
        bool(served) and len(served) == len(found) and all(each.namespaced for each in served),
        not found,
    )


def _of_any_kind(text: str, selector: KindSelector) -> MatchedResource:
    group, version, kind, subresource = selector
    if subresource and kind != "*":
        raise ValueError(
            f"{text} selects a subresource of kinds with wildcards, whose requests do not show the "
            "kind: name the kinds"
        )
    known = {name for each in known_resources(()).values() for name in each.subresources}
    if subresource not in ("", "*", *known):
        raise ValueError(
            f"{text} selects the subresource {subresource} of every kind, which no kind of "
            "Kubernetes has: name the kind"
        )
    resource = f"*/{subresource}" if subresource else "*"
    exact = kind == "*" and _whole(group, version)
    versions = (_part(version),)
    return MatchedResource(
        (_part(group),), versions, (resource,), selector, exact, *_reached(subresource)
    )


def _resources(name: str, subresource: str, groups: Sequence[str]) -> tuple[str, ...]:
    if subresource:
        return (f"{name}/{subresource}",)
    # CheckKind's allowEphemeralContainers
    return (name, f"{name}/ephemeralcontainers") if name == "pods" and "" in groups else (name,)


def _reached(subresource: str) -> tuple[bool, bool]:
    """Return whether requests for a subresource can be CONNECT, and anything else."""
    return subresource in _CONNECTING or subresource == "*", subresource not in _CONNECTING


def _whole(group: str, version: str) -> bool:
    """Return whether wildcards stand for whole parts only, as in match rules."""
    return all(each == "*" or not has_wildcards(each) for each in (group, version))


def _part(written: str) -> str:
    return "*" if has_wildcards(written) else written


def _only_subresource(selector: KindSelector) -> MatchedResource | None:
    """Return the subresource that takes objects of a kind which has no separate resource."""
    for (api_version, kind), found in SUBRESOURCE_OF_KIND.items():
        if kind != selector.kind or selector.subresource or kind == "Binding":
            continue
        group, _, version = api_version.rpartition("/")
        if not (selector.group in ("*", group) and selector.version in ("*", version)):
            continue
        resource = f"{found.resource or '*'}/{found.subresource}"
        groups = ("",) if found.resource else ("*",)
        versions = ("v1",) if found.resource else ("*",)
        connects = found.operation == "CONNECT"
        namespaced = bool(found.resource) and bool(BUILT_IN.namespaced("", found.resource))
        return MatchedResource(
            groups, versions, (resource,), selector, True, connects, not connects, namespaced
        )
    return None


def _known(selector: KindSelector, definitions: Sequence[JSONObject]) -> list[tuple[str, str]]:
    """Return group and plural of built-in resources of a kind, and of the sources' resources."""
    known = BUILT_IN.with_definitions(definitions).of_kind(selector.kind)
    found = {(each.group, each.resource) for each in known}
    return sorted(key for key in found if fnmatchcase(key[0], selector.group))


def resource_rules(matched: Iterable[tuple[MatchedResource, tuple[str, ...]]]) -> list[JSONObject]:
    """Write match rules, one for all resources of the same groups, versions and operations."""
    rules: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for target, operations in matched:
        if operations:
            key = (target.groups, target.versions, operations)
            listed = rules.setdefault(key, [])
            listed += [each for each in target.resources if each not in listed]
    return [resource_rule(*key, resources) for key, resources in rules.items()]
