"""Fields of Kyverno's CEL policies that are no expressions: where and when they are evaluated."""

from collections.abc import Mapping
from dataclasses import dataclass

from policyd.importers.fields import object_at
from policyd.importers.kyverno.settings import SCANNED
from policyd.importers.model import Notes, Refused
from policyd.importers.policies import ACTIONS, in_effect
from policyd.json_types import JSONObject

# The controllers whose rules Kyverno generates from one for Pods (pkg/cel/autogen/config.go).
_KINDS: Mapping[str, str] = {
    "daemonsets": "DaemonSet",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
}
_EVALUATION = ("mode", "admission", "background", "mutateExisting")


@dataclass(frozen=True, slots=True)
class PodControllers:
    """Whether a policy for Pods is one for their controllers; ``kinds`` if not for all of them."""

    enabled: bool
    kinds: tuple[str, ...] = ()

    def condition(self) -> JSONObject | None:
        """Return the matchCondition that leaves out the other controllers."""
        if not self.kinds:
            return None
        listed = ", ".join(f"'{kind}'" for kind in ("Pod", *self.kinds))
        return {"name": "controllers", "expression": f"request.kind.kind in [{listed}]"}


def pod_controllers(spec: JSONObject, path: str, notes: Notes) -> PodControllers:
    """Return what ``spec.autogen`` says; without it, policies for Pods are for controllers too,
    whose deletion is not checked.
    """
    known = ("podControllers", "validatingAdmissionPolicy", "mutatingAdmissionPolicy")
    autogen = object_at(spec, "autogen", path, known)
    own = object_at(autogen, "podControllers", f"{path}.autogen", ("controllers",))
    given = own.get("controllers")
    if not only_pods(spec) or given == []:
        return PodControllers(False)
    kinds = tuple(_KINDS[name] for name in _KINDS if given is None or name in given)
    [rule] = spec["matchConstraints"]["resourceRules"]
    if kinds and {"DELETE", "CONNECT", "*"} & {*rule.get("operations", ())}:
        text = "for controllers it applies on CREATE and UPDATE only"
        notes.remark(f"{path}.matchConstraints.resourceRules[0].operations", text)
    if len(kinds) == len(_KINDS):
        return PodControllers(True)
    return PodControllers(bool(kinds), kinds)


def only_pods(spec: JSONObject) -> bool:
    """Whether Kyverno generates rules for controllers: one rule for ``pods``, and no selector of
    objects (pkg/cel/autogen/support.go).
    """
    match = spec.get("matchConstraints") or {}
    selector = match.get("objectSelector") or {}
    if selector.get("matchLabels") or selector.get("matchExpressions"):
        return False
    rules = match.get("resourceRules") or []
    if match.get("excludeResourceRules") or len(rules) != 1 or rules[0].get("resourceNames"):
        return False
    [rule] = rules
    found = (rule.get("apiGroups"), rule.get("apiVersions"), rule.get("resources"))
    return found == ([""], ["v1"], ["pods"])


def pods_only_resources(spec: JSONObject) -> bool:
    """Whether every rule names Pods: their sub-resources may be named too."""
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or []
    named = {each for rule in rules for each in rule.get("resources", ())}
    groups = {each for rule in rules for each in rule.get("apiGroups", ())}
    return groups == {""} and named <= {"pods", "pods/ephemeralcontainers"}


def check_evaluation(spec: JSONObject, path: str, notes: Notes) -> None:
    """Raise Refused for policies that ``spec.evaluation`` does not evaluate at admission."""
    given = object_at(spec, "evaluation", path, _EVALUATION)
    here = f"{path}.evaluation"
    mode = given.get("mode") or "Kubernetes"
    if mode != "Kubernetes":
        text = f"policies of mode {mode} are about other data than requests of an API server"
        raise Refused(f"{here}.mode", text)
    if _enabled(given, "mutateExisting", here) is True:
        text = "it changes objects that exist already; a webhook changes the object of a request"
        raise Refused(f"{here}.mutateExisting", text)
    if _enabled(given, "admission", here) is False:
        text = "it is not evaluated at admission, but only in scans"
        raise Refused(f"{here}.admission", text)
    if _enabled(given, "background", here) is False:
        notes.remark(f"{here}.background", SCANNED, scans=True)


def timeout(spec: JSONObject, path: str) -> JSONObject:
    """Return ``timeoutSeconds``, if there is one."""
    given = object_at(spec, "webhookConfiguration", path, ("timeoutSeconds",))
    seconds = given.get("timeoutSeconds")
    return {} if seconds is None else {"timeoutSeconds": seconds}


def actions(spec: JSONObject, path: str, notes: Notes) -> list[str]:
    """Return ``validationActions``; Deny if there are none, as in Kyverno."""
    given = spec.get("validationActions") or ["Deny"]
    for unknown in set(given) - set(ACTIONS):
        raise Refused(f"{path}.validationActions", f"the action {unknown} is not known here")
    return in_effect(given, f"{path}.validationActions", notes)


def _enabled(given: JSONObject, field: str, path: str) -> object:
    return object_at(given, field, path, ("enabled",)).get("enabled")
