"""Whether Kyverno extends a rule for Pods to their controllers (pkg/autogen/v1/autogen.go)."""

from collections.abc import Iterator

from policyd.importers.kyverno.matching.kinds import selected
from policyd.json_types import JSON, JSONObject

ANNOTATION = "pod-policies.kyverno.io/autogen-controllers"
CONTROLLERS = (
    "DaemonSet",
    "Deployment",
    "Job",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
    "CronJob",
)
_RESTRICTIONS = ("name", "names", "selector", "annotations")


def controllers(policy: JSONObject) -> tuple[str, ...]:
    """Return the kinds of controllers that the rules for Pods of a policy are extended to."""
    if not _possible(policy):
        return ()
    annotations = (policy.get("metadata") or {}).get("annotations") or {}
    if ANNOTATION not in annotations:
        return CONTROLLERS
    wanted = str(annotations[ANNOTATION]).split(",")
    return CONTROLLERS if "all" in wanted else tuple(each for each in CONTROLLERS if each in wanted)


def is_extended(rule: JSONObject) -> bool:
    """Return whether a rule matches Pods, and does not exclude other kinds only."""
    excluded = [kind for each in descriptions(rule.get("exclude")) for kind in _kinds(each)]
    matched = [kind for each in descriptions(rule.get("match")) for kind in _kinds(each)]
    return "Pod" in matched and (not excluded or "Pod" in excluded)


def descriptions(block: JSON) -> Iterator[JSONObject]:
    """Yield the ``resources`` of a block: of each entry, or its own."""
    if not isinstance(block, dict):
        return
    for entry in (*(block.get("any") or ()), *(block.get("all") or ()), block):
        resources = entry.get("resources") if isinstance(entry, dict) else None
        if isinstance(resources, dict):
            yield resources


def _possible(policy: JSONObject) -> bool:
    needed = False
    for rule in (policy.get("spec") or {}).get("rules") or ():
        mutation = rule.get("mutate") or {}
        patches = [mutation, *(mutation.get("foreach") or ())]
        if rule.get("generate") or any(each.get("patchesJson6902") for each in patches):
            return False
        for block in (rule.get("match"), rule.get("exclude")):
            for each in descriptions(block):
                kinds = _kinds(each)
                if any(each.get(name) for name in _RESTRICTIONS):
                    return False
                if len(kinds) > 1 and "Pod" in kinds:
                    return False
                needed = needed or any(kind in ("Pod", *CONTROLLERS) for kind in kinds)
    return needed


def _kinds(description: JSONObject) -> list[str]:
    return [selected(str(each)).kind for each in description.get("kinds") or ()]
