"""The fields of admissionregistration.k8s.io that VAP, MAP, their bindings and Policy share.

Defaults are the API server's (kubernetes ``pkg/apis/admissionregistration/v1/defaults.go``).
"""

from collections.abc import Container, Iterable
from typing import Literal

from policyd.json_types import JSONObject
from policyd.policy.model.base import GoString, LabelSelector, Model
from policyd.policy.model.shapes import Many

FailurePolicy = Literal["Fail", "Ignore"]
MatchPolicy = Literal["Equivalent", "Exact"]
Operation = Literal["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
ReinvocationPolicy = Literal["IfNeeded", "Never"]
ScopeType = Literal["*", "Cluster", "Namespaced"]
ValidationAction = Literal["Audit", "Deny", "Warn"]
ValidationReason = Literal["Forbidden", "Invalid", "RequestEntityTooLarge"]
ParameterNotFoundAction = Literal["Allow", "Deny"]
# Of requests, in the order in which policyd lists them.
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


class NamedRuleWithOperations(Model):
    """Which requests a policy looks at: all lists must contain (or ``*``) what the request has."""

    operations: Many[Operation] = ()
    api_groups: Many[GoString] = ()
    api_versions: Many[GoString] = ()
    resources: Many[GoString] = ()
    resource_names: Many[GoString] = ()
    scope: ScopeType = "*"


class MatchResources(Model):
    """Rules and selectors; exclude rules win."""

    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()
    resource_rules: Many[NamedRuleWithOperations] = ()
    exclude_resource_rules: Many[NamedRuleWithOperations] = ()
    match_policy: MatchPolicy = "Equivalent"


def covers(values: Container[str], wanted: str) -> bool:
    """Whether a list of a rule has a value, or ``*`` for all of them."""
    return "*" in values or wanted in values


def covers_resource(patterns: Iterable[str], wanted: str) -> bool:
    """Whether ``resources`` of a rule have a resource or subresource; pods/* also has pods."""
    resource, _, subresource = wanted.partition("/")
    parts = (each.partition("/") for each in patterns)
    return any(name in ("*", resource) and sub in ("*", subresource) for name, _, sub in parts)


def matches_pods(rule: JSONObject) -> bool:
    """Whether a rule, as plain JSON, matches Pods themselves, not only their subresources."""
    return (
        covers(rule.get("apiGroups") or (), "")
        and covers(rule.get("apiVersions") or (), "v1")
        and covers_resource(rule.get("resources") or (), "pods")
        and rule.get("scope") != "Cluster"
    )


class MatchCondition(Model):
    """A CEL filter: the policy does not apply to requests for which it is false."""

    name: str = ""
    expression: str = ""


class Variable(Model):
    """A named CEL expression, seen by later expressions as ``variables.NAME``."""

    name: str = ""
    expression: str = ""


class Validation(Model):
    """A CEL expression that must hold."""

    expression: str = ""
    message: str = ""
    message_expression: str = ""
    reason: ValidationReason | None = None


class AuditAnnotation(Model):
    """A CEL expression whose text goes into the audit log."""

    key: str = ""
    value_expression: str = ""


class ParamKind(Model):
    """The kind of the objects that a policy takes as ``params``."""

    api_version: str = ""
    kind: str = ""


class ParamRef(Model):
    """Which objects of the paramKind are the ``params``."""

    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: ParameterNotFoundAction = "Deny"
