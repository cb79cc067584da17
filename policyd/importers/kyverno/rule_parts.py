"""The contributions of the parts of one Kyverno rule to a Policy, one by one and merged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from policyd.importers.model import ImportRemark
from policyd.json_types import FieldPath, JSONObject


@dataclass(frozen=True, slots=True)
class RuleParts:
    """Fields of a Policy's ``spec``, such as ``validations``, ``mutations``, ``variables``,
    ``params`` and ``matchConditions``; where two parts of a rule give the same field, their lists
    are concatenated in order. ``comments`` are by path in ``spec``.
    """

    spec: JSONObject
    remarks: tuple[ImportRemark, ...] = ()
    comments: Mapping[FieldPath, str] = field(default_factory=dict)


def joined(*parts: RuleParts) -> RuleParts:
    """Merge parts of a rule: lists of the same field in order, other fields must be equal."""
    spec: JSONObject = {}
    remarks: tuple[ImportRemark, ...] = ()
    comments: dict[FieldPath, str] = {}
    for part in parts:
        comments |= part.comments  # only the body of a rule has some
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
