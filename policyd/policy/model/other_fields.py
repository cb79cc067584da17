"""Fields and values that authors know from other kinds and tools: what to write instead.

Names that are only misspelt are not here: ``findings`` finds the nearest.
"""

from collections.abc import Mapping

from policyd.json_types import FieldPath

_ONLY_POLICY = "write a policyd.dev/v1 Policy: only that kind has {}"
_BINDING = "move it to spec of the binding"
_ACTIONS = "write validationActions: [Deny], [Warn] or [Audit]"
_TWO_KINDS = "write a second policy of that kind, or a policyd.dev/v1 Policy, which may have both"
_POLICY = dict.fromkeys(
    ("params", "podControllers", "exceptions", "description", "timeoutSeconds"), _ONLY_POLICY
)

# Fields of spec that another kind has, by kind.
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "ValidatingAdmissionPolicy": {
        **_POLICY,
        **dict.fromkeys(("validationActions", "paramRef", "matchResources"), _BINDING),
        "mutations": f"a MutatingAdmissionPolicy has mutations: {_TWO_KINDS}",
    },
    "MutatingAdmissionPolicy": {
        **_POLICY,
        **dict.fromkeys(("paramRef", "matchResources"), _BINDING),
        "validations": f"a ValidatingAdmissionPolicy has validations: {_TWO_KINDS}",
        "validationActions": "remove it: a mutation has no actions",
        "auditAnnotations": "remove it, or write a policyd.dev/v1 Policy",
    },
    "MutatingAdmissionPolicyBinding": {
        "validationActions": "remove it: a mutation has no actions",
    },
}
# Fields of other tools, by the field around them (a list, or the end of the path) and name.
_HABITS: Mapping[tuple[str, str], str] = {
    ("spec", "validate"): "write validations, a list",
    ("spec", "mutate"): "write mutations, a list",
    ("spec", "match"): "write matchConstraints with resourceRules",
    ("spec", "rules"): "write matchConstraints, and validations or mutations",
    ("spec", "exclude"): "write exceptions, or matchConstraints.excludeResourceRules",
    ("spec", "enforcementAction"): _ACTIONS,
    ("spec", "validationFailureAction"): _ACTIONS,
    ("spec", "parameters"): "write params, or paramKind and paramRef",
    ("validations", "foreach"): "write expression: object.spec.containers.all(c, …)",
    ("validations", "cel"): "write expression",
    ("validations", "deny"): "write expression: what must be true",
    ("validations", "rule"): "write expression",
    ("exceptions", "expires"): "write until: a date",
    ("exceptions", "expiry"): "write until: a date",
    ("mutations", "patchStrategicMerge"): "write overlay, with patchType: Overlay",
    ("mutations", "patchesJson6902"): "write jsonPatch, with patchType: JSONPatch",
    ("expect", "denied"): "write allowed: false",
    ("expect", "result"): "write allowed: true or false",
    ("expect", "status"): "write allowed: true or false, or code",
    ("cases", "object"): "write request: {object: …}",
    ("cases", "oldObject"): "write request: {oldObject: …}",
    ("cases", "operation"): "write request: {operation: …}",
    ("cases", "allowed"): "write expect: {allowed: …}",
    ("cases", "resource"): "write request: {object: …}",
    ("request", "old"): "write oldObject",
    ("request", "user"): "write userInfo: {username: …, groups: […]}",
    ("request", "groups"): "write userInfo: {username: …, groups: […]}",
    ("namespaces", "metadata"): "write name, labels and annotations without metadata",
}
# Values of other tools, by field. Kubernetes calls no policies for reading.
_VALUES: Mapping[tuple[str, str], str] = {
    ("operations", "exec"): "CONNECT",
    ("operations", "proxy"): "CONNECT",
    ("operations", "patch"): "UPDATE",
    ("operations", "modify"): "UPDATE",
    ("operations", "remove"): "DELETE",
    ("operations", "deletecollection"): "DELETE",
    ("operations", "add"): "CREATE",
    ("validationActions", "enforce"): "Deny",
    ("validationActions", "reject"): "Deny",
    ("validationActions", "warning"): "Warn",
    ("validationActions", "dryrun"): "Audit",
    ("patchType", "patchesjson6902"): "JSONPatch",
    ("patchType", "json"): "JSONPatch",
    ("patchType", "serversideapply"): "ApplyConfiguration",
    ("reason", "notallowed"): "Forbidden",
    ("reason", "denied"): "Forbidden",
}


def field_instead(kind: str, path: FieldPath) -> str:
    """Return the remedy for a field of another kind or tool in a document; empty if unknown."""
    name = str(path[-1])
    around = next((str(part) for part in reversed(path[:-1]) if isinstance(part, str)), "")
    if len(path) == 2 and around == "spec" and name in _ELSEWHERE.get(kind, {}):
        return _ELSEWHERE[kind][name].format(name)
    if around == "validations" and name == "name":
        return _ONLY_POLICY.format("names of validations")
    return _HABITS.get((around, name), "")


def value_instead(path: FieldPath, value: str) -> str:
    """Return the value to write for one of another tool; empty if unknown."""
    field = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
    return _VALUES.get((field, value.lower()), "")
