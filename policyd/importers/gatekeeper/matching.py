"""``match`` of constraints and mutators as matchConstraints and matchConditions.

Semantics: Gatekeeper pkg/mutation/match/match.go. Its webhook is sent what its configuration names,
by default creates and updates of all resources and of some sub-resources.
"""

from collections.abc import Mapping, Sequence

from policyd.export.expressions.selectors import wildcard_expression
from policyd.importers.fields import items, object_at, require_fields, strings
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.policies import resource_rule
from policyd.importers.reads import mapper_of
from policyd.json_types import JSONObject
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCE_OF_KIND
from policyd.policy.source.loaded_documents import Document

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
    "pods": ("pods/ephemeralcontainers",),
    "services": ("services/status",),
}
_NAMESPACE = "request.?namespace.orValue('')"


def matched(
    match: JSONObject,
    path: str,
    others: Sequence[Document],
    notes: ImportNotes,
    operations: Sequence[str] = _CHANGES,
    *,
    subresources: bool = True,
) -> JSONObject:
    """Return what a ``match`` at ``path`` says as matchConstraints and matchConditions, with
    remarks about kinds whose resource follows from their name only; raises Refused.

    Custom resources have the plural of their CustomResourceDefinition among ``others``.
    """
    require_fields(match, _FIELDS, path)
    if match.get("source") == "Generated":
        text = "it is about objects that Gatekeeper expands from others, not about requests"
        raise Refused(f"{path}.source", text)
    mapper = mapper_of(others)
    rules: list[JSONObject] = []
    kinds = items(match, "kinds", path, ("apiGroups", "apiVersions", "kinds"))
    for each, here in [*kinds] or [({}, f"{path}.kinds[0]")]:
        rules += _rules(each, here, mapper, notes, operations=operations, subresources=subresources)
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
    conditions = _conditions(match, path, "DELETE" in operations)
    return {"matchConstraints": found, "matchConditions": conditions}


def _rules(
    kinds: JSONObject,
    path: str,
    mapper: ResourceMapper,
    notes: ImportNotes,
    *,
    operations: Sequence[str],
    subresources: bool,
) -> list[JSONObject]:
    """Return the rules for some kinds."""
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
            rules.append(resource_rule("*", "*", given, [resource]))
            continue
        known = _known(kind, groups, mapper)
        if not known:
            message = (
                "neither Kubernetes nor a CustomResourceDefinition of the sources has the kind "
                f"{kind} in the groups {', '.join(groups)}: taken for {plural(kind)}"
            )
            notes.remark(f"{path}.kinds", message)
        for name in known or [plural(kind)]:
            plain.append(name)
            plain += _OWN_SUBRESOURCES.get(name, ()) if subresources else ()
    if plain:
        rules.insert(0, resource_rule(groups, versions, operations, plain))
    return rules


def _subresource(kind: str) -> tuple[str, str] | None:
    """Return the resource and the operation for kinds that only sub-resources have."""
    for (_, name), target in SUBRESOURCE_OF_KIND.items():
        if name == kind:
            return f"{target.resource or '*'}/{target.subresource}", target.operation
    return None


def _known(kind: str, groups: Sequence[str], mapper: ResourceMapper) -> list[str]:
    """Return the resources of the kinds with this name that are known in some of the groups."""
    known = mapper.of_kind(kind)
    found = (each.resource for each in known if "*" in groups or each.group in groups)
    return list(dict.fromkeys(found))


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
