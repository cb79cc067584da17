"""What holds for a whole policy of Kyverno: actions, failure policy, annotations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policyd.export.expressions.cel import FALSE, TRUE, Cel
from policyd.importers.jmespath.cel import every, negated, some
from policyd.importers.jmespath.globs import among, has_wildcards
from policyd.importers.kyverno.matching import autogen
from policyd.importers.kyverno.matching.filters import opposite, required_labels
from policyd.importers.kyverno.matching.targets import NAMESPACE
from policyd.importers.model import ImportNotes, Refused
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
# The meaning of ``background: false`` here.
SCANNED = "`policyd apply --cluster` scans with all policies, and with this one too"


@dataclass(frozen=True, slots=True)
class NamespacedAction:
    """``actions`` are validationActions; ``condition`` tests the namespaces that they are for, and
    is empty for all; ``labels`` are required of them. ``suffix`` distinguishes the Policies that
    one rule becomes.
    """

    actions: tuple[str, ...]
    condition: str = ""
    suffix: str = ""
    labels: tuple[JSONObject, ...] = ()


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


def settings(spec: JSONObject, notes: ImportNotes) -> JSONObject:
    """Return failurePolicy, timeoutSeconds and matchConditions of a policy as fields of a Policy.

    Raises Refused for fields that change which requests are checked, and for unknown ones.
    """
    if spec.get("background") is False:
        notes.remark("spec.background", SCANNED, scans=True)
    if spec.get("admission") is False:
        raise Refused("spec.admission", "the policy is for background scans only")
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
    return result


def actions(
    spec: JSONObject, validate: JSONObject, path: str, namespace: str
) -> list[NamespacedAction]:
    """Return what a failed validation does, by namespaces; the rule's own fields win. ``namespace``
    is CEL of the namespace of a request.

    The first override that names a namespace or selects its labels decides (kyverno
    pkg/engine/api/engineresponse.go).
    """
    default = validate.get("failureAction") or spec.get("validationFailureAction") or "Audit"
    at = f"{path}.validate.failureActionOverrides"
    overrides = validate.get("failureActionOverrides")
    if not overrides:
        at = "spec.validationFailureActionOverrides"
        overrides = spec.get("validationFailureActionOverrides") or []
    warns = bool(spec.get("emitWarning"))
    usual = _actions(default, warns, path)
    if not validate:
        return [NamespacedAction(usual)]
    done = [
        _actions(each.get("action") or default, warns, f"{at}[{index}]")
        for index, each in enumerate(overrides)
    ]
    if validate.get("failureAction") and not validate.get("failureActionOverrides"):
        # Overrides of the policy only make the action of a rule weaker.
        done = [usual if "Deny" in each else each for each in done]
    result: list[NamespacedAction] = []
    for labels, held in _regions(overrides, at, namespace):
        decided: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        here = usual
        for index, each in enumerate(overrides):
            names = _names(each, holds=index in held, denies="Deny" in done[index])
            if names is None:
                here = done[index]
                break
            decided.append((done[index], names))
        result += _by_name(decided, here, usual, labels, namespace)
    return result


def _names(override: JSONObject, *, holds: bool, denies: bool) -> tuple[str, ...] | None:
    """Return the namespaces that an override decides for, None for all, where its selector
    ``holds``.

    Of names and a selector, Kyverno needs both to deny, and one of them not to: it checks whether
    the policy denies (pkg/policycache/cache.go), and then whether the rule does.
    """
    names = tuple(override.get("namespaces") or ())
    if not override.get("namespaceSelector"):
        return names or None
    if names and holds is denies:
        return names
    return None if holds else ()


def _regions(
    overrides: Sequence[JSONObject], path: str, namespace: str
) -> list[tuple[tuple[JSONObject, ...], frozenset[int]]]:
    """Divide namespaces by their labels: what is required of them, and the overrides whose selector
    holds then. Every namespace is in one region. Raises Refused.
    """
    found: list[tuple[tuple[JSONObject, ...], frozenset[int]]] = [((), frozenset())]
    for index, each in enumerate(overrides):
        at = f"{path}[{index}].namespaceSelector"
        required = required_labels(each.get("namespaceSelector"), at)
        if not required and not each.get("namespaces"):
            break  # it decides for all that come here
        if required and namespace != NAMESPACE:
            message = "an action by labels of the namespace, of a rule for cluster-scoped kinds too"
            raise Refused(at, message)
        if required:
            found = [
                *(
                    ((*labels, *required[:size], opposite(required[size])), held)
                    for labels, held in found
                    for size in range(len(required))
                ),
                *(((*labels, *required), held | {index}) for labels, held in found),
            ]
    return found


def _by_name(
    decided: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
    here: tuple[str, ...],
    usual: tuple[str, ...],
    labels: tuple[JSONObject, ...],
    namespace: str,
) -> list[NamespacedAction]:
    """Return the actions in namespaces with these labels; ``here`` is the action of no name."""
    tests: dict[tuple[str, ...], Cel] = {}
    for index, (done, names) in enumerate(decided):
        earlier = [name for other, given in decided[:index] if other != done for name in given]
        before = among(namespace, _before(names, earlier))
        test = every(among(namespace, names), negated(before))
        tests[done] = some(tests.get(done, FALSE), test)
    tests.pop(here, None)
    rest = negated(some(*tests.values()))
    return [
        NamespacedAction(
            done,
            "" if test == TRUE else test.text,
            "" if done == usual else "enforced" if "Deny" in done else "audited",
            labels,
        )
        for done, test in {here: rest, **tests}.items()
        if test != FALSE
    ]


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
