"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings.

policyd runs these kinds as they are. A Policy has no binding: what a binding says, where, with
which parameters and to which effect, becomes part of it, so there is one Policy for each binding.
"""

from collections.abc import Mapping, Sequence

from policyd.importers.fields import object_at, objects, require_fields, strings
from policyd.importers.model import Imported, ImportedDocument, ImportNotes, Refused
from policyd.importers.policies import ACTIONS, metadata_of, policy, whole
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_COMMON = (
    "paramKind",
    "matchConstraints",
    "matchConditions",
    "variables",
    "failurePolicy",
)
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ValidatingAdmissionPolicy": (*_COMMON, "validations", "auditAnnotations"),
    "MutatingAdmissionPolicy": (*_COMMON, "mutations", "reinvocationPolicy"),
}
_BINDING = ("policyName", "paramRef", "matchResources", "validationActions")


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Return what became of one policy: a Policy for each of its bindings, one for those that
    differ in nothing but their names.
    """
    return [whole(document, document.kind, lambda notes: _policies(document, others, notes))]


def _policies(
    document: Document, others: Sequence[Document], notes: ImportNotes
) -> list[ImportedDocument]:
    spec = object_at(document.raw, "spec", "", _FIELDS[document.kind])
    bindings = [
        each
        for each in others
        if each.kind == f"{document.kind}Binding"
        and each.group == document.group
        and object_at(each.raw, "spec", "").get("policyName") == document.name
    ]
    if not bindings:
        raise Refused("metadata.name", f"it has no {document.kind}Binding, so it does nothing")
    found: list[tuple[str, JSONObject]] = []
    for binding in sorted(bindings, key=lambda each: each.name):
        bound = _bound(spec, binding)
        if all(bound != known for _, known in found):
            found.append((binding.name, bound))
    if len(found) < len(bindings):
        notes.remark("metadata.name", "bindings that say the same became one Policy")
    names = [document.name] if len(found) == 1 else [f"{document.name}-{name}" for name, _ in found]
    metadata = metadata_of(document)
    return [policy(name, metadata, bound) for name, (_, bound) in zip(names, found, strict=True)]


def _bound(spec: JSONObject, binding: Document) -> JSONObject:
    """Return the ``spec`` of a Policy that does what the policy does for one binding."""
    given = object_at(binding.raw, "spec", "")
    path = f"spec of the binding {binding.name}"
    require_fields(given, _BINDING, path)
    found = {**spec}
    actions = strings(given.get("validationActions"), f"{path}.validationActions")
    if actions:
        found["validationActions"] = [each for each in ACTIONS if each in actions]
    for unknown in set(actions) - set(ACTIONS):
        raise Refused(f"{path}.validationActions", f"the action {unknown} is not known here")
    if spec.get("paramKind"):
        if not given.get("paramRef"):
            raise Refused("spec.paramKind", f"the binding {binding.name} has no paramRef")
        found["paramRef"] = object_at(given, "paramRef", path)
    elif given.get("paramRef"):
        raise Refused("spec.paramKind", f"the binding {binding.name} has a paramRef without it")
    constraints = object_at(spec, "matchConstraints", "spec")
    found["matchConstraints"] = merged_constraints(
        constraints, object_at(given, "matchResources", path), f"{path}.matchResources"
    )
    return {field: value for field, value in found.items() if value not in (None, [], {})}


_CONSTRAINTS = (
    "resourceRules",
    "excludeResourceRules",
    "namespaceSelector",
    "objectSelector",
    "matchPolicy",
)
_RULE = ("apiGroups", "apiVersions", "operations", "resources", "resourceNames", "scope")
_LISTS = ("apiGroups", "apiVersions", "operations", "resources")


