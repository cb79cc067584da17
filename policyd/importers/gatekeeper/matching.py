"""``match`` of constraints and mutators as matchConstraints and matchConditions.

Semantics: Gatekeeper pkg/mutation/match/match.go. Its webhook is sent what its configuration names,
by default creates and updates of all resources and of some sub-resources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policyd.export.expressions.selectors import wildcard_expression
from policyd.importers.fields import object_at, objects, require_fields, strings
from policyd.importers.model import Refused
from policyd.json_types import JSONObject
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCES
from policyd.policy.source.documents import Document

_FIELDS = (
    "kinds",
    "scope",
    "namespaces",
    "excludedNamespaces",
    "labelSelector",
    "namespaceSelector",
    "name",
    "source",
)
_CHANGES = ("CREATE", "UPDATE")
# Sub-resources whose objects have the kind of the resource itself.
_OWN_SUBRESOURCES: Mapping[str, tuple[str, ...]] = {
    "Pod": ("pods/ephemeralcontainers",),
    "Service": ("services/status",),
}
_NAMESPACE = "request.?namespace.orValue('')"


@dataclass(frozen=True, slots=True)
class TranslatedMatch:
    """``constraints`` and ``conditions`` of a Policy. ``pods_only``: the only kind is Pod."""

    constraints: JSONObject
    conditions: list[JSONObject] = field(default_factory=list)


def matched(
    match: JSONObject,
    path: str,
    others: Sequence[Document],
    operations: Sequence[str] = _CHANGES,
    *,
    subresources: bool = True,
) -> TranslatedMatch:
    """Return what a ``match`` at ``path`` says; raises Refused.

    Custom resources have the plural of their CustomResourceDefinition among ``others``.
    """
    require_fields(match, _FIELDS, path)
    if match.get("source") == "Generated":
        text = "it is about objects that Gatekeeper expands from others, not about requests"
        raise Refused(f"{path}.source", text)
    kinds = objects(match.get("kinds"), f"{path}.kinds") or [{}]
    rules: list[JSONObject] = []
    for index, each in enumerate(kinds):
        here = f"{path}.kinds[{index}]"
        require_fields(each, ("apiGroups", "apiVersions", "kinds"), here)
        rules += _rules(each, here, others, list(operations), subresources)
    scope = match.get("scope") or "*"
    if scope in ("Cluster", "Namespaced"):
        rules = [{**rule, "scope": scope} for rule in rules]
    elif scope != "*":
        raise Refused(f"{path}.scope", f"the scope {scope} is not Cluster, Namespaced or *")
    found: JSONObject = {"resourceRules": rules}
    for given, wanted in (
        ("namespaceSelector", "namespaceSelector"),
        ("labelSelector", "objectSelector"),
    ):
        selector = object_at(match, given, path)
        if selector:
            found[wanted] = selector
    return TranslatedMatch(found, _conditions(match, path, "DELETE" in operations))


def _rules(
    kinds: JSONObject,
    path: str,
    others: Sequence[Document],
    operations: list[str],
    subresources: bool,
) -> list[JSONObject]:
    groups = strings(kinds.get("apiGroups"), f"{path}.apiGroups") or ["*"]
    named = strings(kinds.get("kinds"), f"{path}.kinds") or ["*"]
    versions = strings(kinds.get("apiVersions"), f"{path}.apiVersions") or ["*"]
    plain: list[str] = []
    rules: list[JSONObject] = []
    for kind in named:
        if kind == "*":
            plain.append("*")
            continue
        target = _subresource(kind)
        if target is not None:
            resource, operation = target
            given = [operation] if operation == "CONNECT" else operations
            rules.append(_rule(["*"], ["*"], given, [resource]))
            continue
        plain.append(_resource(kind, groups, others))
        plain += _OWN_SUBRESOURCES.get(kind, ()) if subresources else ()
    return [_rule(groups, versions, operations, plain), *rules] if plain else rules


def _rule(
    groups: list[str], versions: list[str], operations: list[str], resources: list[str]
) -> JSONObject:
    return {
        "apiGroups": groups,
        "apiVersions": versions,
        "operations": operations,
        "resources": resources,
    }


def _subresource(kind: str) -> tuple[str, str] | None:
    """Return the resource and the operation for kinds that only sub-resources have."""
    for (_, name), target in SUBRESOURCES.items():
        if name == kind:
            return f"{target.resource or '*'}/{target.subresource}", target.operation
    return None


def _resource(kind: str, groups: list[str], others: Sequence[Document]) -> str:
    for each in others:
        if each.kind == "CustomResourceDefinition":
            spec = object_at(each.raw, "spec", "")
            names = object_at(spec, "names", "spec")
            if names.get("kind") == kind and spec.get("group") in groups and names.get("plural"):
                return str(names["plural"])
    return plural(kind)


def _conditions(match: JSONObject, path: str, deletes: bool) -> list[JSONObject]:
    found: list[JSONObject] = []
    namespaces = strings(match.get("namespaces"), f"{path}.namespaces")
    if namespaces:
        test = wildcard_expression(namespaces, _NAMESPACE)
        test = f"{_NAMESPACE} == '' || {test}"  # cluster-scoped objects always match
        found.append({"name": "namespaces", "expression": test})
    excluded = strings(match.get("excludedNamespaces"), f"{path}.excludedNamespaces")
    if excluded:
        test = f"!({wildcard_expression(excluded, _NAMESPACE)})"
        if "*" in excluded:
            test = f"{_NAMESPACE} == '' || {test}"
        found.append({"name": "excluded-namespaces", "expression": test})
    name = str(match.get("name") or "")
    if name:
        found.append({"name": "name", "expression": _name(name, deletes)})
    return found


def _name(name: str, deletes: bool) -> str:
    """Return whether an object has the name; a new one may have the beginning of it only."""
    metadata = "(object != null ? object : oldObject).metadata" if deletes else "object.metadata"
    given = f"{metadata}.?name.orValue('')"
    if not name.endswith("*"):
        return wildcard_expression([name], given)
    generated = f"{metadata}.?generateName.orValue('')"
    return f"[{given}, {generated}].exists(name, {wildcard_expression([name], 'name')})"
