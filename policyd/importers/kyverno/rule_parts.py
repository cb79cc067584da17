"""What the body of one rule of a Kyverno policy contributes to a Policy. Only data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from policyd.importers.model import ImportRemark
from policyd.json_types import FieldPath, JSONObject


@dataclass(frozen=True, slots=True)
class RuleParts:
    """Fields of a Policy's ``spec``, such as ``validations``, ``mutations``, ``variables``,
    ``params`` and ``matchConditions``; where two parts of a rule give the same field, their lists
    are joined in order. ``comments`` are by path in ``spec``.
    """

    spec: JSONObject
    remarks: tuple[ImportRemark, ...] = ()
    comments: Mapping[FieldPath, str] = field(default_factory=dict)
