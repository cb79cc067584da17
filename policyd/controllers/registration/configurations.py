"""Computes the changes of the registered webhook configurations. No I/O.

Replicas load policies at different times. So rules are widened as soon as the writing replica needs
them, and narrowed some seconds after the last change.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, differing_marks, field_path, item, owners
from policyd.ownership import (
    LABELS,
    MANAGER,
    POLICYD,
    labels_in,
    maker,
    owners_in,
    without_maker,
)
from policyd.policy.model.match import covers
from policyd.webhooks.configuration_paths import API_VERSION, RESOURCES
from policyd.webhooks.rendering.configurations import NODE_LEASES
from policyd.webhooks.rendering.edit_webhook import GATE
from policyd.webhooks.validation.decoding import with_defaults

# How long unneeded rules stay after the last change of the policies.
NARROWING_SECONDS = 10.0
# Resources that policyd's own Pods need to start and to write: if a webhook with failurePolicy Fail
# covered them, no new Pod could repair it.
LEASES = ("coordination.k8s.io", "leases")
VITAL = (("", "pods"), ("", "secrets"), LEASES)

# Fields of a webhook that do not affect which requests are sent.
_OTHERS_MAY_SET = ("timeoutSeconds",)
# Fields of a webhook whose lists are sets.
_UNORDERED = ("rules", "namespaceSelector", "objectSelector")


@dataclass(frozen=True, slots=True)
class ConfigurationWrite:
    """Write ``wanted``, or delete ``found``, the existing object, if nothing is wanted."""

    kind: str
    wanted: JSONObject | None
    found: JSONObject | None


def changes(
    found: Mapping[str, JSONObject],
    wanted: Mapping[str, JSONObject],
    *,
    narrow: bool,
    excluded: Sequence[str],
) -> Iterator[ConfigurationWrite]:
    """Yield the writes and deletions; both mappings are by kind.

    ``narrow``: rules that no policy needs may be removed. ``excluded`` are the namespaces that no
    webhook may cover.
    """
    for kind in RESOURCES:
        there = found.get(kind)
        target = desired(there, wanted.get(kind), narrow=narrow, excluded=excluded)
        if there is None and target is None:
            continue
        if there is None or target is None or not in_step(there, target):
            yield ConfigurationWrite(kind, target, there)


def desired(
    found: JSONObject | None, wanted: JSONObject | None, *, narrow: bool, excluded: Sequence[str]
) -> JSONObject | None:
    """Return the object to store, given the stored one; None for no object."""
    if found is None:
        return wanted
    if wanted is None:
        if not narrow:
            return found
        return None if made_by_policyd(found) else emptied(found)
    return as_made(found, wanted if narrow else widened(found, wanted, excluded))


def is_ours(configuration: JSONObject) -> bool:
    """Whether policyd may write it: policyd created it, or manifests did, for policyd to fill."""
    return bool(labels_in(configuration).items() & LABELS.items())


def made_by_policyd(configuration: JSONObject) -> bool:
    """Whether policyd created it. Otherwise manifests did, and policyd must not delete it."""
    return maker(configuration) == POLICYD


def as_made(found: JSONObject, wanted: JSONObject) -> JSONObject:
    """The wanted object, without the label that names the creator if another created it.

    Helm fails to upgrade an object if another client wrote a label that Helm writes.
    """
    return wanted if made_by_policyd(found) else without_maker(wanted)


def emptied(found: JSONObject) -> JSONObject:
    """The same configuration without webhooks."""
    return as_made(
        found,
        {
            "apiVersion": API_VERSION,
            "kind": found["kind"],
            "metadata": {"name": found["metadata"]["name"], "labels": LABELS},
            "webhooks": [],
        },
    )


def in_step(found: JSONObject, wanted: JSONObject) -> bool:
    """Whether the stored and the wanted object have the same meaning."""
    return not differences(found, wanted)


def differences(found: JSONObject, wanted: JSONObject) -> list[ManagedField]:
    """Return the fields whose stored and wanted values differ in meaning.

    Ignores a caBundle if none is wanted, because others own it, and a timeout that another manager
    has set, because it does not affect which requests are sent.
    """
    stored = _webhooks(found)
    complete = _webhooks(with_defaults(with_bundles_of(found, wanted)))
    paths: list[ManagedField] = []
    for name in sorted(stored.keys() | complete.keys()):
        path = (*field_path("webhooks"), item(name))
        one, other = stored.get(name), complete.get(name)
        if one is None or other is None:
            paths.append(path)
            continue
        for each in sorted(one.keys() | other.keys()):
            at = (*path, *field_path(each))
            same = _meaning(each, one.get(each)) == _meaning(each, other.get(each))
            if not same and not (each in _OTHERS_MAY_SET and _is_of_others(found, at)):
                paths.append(at)
    return [*paths, *differing_marks(found, wanted, "labels")]


def with_bundles_of(found: JSONObject, wanted: JSONObject) -> JSONObject:
    """The wanted object, with the stored caBundle if none is wanted."""
    result, stored = deepcopy(wanted), _webhooks(found)
    for webhook in result.get("webhooks") or ():
        bundle = ((stored.get(webhook["name"]) or {}).get("clientConfig") or {}).get("caBundle")
        if bundle:
            webhook["clientConfig"].setdefault("caBundle", bundle)
    return result


def replacing(found: JSONObject, wanted: JSONObject) -> JSONObject:
    """The object that replaces the stored one, if that has not changed since it was read."""
    metadata = found.get("metadata") or {}
    result = with_bundles_of(found, wanted)
    kept = {key: metadata[key] for key in ("annotations", "resourceVersion") if key in metadata}
    labels = {**labels_in(found), **labels_in(result)}
    result["metadata"] = {**result["metadata"], **kept, "labels": labels}
    former = owners_in(found)
    references = [*former, *(each for each in owners_in(wanted) if each not in former)]
    if references:
        result["metadata"]["ownerReferences"] = references
    return result


def widened(found: JSONObject, wanted: JSONObject, excluded: Sequence[str]) -> JSONObject:
    """The wanted object, extended to cover all that the stored configuration covers. The gate does
    not depend on policies: differences in it are edits by hand.
    """
    stored = _webhooks(with_defaults(found))
    webhooks = []
    for each in with_defaults(wanted)["webhooks"]:
        there = stored.pop(each["name"], each)
        webhooks.append(each if each["name"] == GATE else _widened(there, each, excluded))
    # An unneeded webhook stays for some seconds if policyd wrote it.
    former = [each for each in stored.values() if not uncovered([each], excluded)]
    return {**wanted, "webhooks": [*webhooks, *former]}


def uncovered(webhooks: Sequence[JSONObject], excluded: Sequence[str]) -> list[str]:
    """The names of webhooks that cover policyd's own needs in one of these namespaces."""
    return [
        each["name"]
        for each in webhooks
        if any(map(_is_vital, each.get("rules") or ()))
        and not all(_excludes(each.get("namespaceSelector") or {}, name) for name in excluded)
    ]


