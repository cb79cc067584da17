"""The Go types of webhook configurations: their fields and the types of these. Decodes nothing.

From k8s.io/api ``admissionregistration/v1`` and apimachinery ``meta/v1``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scalar:
    """``json``: the JSON type that it takes; ``go``: its name in error messages."""

    json: str
    go: str


@dataclass(frozen=True, slots=True)
class Items:
    """A slice."""

    item: "GoType"

    @property
    def go(self) -> str:
        """Return the name of the type."""
        return f"[]{self.item.go}"


@dataclass(frozen=True, slots=True)
class Struct:
    """``embedded``: the name of the embedded struct that has a field. ``kept``: fields that are
    printed if they are empty.
    """

    name: str
    fields: Mapping[str, "GoType"]
    embedded: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    package: str = "v1"

    @property
    def go(self) -> str:
        """Return the name of the type."""
        return f"{self.package}.{self.name}"


GoType = Scalar | Items | Struct

STRING = Scalar("string", "string")
STRINGS = Items(STRING)
INT32 = Scalar("int32", "int32")
INT64 = Scalar("int64", "int64")
BOOL = Scalar("bool", "bool")
LABELS = Scalar("labels", "map[string]string")
BYTES = Scalar("bytes", "[]uint8")
TIME = Scalar("time", "string")
# managedFields, which the API server replaces.
ANYTHING = Scalar("anything", "")


def _text(name: str) -> Scalar:
    return Scalar("string", f"v1.{name}")


_REQUIREMENT = Struct(
    "LabelSelectorRequirement",
    {"key": STRING, "operator": _text("LabelSelectorOperator"), "values": STRINGS},
)
SELECTOR = Struct("LabelSelector", {"matchLabels": LABELS, "matchExpressions": Items(_REQUIREMENT)})
_SERVICE = Struct(
    "ServiceReference", {"namespace": STRING, "name": STRING, "path": STRING, "port": INT32}
)
_CLIENT = Struct(
    "WebhookClientConfig",
    {"url": STRING, "service": _SERVICE, "caBundle": BYTES},
    kept=frozenset({"service"}),
)
_RULE = Struct(
    "RuleWithOperations",
    {
        "operations": Items(_text("OperationType")),
        "apiGroups": STRINGS,
        "apiVersions": STRINGS,
        "resources": STRINGS,
        "scope": _text("ScopeType"),
    },
    embedded=dict.fromkeys(("apiGroups", "apiVersions", "resources", "scope"), "Rule"),
)
_CONDITION = Struct("MatchCondition", {"name": STRING, "expression": STRING})
_WEBHOOK: Mapping[str, GoType] = {
    "name": STRING,
    "clientConfig": _CLIENT,
    "rules": Items(_RULE),
    "failurePolicy": _text("FailurePolicyType"),
    "matchPolicy": _text("MatchPolicyType"),
    "namespaceSelector": SELECTOR,
    "objectSelector": SELECTOR,
    "sideEffects": _text("SideEffectClass"),
    "timeoutSeconds": INT32,
    "admissionReviewVersions": STRINGS,
    "matchConditions": Items(_CONDITION),
}
_KEPT = frozenset({"clientConfig", "namespaceSelector", "objectSelector"})
_OWNER = Struct(
    "OwnerReference",
    {
        "apiVersion": STRING,
        "kind": STRING,
        "name": STRING,
        "uid": Scalar("string", "types.UID"),
        "controller": BOOL,
        "blockOwnerDeletion": BOOL,
    },
)
_METADATA = Struct(
    "ObjectMeta",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink"), STRING),
        "uid": Scalar("string", "types.UID"),
        "resourceVersion": STRING,
        "generation": INT64,
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "deletionGracePeriodSeconds": INT64,
        "labels": LABELS,
        "annotations": LABELS,
        "ownerReferences": Items(_OWNER),
        "finalizers": STRINGS,
        "managedFields": ANYTHING,
    },
)


def _configuration(kind: str, webhook: Mapping[str, GoType]) -> Struct:
    return Struct(
        f"{kind}Configuration",
        {
            "apiVersion": STRING,
            "kind": STRING,
            "metadata": _METADATA,
            "webhooks": Items(Struct(kind, webhook, kept=_KEPT)),
        },
        kept=frozenset({"metadata"}),
    )


VALIDATING = "ValidatingWebhookConfiguration"
MUTATING = "MutatingWebhookConfiguration"
CONFIGURATIONS: Mapping[str, Struct] = {
    VALIDATING: _configuration("ValidatingWebhook", _WEBHOOK),
    MUTATING: _configuration(
        "MutatingWebhook", {**_WEBHOOK, "reinvocationPolicy": _text("ReinvocationPolicyType")}
    ),
}
