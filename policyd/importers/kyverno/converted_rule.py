"""The Policy that one rule becomes: its name, and its parts put together. Translates nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policyd.importers.kyverno.rule_parts import RuleParts
from policyd.importers.kyverno.settings import NamespacedAction
from policyd.importers.model import ImportedDocument, ImportRemark
from policyd.importers.names import LONGEST, valid_name
from policyd.importers.policies import policy
from policyd.json_types import FieldPath, JSONObject


@dataclass(frozen=True, slots=True)
class ConvertedRule:
    """A rule with what it contributes; ``names`` are those that tests use for it. ``suffix`` tells
    the Policies apart that one rule becomes.
    """

    name: str
    kind: str
    spec: JSONObject
    actions: Sequence[NamespacedAction]
    names: tuple[str, ...]
    remarks: tuple[ImportRemark, ...] = ()
    comments: Mapping[FieldPath, str] = field(default_factory=dict)
    suffix: str = ""


def policy_names(policy: str, rules: Sequence[str], *, ordered: bool) -> list[str]:
    """Return a name for each rule: the policy's if it has one rule.

    ``ordered``: they sort as the rules stand.

    >>> policy_names("labels", ["check-team", "check-owner"], ordered=False)
    ['labels-check-team', 'labels-check-owner']
    >>> policy_names("labels", ["check-team", "check-owner"], ordered=True)
    ['labels-1-check-team', 'labels-2-check-owner']
    """
    if len(rules) == 1:
        return [policy]
    own = list(map(valid_name, rules))
    names = [f"{policy}-{rule}" for rule in own]
    if ordered and names != sorted(names):
        width = len(str(len(rules)))
        names = [f"{policy}-{i:0{width}}-{rule}" for i, rule in enumerate(own, 1)]
    if len(set(names)) < len(names) or max(map(len, names)) > LONGEST:
        names = [f"{policy}-{number}" for number in range(1, len(rules) + 1)]
    return names


def joined(*parts: RuleParts) -> RuleParts:
    """Join parts of a rule: lists of the same field in order, other fields must be equal."""
    spec: JSONObject = {}
    remarks: tuple[ImportRemark, ...] = ()
    comments: dict[FieldPath, str] = {}
    for part in parts:
        moved = {name: len(spec.get(name) or ()) for name in spec if isinstance(spec[name], list)}
        for path, comment in part.comments.items():
            comments[_shifted(path, moved)] = comment
        for name, value in part.spec.items():
            spec[name] = [*spec.get(name, ()), *value] if isinstance(value, list) else value
        remarks += part.remarks
    return RuleParts(spec, remarks, comments)


def without_unused(parts: RuleParts) -> RuleParts:
    """Leave out the variables that no expression uses."""
    spec = dict(parts.spec)
    while variables := spec.get("variables"):
        text = json.dumps(spec)
        used = [each for each in variables if f"variables.{each['name']}" in text]
        if len(used) == len(variables):
            break
        spec["variables"] = used
    return RuleParts(spec, parts.remarks, parts.comments)


def _shifted(path: FieldPath, moved: Mapping[str, int]) -> FieldPath:
    if len(path) > 1 and isinstance(path[1], int) and isinstance(path[0], str):
        return (path[0], path[1] + moved.get(path[0], 0), *path[2:])
    return path


def documents(
    rule: ConvertedRule, name: str, metadata: JSONObject, description: str
) -> list[ImportedDocument]:
    """Return the Policy of a rule, or one for each of its actions."""
    return [_document(rule, name, action, metadata, description) for action in rule.actions]


def _document(
    rule: ConvertedRule, name: str, action: NamespacedAction, metadata: JSONObject, description: str
) -> ImportedDocument:
    spec: JSONObject = dict(rule.spec)
    if description:
        spec.setdefault("description", description)
    if action.condition:
        where = {"name": "action-by-namespace", "expression": action.condition}
        spec["matchConditions"] = [*spec.get("matchConditions", ()), where]
    if spec.get("validations"):
        spec["validationActions"] = list(action.actions)
    full = "-".join(each for each in (name, rule.suffix, action.suffix) if each)
    kept = {field: value for field, value in spec.items() if value not in (None, [], {})}
    return policy(full, metadata, kept, rule.comments)