def _widened(found: JSONObject, wanted: JSONObject, excluded: Sequence[str]) -> JSONObject:
    former = found.get("rules") or ()
    rules = [*wanted["rules"], *(each for each in former if each not in wanted["rules"])]
    result = {**wanted, "rules": rules}
    if "Equivalent" in (found["matchPolicy"], wanted["matchPolicy"]):
        result["matchPolicy"] = "Equivalent"
    if found.get("matchConditions") != wanted.get("matchConditions"):
        result.pop("matchConditions", None)
    for field in ("namespaceSelector", "objectSelector"):
        result[field] = _either(found[field], wanted[field])
    # Nodes would be lost while policyd does not answer: their leases are never covered.
    nodes = [NODE_LEASES] if any(_is_about(each, *LEASES) for each in rules) else []
    left_out = [*excluded, *nodes]
    if not all(_excludes(result["namespaceSelector"], name) for name in left_out):
        result["namespaceSelector"].setdefault("matchExpressions", []).append(
            {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted(left_out)}
        )
    # Other edits by hand are not rules of a policy: they are undone at once.
    return wanted if uncovered([result], excluded) else result


def _either(one: JSONObject, other: JSONObject) -> JSONObject:
    """A selector that selects everything that either selects: their common requirements."""
    if one == other:
        return deepcopy(one)
    ones, others = list(_requirements(one)), list(_requirements(other))
    kept = [each for each in ones if each in others]
    for first in ones:
        for second in others:
            same = first["key"] == second["key"] and first["operator"] == second["operator"]
            if not same or first == second:
                continue
            values = set(first.get("values") or ()), set(second.get("values") or ())
            if first["operator"] == "NotIn" and values[0] & values[1]:
                kept.append({**first, "values": sorted(values[0] & values[1])})
            elif first["operator"] == "In":
                kept.append({**first, "values": sorted(values[0] | values[1])})
    return {"matchExpressions": kept} if kept else {}


