"""Compares stored documents with placed ones: same marks, and a spec with the same meaning.

After any other change, such as an edit by hand, the API server does not enforce the policy as
written in its source.
"""

from typing import Any

from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, differing_marks, field_path
from policyd.placement.placed_documents import is_binding

# Keys of a map whose values may be empty strings: labels.
_LABELS = "matchLabels"
_PARAMS = "selector"


def in_step(found: JSONObject, wanted: JSONObject) -> bool:
    """Whether a stored document is the wanted one."""
    return not differences(found, wanted)


def differences(found: JSONObject, wanted: JSONObject) -> list[ManagedField]:
    """Return the fields in which a stored document differs from the wanted one."""
    paths = differing_marks(found, wanted, "labels", "annotations")
    stored, target = _specs(found, wanted)
    names = sorted(stored.keys() | target.keys())
    return paths + [
        field_path("spec", each) for each in names if stored.get(each) != target.get(each)
    ]


def same_spec(found: JSONObject, wanted: JSONObject) -> bool:
    """Whether the specs of two documents of a kind have the same meaning."""
    stored, target = _specs(found, wanted)
    return stored == target


def _specs(found: JSONObject, wanted: JSONObject) -> tuple[JSONObject, JSONObject]:
    kind = wanted["kind"]
    return defaulted(kind, found.get("spec") or {}), defaulted(kind, wanted["spec"])


def defaulted(kind: str, spec: JSONObject) -> JSONObject:
    """Return a spec with the API server's defaults, without empty fields."""
    result: JSONObject = _without_empty(spec)
    if is_binding(kind):
        _default_match(result.get("matchResources"))
        if "paramRef" in result:
            result["paramRef"].setdefault("parameterNotFoundAction", "Deny")
        # A selector without requirements selects everything, like no selector.
        if result.get("matchResources") == {"matchPolicy": "Equivalent"}:
            del result["matchResources"]
        return result
    result.setdefault("failurePolicy", "Fail")
    if kind == "MutatingAdmissionPolicy":
        result.setdefault("reinvocationPolicy", "Never")
    _default_match(result.get("matchConstraints"))
    return result


def _default_match(match: Any) -> None:
    if not isinstance(match, dict):
        return
    match.setdefault("matchPolicy", "Equivalent")
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field) or ():
            rule.setdefault("scope", "*")


def _without_empty(value: Any, key: str = "") -> Any:
    """Return a copy without null or empty fields, which the API server does not store."""
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    if not isinstance(value, dict) or key == _LABELS:
        return value
    kept = {name: _without_empty(each, name) for name, each in value.items()}
    # An empty selector of params selects all of them.
    return {
        name: each
        for name, each in kept.items()
        if each not in (None, "", [], {}) or (name == _PARAMS and each == {})
    }
