"""Rules for Pods as rules for their controllers, where ``podControllers`` cannot say the same.

With ``podControllers`` expressions see the Pod of the template only. A rule that also reads the
controller becomes three, as in Kyverno (pkg/autogen/v1/rule.go, generateRule and updateFields).
"""

import json
from collections.abc import Sequence
from typing import Any

from policyd.importers.kyverno.matching.autogen import generated_name
from policyd.importers.kyverno.matching.targets import descriptions
from policyd.json_types import JSON, JSONObject

# Written so that Kyverno does not put the path of the template in; kind and apiVersion have none.
_OWN = (r"request.\"object\"", "request.object.kind", "request.object.apiVersion")
_TEMPLATE = ("spec", "template")
_JOB = ("spec", "jobTemplate", "spec", "template")


def reads_controller(rule: JSONObject) -> bool:
    """Return whether what a rule checks depends on more than the Pod; messages do not count."""
    validate = rule.get("validate") or {}
    checked = {name: value for name, value in validate.items() if name != "message"}
    if not checked or "cel" in checked or "podSecurity" in checked:
        return False
    text = json.dumps([checked, rule.get("preconditions"), rule.get("context")])
    return any(each in text for each in _OWN)


def expanded(rule: JSONObject, controllers: Sequence[str]) -> list[tuple[str, JSONObject]]:
    """Return the rule for Pods and those for controllers, each with a suffix for its Policy."""
    name = str(rule.get("name", ""))
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
    for block in (made.get("match"), made.get("exclude")):
        for each, _ in descriptions(block):
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
