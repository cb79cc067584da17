"""What holds for a whole policy of Kyverno: actions, failure policy, annotations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policyd.importers.jmespath.cel import FALSE, Cel, every, negated, some
from policyd.importers.jmespath.globs import among, has_wildcards
from policyd.importers.kyverno.matching import autogen
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSONObject

_DESCRIPTION = "policies.kyverno.io/description"
RENAMED = {
    "policies.kyverno.io/category": "policyd.dev/category",
    "policies.kyverno.io/severity": "policyd.dev/severity",
}
# About the object of the source, or for Kyverno's reports and documentation.
_DROPPED = frozenset(
    {
        "kyverno.io/kyverno-version",
        "kyverno.io/kubernetes-version",
        "policies.kyverno.io/minversion",
        _DESCRIPTION,
        "kubectl.kubernetes.io/last-applied-configuration",
        autogen.ANNOTATION,
    }
)
# What ``background: false`` means here.
SCANNED = "`policyd apply --cluster` scans with all policies, and with this one too"


@dataclass(frozen=True, slots=True)
class NamespacedAction:
    """``actions`` are validationActions; ``condition`` tests the namespaces that they are for, and
    is empty for all. ``suffix`` distinguishes the Policies that one rule becomes.
    """

    actions: tuple[str, ...]
    condition: str = ""
    suffix: str = ""


def metadata(policy: JSONObject) -> tuple[JSONObject, str]:
    """Return labels and annotations that the Policies keep, and the description."""
    given = policy.get("metadata") or {}
    annotations: Mapping[str, str] = given.get("annotations") or {}
    kept = {
        RENAMED.get(key, key): value.strip()
        for key, value in annotations.items()
        if key not in _DROPPED and (value or key not in RENAMED)
    }
    metadata = {"labels": given.get("labels"), "annotations": kept}
    return metadata, annotations.get(_DESCRIPTION, "").strip()


def settings(spec: JSONObject) -> tuple[JSONObject, list[ImportRemark]]:
    """Return failurePolicy, timeoutSeconds and matchConditions of a policy as fields of a Policy.

    Raises Refused for fields that change which requests are checked, and for unknown ones.
    """
    remarks: list[ImportRemark] = []
    if spec.get("background") is False:
        remarks.append(ImportRemark("spec.background", SCANNED, scans=True))
    if spec.get("admission") is False:
        raise Refused("spec.admission", "the policy is for background scans only")
    if spec.get("applyRules") == "One" and len(spec.get("rules") or ()) > 1:
        raise Refused("spec.applyRules", "only the first rule that matches applies")
    webhook = spec.get("webhookConfiguration") or {}
    result: JSONObject = {}
    if webhook.get("matchConditions"):
        result["matchConditions"] = [
            {"name": each.get("name", ""), "expression": each.get("expression", "")}
            for each in webhook["matchConditions"]
        ]
    if (webhook.get("failurePolicy") or spec.get("failurePolicy")) == "Ignore":
        result["failurePolicy"] = "Ignore"
    seconds = webhook.get("timeoutSeconds") or spec.get("webhookTimeoutSeconds")
    if seconds:
        result["timeoutSeconds"] = seconds
    return result, remarks


def actions(
    spec: JSONObject, validate: JSONObject, path: str, namespace: str
) -> list[NamespacedAction]:
    """Return what a failed validation does, by namespaces; the rule's own fields win. ``namespace``
    is CEL of the namespace of a request.

    The first override that names a namespace decides (kyverno pkg/engine/api/engineresponse.go).
    """
    default = validate.get("failureAction") or spec.get("validationFailureAction") or "Audit"
    at = f"{path}.validate.failureActionOverrides"
    overrides = validate.get("failureActionOverrides")
    if not overrides:
        at = "spec.validationFailureActionOverrides"
        overrides = spec.get("validationFailureActionOverrides") or []
    warns = bool(spec.get("emitWarning"))
    usual = _actions(default, warns, path)
    tests: dict[tuple[str, ...], Cel] = {}
    decided: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for index, each in enumerate(overrides):
        if each.get("namespaceSelector"):
            message = "an action by labels of the namespace cannot be imported: name the namespaces"
            raise Refused(f"{at}[{index}].namespaceSelector", message)
        done = _actions(each.get("action") or default, warns, f"{at}[{index}]")
        names = tuple(each.get("namespaces") or ())
        earlier = [name for other, given in decided if other != done for name in given]
        before = among(namespace, _before(names, earlier))
        test = every(among(namespace, names), negated(before))
        tests[done] = some(tests.get(done, FALSE), test)
        decided.append((done, names))
    tests.pop(usual, None)
    if not tests:
        return [NamespacedAction(usual)]
    result = [NamespacedAction(usual, negated(some(*tests.values())).text)]
    for done, test in tests.items():
        result.append(
            NamespacedAction(done, test.text, "enforced" if "Deny" in done else "audited")
        )
    return result


def _before(names: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """Return the names of earlier overrides that one of these may fit."""
    wild = any(map(has_wildcards, names))
    return [each for each in earlier if wild or has_wildcards(each) or each in names]


def _actions(action: str, warns: bool, path: str) -> tuple[str, ...]:
    match str(action).lower():
        case "enforce":
            return ("Deny",)
        case "audit":
            return ("Warn", "Audit") if warns else ("Audit",)
    raise Refused(path, f"{action} is no action of Kyverno's: Enforce or Audit")
