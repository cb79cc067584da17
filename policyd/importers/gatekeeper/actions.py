"""``enforcementAction`` of constraints as validationActions."""

from collections.abc import Mapping

from policyd.importers.fields import objects, require_fields
from policyd.importers.model import ImportRemark, Refused
from policyd.json_types import JSONObject

_ACTIONS: Mapping[str, str] = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}
# Enforcement points that are about requests; the others scan clusters and files.
_ADMISSION = frozenset(("*", "validation.gatekeeper.sh", "vap.k8s.io"))


def validation_actions(spec: JSONObject, path: str) -> tuple[list[str], list[ImportRemark]]:
    """Return validationActions of a constraint's ``spec``; raises Refused."""
    action = str(spec.get("enforcementAction") or "deny")
    scoped = objects(spec.get("scopedEnforcementActions"), f"{path}.scopedEnforcementActions")
    if action != "scoped":
        return [_known(action, f"{path}.enforcementAction")], []
    found: set[str] = set()
    for index, each in enumerate(scoped):
        here = f"{path}.scopedEnforcementActions[{index}]"
        require_fields(each, ("action", "enforcementPoints"), here)
        points = objects(each.get("enforcementPoints"), f"{here}.enforcementPoints")
        if any(point.get("name") in _ADMISSION for point in points):
            found.add(_known(str(each.get("action")), f"{here}.action"))
    if not found:
        text = "no action is about requests: violations are recorded in the audit log"
        return ["Audit"], [ImportRemark(f"{path}.scopedEnforcementActions", text)]
    ordered = [each for each in _ACTIONS.values() if each in found]
    if "Deny" in ordered and "Warn" in ordered:
        ordered.remove("Warn")
        text = "Warn was left out: a denial has the message already"
        return ordered, [ImportRemark(f"{path}.scopedEnforcementActions", text)]
    return ordered, []


def _known(action: str, path: str) -> str:
    if action not in _ACTIONS:
        raise Refused(path, f"the action {action} is not deny, warn, dryrun or scoped")
    return _ACTIONS[action]