def merged_constraints(policy: JSONObject, binding: JSONObject, path: str) -> JSONObject:
    """Return constraints that match what both match; ``path`` is the path of the binding's.

    Raises Refused where both have rules that no rule can say together.
    """
    require_fields(policy, _CONSTRAINTS, "spec.matchConstraints")
    require_fields(binding, _CONSTRAINTS, path)
    if not binding:
        return policy
    found = dict(policy)
    theirs = objects(binding.get("resourceRules"), f"{path}.resourceRules")
    if theirs or binding.get("excludeResourceRules"):
        ours = policy.get("matchPolicy") or "Equivalent"
        if ours != (binding.get("matchPolicy") or "Equivalent"):
            raise Refused(f"{path}.matchPolicy", f"the policy has the matchPolicy {ours}")
    if theirs:
        own = objects(policy.get("resourceRules"), "spec.matchConstraints.resourceRules")
        rules = [rule for one in own for other in theirs for rule in _both(one, other, path)]
        if not rules:
            raise Refused(f"{path}.resourceRules", "no request matches the policy and the binding")
        found["resourceRules"] = rules
    excluded = objects(binding.get("excludeResourceRules"), f"{path}.excludeResourceRules")
    if excluded:
        own = objects(policy.get("excludeResourceRules"), "spec.matchConstraints")
        found["excludeResourceRules"] = [*own, *excluded]
    for field in ("namespaceSelector", "objectSelector"):
        given = object_at(policy, field, "spec.matchConstraints")
        selector = _selector(given, object_at(binding, field, path), f"{path}.{field}")
        if selector:
            found[field] = selector
    return found


def _selector(one: JSONObject, other: JSONObject, path: str) -> JSONObject:
    """Return a selector of what both select."""
    labels = {**object_at(one, "matchLabels", path)}
    here = f"{path}.matchExpressions"
    expressions = [*objects(one.get("matchExpressions"), here)]
    for key, value in object_at(other, "matchLabels", path).items():
        if labels.setdefault(key, value) != value:
            expressions.append({"key": key, "operator": "In", "values": [value]})
    expressions += [
        each for each in objects(other.get("matchExpressions"), here) if each not in expressions
    ]
    found: JSONObject = {}
    if labels:
        found["matchLabels"] = labels
    if expressions:
        found["matchExpressions"] = expressions
    return found


def _both(one: JSONObject, other: JSONObject, path: str) -> list[JSONObject]:
    """Return the rule of the requests that both rules match, if there is one."""
    require_fields(one, _RULE, "spec.matchConstraints.resourceRules")
    require_fields(other, _RULE, f"{path}.resourceRules")
    found: JSONObject = {}
    for field in _LISTS:
        ours, theirs = strings(one.get(field), path), strings(other.get(field), path)
        common = _resources(ours, theirs) if field == "resources" else _common(ours, theirs)
        if not common:
            return []
        found[field] = common
    ours, theirs = one.get("resourceNames") or [], other.get("resourceNames") or []
    if ours and theirs:
        names = [each for each in ours if each in theirs]
        if not names:
            return []
        found["resourceNames"] = names
    elif ours or theirs:
        found["resourceNames"] = ours or theirs
    scopes = {each.get("scope") or "*" for each in (one, other)} - {"*"}
    if len(scopes) > 1:
        return []
    if scopes:
        found["scope"] = scopes.pop()
    return [found]


def _common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    if "*" in one:
        return list(other)
    return list(one) if "*" in other else [each for each in one if each in other]


def _resources(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the patterns of the resources that both lists match."""
    found = [each for ours in one for theirs in other if (each := _resource(ours, theirs))]
    return list(dict.fromkeys(found))


def _resource(one: str, other: str) -> str:
    """Return the resources of both patterns, or an empty string. ``pods/*`` also matches Pods.

    >>> _resource("pods/*", "*/status"), _resource("*", "pods/*"), _resource("pods", "pods/exec")
    ('pods/status', 'pods', '')
    """
    parts: list[str] = []
    for ours, theirs in zip(one.partition("/")[::2], other.partition("/")[::2], strict=True):
        if ours != theirs and "*" not in (ours, theirs):
            return ""
        parts.append(theirs if ours == "*" else ours)
    resource, subresource = parts
    return f"{resource}/{subresource}" if subresource else resource
