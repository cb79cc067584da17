"""Limit policies to namespaces, so that they touch nothing else in a cluster. Writes nothing.

A selector of namespaces does not hold for cluster-scoped objects, so rules are limited to
namespaced ones too. Namespaces are selected by the label with their name, which the API server
itself sets and nobody can write.
"""

from collections.abc import Sequence

from policyd.json_types import JSONObject

NAMESPACE_NAME = "kubernetes.io/metadata.name"
_POLICIES = ("Policy", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
_BINDINGS = ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")


def limited(document: JSONObject, namespaces: Sequence[str]) -> JSONObject | None:
    """Return a policy that matches only objects in these namespaces, whatever namespaces it was
    written for, or a binding of such a policy for any namespace; None if it matches cluster-scoped
    objects only. Other documents stay.

    The API server evaluates the selector of a policy in every namespace, so its cost is no part of
    a difference between namespaces. That of a binding would be: it is evaluated after the policy's.
    """
    kind, spec = document["kind"], document.get("spec") or {}
    if kind in _POLICIES:
        match = dict(spec["matchConstraints"])
        match["namespaceSelector"] = namespace_selector(namespaces)
        match["resourceRules"] = namespaced_rules(match.get("resourceRules") or ())
        if not match["resourceRules"]:
            return None
        return {**document, "spec": {**spec, "matchConstraints": match}}
    if kind in _BINDINGS and spec.get("matchResources"):
        match = {k: v for k, v in spec["matchResources"].items() if k != "namespaceSelector"}
        rules = match.get("resourceRules") or ()
        if rules and not namespaced_rules(rules):
            return None
        return {**document, "spec": {**spec, "matchResources": match}}
    return document


def namespaced_rules(rules: Sequence[JSONObject]) -> list[JSONObject]:
    """Return the rules for namespaced objects only."""
    return [{**rule, "scope": "Namespaced"} for rule in rules if rule.get("scope") != "Cluster"]


def namespace_selector(namespaces: Sequence[str]) -> JSONObject:
    """Return a label selector of namespaces by their names."""
    expression = {"key": NAMESPACE_NAME, "operator": "In", "values": list(namespaces)}
    return {"matchExpressions": [expression]}
