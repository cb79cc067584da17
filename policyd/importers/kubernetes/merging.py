"""``matchResources`` of a binding, and ``matchConstraints`` of its policy, as one.

A request has to match both. Rules: kubernetes pkg/admission/plugin/policy/generic, and the webhook
rules of k8s.io/apiserver.
"""

from collections.abc import Sequence

from policyd.importers.fields import object_at, objects, require_fields, strings
from policyd.importers.model import Refused
from policyd.json_types import JSONObject

_FIELDS = (
    "resourceRules",
    "excludeResourceRules",
    "namespaceSelector",
    "objectSelector",
    "matchPolicy",
)
_RULE = ("apiGroups", "apiVersions", "operations", "resources", "resourceNames", "scope")
_LISTS = ("apiGroups", "apiVersions", "operations", "resources")


def merged_constraints(policy: JSONObject, binding: JSONObject, path: str) -> JSONObject:
    """Return constraints that match what both match; ``path`` is that of the binding's.

    Raises Refused where both have rules that no rule can say together.
    """
    require_fields(policy, _FIELDS, "spec.matchConstraints")
    require_fields(binding, _FIELDS, path)
    if not binding:
        return policy
    found = dict(policy)
    theirs = objects(binding.get("resourceRules"), f"{path}.resourceRules")
    if theirs or binding.get("excludeResourceRules"):
        _require_one_policy(policy, binding, path)
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
        ours = object_at(policy, field, "spec.matchConstraints")
        selector = _selector(ours, object_at(binding, field, path), f"{path}.{field}")
        if selector:
            found[field] = selector
    return found


def _require_one_policy(policy: JSONObject, binding: JSONObject, path: str) -> None:
    ours = policy.get("matchPolicy") or "Equivalent"
    if ours != (binding.get("matchPolicy") or "Equivalent"):
        raise Refused(f"{path}.matchPolicy", f"the policy has the matchPolicy {ours}")


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
    """Return the resources of both patterns, or an empty string. ``pods/*`` matches Pods, too.

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
