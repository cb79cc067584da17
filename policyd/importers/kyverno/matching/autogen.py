"""Whether Kyverno extends a rule for Pods to their controllers (pkg/autogen/v1/autogen.go), and
what such a rule becomes where ``podControllers`` cannot say the same.

With ``podControllers`` expressions see the Pod of the template only. A rule that also reads the
controller becomes three, as in Kyverno (pkg/autogen/v1/rule.go, generateRule and updateFields).
"""

import json
from collections.abc import Sequence
from typing import Any

from policyd.importers.kyverno.matching.kinds import selected
from policyd.importers.kyverno.matching.targets import descriptions
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
# Rules whose names begin with this are those that Kyverno generated.
GENERATED = "autogen-"
PREFIXES = (f"{GENERATED}cronjob-", GENERATED)
_LONGEST = 63  # characters: Kyverno cuts the names that it generates


def controllers(policy: JSONObject) -> tuple[str, ...]:
    """Return the kinds of controllers that the rules for Pods of a policy are extended to."""
    if not _possible(policy):
        return ()
    given = policy["metadata"].get("annotations", {}).get(ANNOTATION, "all")
    wanted = {*given.split(",")} - {"CronJob"}
    # Kyverno looks for these two in the whole string.
    crons = "CronJob" in given or "all" in given
    return tuple(
        each
        for each in CONTROLLERS
        if (crons if each == "CronJob" else each in wanted or wanted == {"all"})
    )


def generated_name(rule: str, *, cron: bool = False) -> str:
    """Return the name of the rule that Kyverno generates for controllers, or for CronJobs.

    >>> generated_name("labels", cron=True)
    'autogen-cronjob-labels'
    """
    return f"{GENERATED}{'cronjob-' if cron else ''}{rule}"[:_LONGEST]


def is_extended(rule: JSONObject) -> bool:
    """Return whether a rule matches Pods, and does not exclude other kinds only. To Kyverno, kinds
    such as ``Pod/exec`` are Pods here.
    """
    matched, excluded = (
        [kind for each, _ in descriptions(rule, name) for kind in _kinds(each)]
        for name in ("match", "exclude")
    )
    named = not rule.get("name", "").startswith(GENERATED)
    return named and "Pod" in matched and (not excluded or "Pod" in excluded)


def only_subresources(rule: JSONObject) -> bool:
    """Return whether all that a rule matches of Pods are their subresources."""
    named = (kind for each, _ in descriptions(rule, "match") for kind in each.get("kinds", ()))
    return all(each.subresource for each in map(selected, named) if each.kind == "Pod")


def _possible(policy: JSONObject) -> bool:
    needed = False
    for rule in policy["spec"]["rules"]:
        mutation = rule.get("mutate", {})
        patches = [mutation, *mutation.get("foreach", ())]
        if rule.get("generate") or any(each.get("patchesJson6902") for each in patches):
            return False
        for each, _ in (*descriptions(rule, "match"), *descriptions(rule, "exclude")):
            if each.get("name") or each.get("names") or {"selector", "annotations"} & each.keys():
                return False
            kinds = _kinds(each)
            if len(kinds) > 1 and "Pod" in kinds:
                return False
            # As written: `v1/Pod` and `Pod/exec` alone extend nothing.
            needed = needed or not {"Pod", *CONTROLLERS}.isdisjoint(each.get("kinds", ()))
    return needed


def _kinds(description: JSONObject) -> list[str]:
    return [selected(each).kind for each in description.get("kinds", ())]


# Written so that Kyverno does not put the path of the template in; kind and apiVersion have none.
_OWN = (r"request.\"object\"", "request.object.kind", "request.object.apiVersion")
_TEMPLATE = ("spec", "template")
_JOB = ("spec", "jobTemplate", "spec", "template")


def reads_controller(rule: JSONObject) -> bool:
    """Return whether what a rule checks depends on more than the Pod; messages do not count."""
    validate = rule.get("validate", {})
    checked = {name: value for name, value in validate.items() if name != "message"}
    if not checked or "cel" in checked or "podSecurity" in checked:
        return False
    text = json.dumps([checked, rule.get("preconditions"), rule.get("context")])
    return any(each in text for each in _OWN)


def expanded(rule: JSONObject, controllers: Sequence[str]) -> list[tuple[str, JSONObject]]:
    """Return the rule for Pods and those for controllers, each with a suffix for its Policy."""
    name = rule.get("name", "")
    result = [("pods", rule)]
    others = [each for each in controllers if each != "CronJob"]
    if others:
        result.append(("controllers", _rule(rule, generated_name(name), others, _TEMPLATE)))
    if "CronJob" in controllers:
        cron = generated_name(name, cron=True)
        result.append(("cronjobs", _rule(rule, cron, ["CronJob"], _JOB)))
    return result


def _rule(
    rule: JSONObject, name: str, kinds: Sequence[str], template: tuple[str, ...]
) -> JSONObject:
    text = json.dumps(rule)
    for root in ("request.object", "request.oldObject"):
        for part in ("spec", "metadata"):
            text = text.replace(f"{root}.{part}", f"{root}.{'.'.join(template)}.{part}")
    made: dict[str, Any] = {**json.loads(text), "name": name}
    for each, _ in (*descriptions(made, "match"), *descriptions(made, "exclude")):
        if each.get("kinds") == ["Pod"]:
            each["kinds"] = list(kinds)
    validate = made["validate"]
    if "pattern" in validate:
        validate["pattern"] = _nested(validate["pattern"], template)
    if "anyPattern" in validate:
        validate["anyPattern"] = [_nested(each, template) for each in validate["anyPattern"]]
    return made


def _nested(tree: JSON, template: tuple[str, ...]) -> JSON:
    for name in reversed(template):
        tree = {name: tree}
    return tree
