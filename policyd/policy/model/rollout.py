"""Rollouts: where a policy is enforced already. ``spec.rollout`` of a Policy, and the kind Rollout
for policies that cannot have that field.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

from policyd.policy.model.base import LabelSelector, Model, Object
from policyd.policy.model.shapes import Before, Many

_MOMENT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
)
# Up to the seconds, with the separators of RFC 3339; Python also accepts other forms of ISO 8601.
_FORM = "0000-00-00T00:00:00"


def _moment(value: object) -> object:
    if isinstance(value, str) and value.isascii() and len(value) > len(_FORM):
        shape = "".join("0" if char.isdigit() else char for char in value[: len(_FORM)])
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is not None and shape == _FORM:
            return moment.astimezone(UTC)
    day = value if isinstance(value, str) and len(value) == len("0000-00-00") else "2027-03-01"
    raise ValueError(f"must be a time like {day}T00:00:00Z")


Moment = Annotated[datetime, Before(_moment, Annotated[str, _MOMENT])]


class Enforce(Model):
    """Where a policy is enforced: all given fields must hold; without any, nowhere."""

    namespace_selector: LabelSelector | None = None
    percent: int | None = None
    new_only: bool = False


class PolicyRollout(Model):
    """Where a policy is enforced, and its actions everywhere else, until a time."""

    enforce: Enforce = Enforce()
    otherwise: Many[Literal["Audit", "Warn"]] = ("Audit",)
    until: Moment | None = None


class RolloutSpec(PolicyRollout):
    """``spec`` of a Rollout."""

    policy_name: str = ""


class Rollout(Object):
    """The rollout of the policies of one name, as a separate document."""

    api_version: Literal["policyd.dev/v1"]
    kind: Literal["Rollout"]
    spec: RolloutSpec = RolloutSpec()
