"""The form of a policy: which fields there are, and of which types.

A field of another form is refused with its path, so that readers need not check. Bodies that others
read (``mutate``, ``validate.cel``, conditions, patterns, context) are left to them.
"""

from collections.abc import Mapping
from typing import Any

from policyd.importers.kyverno.matching.kinds import selected
from policyd.importers.model import Refused, refusing
from policyd.json_types import JSON, JSONObject

_NAMES = {str: "a string", bool: "true or false", int: "a number"}


def checked(policy: JSONObject) -> JSONObject:
    """Return a policy without fields that are null. Raises Refused."""
    found = _policy(policy, _SPEC)
    if not found["spec"].get("rules"):
        raise Refused("spec.rules", "the policy has no rules")
    return found


def cel_policy(policy: JSONObject) -> JSONObject:
    """Return a policy of ``policies.kyverno.io`` without fields that are null. Raises Refused.

    The types of other fields are checked in the Policy that it becomes.
    """
    return _policy(policy, _CEL_SPEC)


def _policy(policy: JSONObject, form: Mapping[str, Any]) -> JSONObject:
    metadata = _checked(policy.get("metadata") or {}, _METADATA, "metadata")
    return {
        **policy,
        "metadata": metadata,
        "spec": _checked(policy.get("spec") or {}, form, "spec"),
    }


def _checked(value: JSON, form: Any, path: str) -> JSON:
    """``form``: a type, a separate check, a list with the form of its items, or a map of fields."""
    if isinstance(form, dict):
        return _map(value, form, path)
    if isinstance(form, list):
        if not isinstance(value, list):
            raise Refused(path, "expected a list")
        return [_checked(each, form[0], f"{path}[{index}]") for index, each in enumerate(value)]
    if isinstance(form, type):
        if not isinstance(value, form) or (form is int and isinstance(value, bool)):
            raise Refused(path, f"expected {_NAMES[form]}")
        return value
    return form(value, path)


def _map(value: JSON, form: Mapping[str, Any], path: str) -> JSONObject:
    if not isinstance(value, dict):
        raise Refused(path, "expected a map")
    result: JSONObject = {}
    for name, each in value.items():
        if name not in form and "*" not in form:
            raise Refused(f"{path}.{name}", "is not a field of Kyverno's that the import knows")
        if each is not None:
            result[name] = _checked(each, form.get(name, form.get("*")), f"{path}.{name}")
    return result


def _anything(value: JSON, path: str) -> JSON:
    del path
    return value


def _kind(value: JSON, path: str) -> JSON:
    if not isinstance(value, str):
        raise Refused(path, "expected a string")
    with refusing(path, ValueError):
        selected(value)
    return value


def _conditions(value: JSON, path: str) -> JSON:
    return _checked(value, [_MAP] if isinstance(value, list) else _BLOCKS, path)


def rule(value: JSON, path: str) -> JSONObject:
    """Return a rule without fields that are null. Raises Refused."""
    found: JSONObject = _checked(value, _RULE, path)
    return found


def _loops(value: JSON, path: str) -> JSON:
    return _checked(value, [_LOOP], path)


_MAP: dict[str, Any] = {"*": _anything}
_BLOCKS: dict[str, Any] = {"any": [_MAP], "all": [_MAP]}
_SELECTOR = {
    "matchLabels": {"*": str},
    "matchExpressions": [{"key": str, "operator": str, "values": [str]}],
}
_RESOURCES = {
    "kinds": [_kind],
    "name": str,
    "names": [str],
    "namespaces": [str],
    "annotations": {"*": str},
    "selector": _SELECTOR,
    "namespaceSelector": _SELECTOR,
    "operations": [str],
}
_ENTRY = {
    "resources": _RESOURCES,
    "subjects": [{"kind": str, "name": str, "namespace": str, "apiGroup": str}],
    "roles": [str],
    "clusterRoles": [str],
}
_BLOCK = {**_ENTRY, "any": [_ENTRY], "all": [_ENTRY]}
_OVERRIDES = [{"action": str, "namespaces": [str], "namespaceSelector": _SELECTOR}]
_LOOP: dict[str, Any] = {
    "list": str,
    "pattern": _anything,
    "anyPattern": [_anything],
    "deny": {"conditions": _anything},
    "foreach": _loops,
    "preconditions": _conditions,
    "context": _anything,
    "elementScope": bool,
}
_VALIDATE = {
    "message": str,
    "pattern": _anything,
    "anyPattern": [_anything],
    "deny": {"conditions": _anything},
    "foreach": _loops,
    "podSecurity": {
        "level": str,
        "version": str,
        "exclude": [{"controlName": str, "images": [str], "restrictedField": str, "values": [str]}],
    },
    "cel": _MAP,
    "manifests": _MAP,
    "assert": _MAP,
    "failureAction": str,
    "failureActionOverrides": _OVERRIDES,
    "allowExistingViolations": bool,
}
_RULE = {
    "name": str,
    "match": _BLOCK,
    "exclude": _BLOCK,
    "preconditions": _conditions,
    "context": _anything,
    "celPreconditions": _anything,
    "validate": _VALIDATE,
    "mutate": {**_MAP, "foreach": [_MAP]},
    "generate": _MAP,
    "verifyImages": _anything,
    "imageExtractors": _anything,
    "skipBackgroundRequests": bool,
    "reportProperties": _MAP,
}
_METADATA = {"*": _anything, "annotations": {"*": str}, "labels": {"*": str}, "namespace": str}
_SPEC = {
    "rules": [_MAP],
    "validationFailureAction": str,
    "validationFailureActionOverrides": _OVERRIDES,
    "emitWarning": bool,
    "failurePolicy": str,
    "webhookTimeoutSeconds": int,
    "webhookConfiguration": {
        "failurePolicy": str,
        "timeoutSeconds": int,
        "matchConditions": [{"name": str, "expression": str}],
    },
    # Reports and background scans, and what only rules that generate and change what exists have.
    "background": bool,
    "admission": bool,
    "applyRules": str,
    "schemaValidation": bool,
    "mutateExistingOnPolicyUpdate": bool,
    "generateExisting": bool,
    "generateExistingOnPolicyUpdate": bool,
    "useServerSideApply": bool,
}
_CEL_RULES = [
    {
        "*": _anything,
        "apiGroups": [str],
        "apiVersions": [str],
        "operations": [str],
        "resources": [str],
        "resourceNames": [str],
    }
]
_CEL_SPEC = {
    "*": _anything,
    "matchConstraints": {
        "*": _anything,
        "resourceRules": _CEL_RULES,
        "excludeResourceRules": _CEL_RULES,
        "objectSelector": _SELECTOR,
        "namespaceSelector": _SELECTOR,
    },
    "autogen": {**_MAP, "podControllers": {**_MAP, "controllers": [str]}},
    "validationActions": [str],
}