def sends_less(found: JSONObject | None, wanted: JSONObject) -> bool:
    """Whether some policies are not enforced, or policyd is not reachable: a webhook is missing,
    lacks rules, has other conditions, another address or failurePolicy, or requires certain labels.
    A selector that excludes certain labels does not count.
    """
    there = {} if found is None else _webhooks(with_defaults(found))
    return any(
        each["name"] not in there or _sends_less(there[each["name"]], each)
        for each in with_defaults(with_bundles_of(found or {}, wanted))["webhooks"]
    )


def _sends_less(found: JSONObject, wanted: JSONObject) -> bool:
    rules = _unordered(found.get("rules") or [])
    labels = any(
        each["operator"] in ("In", "Exists")
        for field in ("namespaceSelector", "objectSelector")
        for each in _requirements(found[field])
        if each not in _requirements(wanted[field])
    )
    return (
        labels
        or any(each not in rules for each in _unordered(wanted["rules"]))
        or any(found[each] != wanted[each] for each in ("clientConfig", "failurePolicy"))
        or found.get("matchConditions", []) not in ([], wanted.get("matchConditions"))
    )


def _requirements(selector: JSONObject) -> Iterator[JSONObject]:
    """The requirements of a selector, matchLabels as expressions."""
    for key, value in (selector.get("matchLabels") or {}).items():
        yield {"key": key, "operator": "In", "values": [value]}
    yield from selector.get("matchExpressions") or ()


def _excludes(selector: JSONObject, namespace: str) -> bool:
    """Whether a selector excludes a namespace by its name: its other labels may change."""
    return any(
        each["key"] == NAMESPACE_NAME and not _selects(each, namespace)
        for each in _requirements(selector)
    )


def _selects(requirement: JSONObject, namespace: str) -> bool:
    among = namespace in (requirement.get("values") or ())
    operator: Any = requirement["operator"]
    return {"In": among, "NotIn": not among, "Exists": True}.get(operator, False)


def _is_vital(rule: JSONObject) -> bool:
    return any(_is_about(rule, *each) for each in VITAL)


def _is_about(rule: JSONObject, group: str, resource: str) -> bool:
    """Whether a rule covers namespaced objects of a resource, or a subresource of it."""
    return (
        rule.get("scope") != "Cluster"
        and covers(rule.get("apiGroups") or (), group)
        and any(each.partition("/")[0] in (resource, "*") for each in rule.get("resources") or ())
    )


def _is_of_others(found: JSONObject, path: ManagedField) -> bool:
    managers = owners(found, path)
    return bool(managers) and MANAGER not in managers


def _meaning(name: str, value: Any) -> Any:
    """The value of a field of a webhook, without meaningless order."""
    return _unordered(value) if name in _UNORDERED else value


def _unordered(value: Any) -> Any:
    """The value with its lists in a fixed order, regardless of the order of keys in items."""
    if isinstance(value, dict):
        return {key: _unordered(value[key]) for key in sorted(value) if value[key] not in ({}, [])}
    if isinstance(value, list):
        return sorted((_unordered(each) for each in value), key=repr)
    return value


def _webhooks(configuration: JSONObject) -> dict[str, JSONObject]:
    """The webhooks by name: policyd's do not depend on their order."""
    return {each["name"]: each for each in configuration.get("webhooks") or ()}
