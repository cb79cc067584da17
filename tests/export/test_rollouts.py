"""A policy is exported once its rollout is over: the API server has none."""

from datetime import UTC, datetime

import pytest

from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from tests.builders.policies import policy, rollout_document, vap, vap_binding
from tests.policy_sets import loaded

UNTIL = "2027-03-01T00:00:00Z"
BEFORE = datetime(2027, 2, 28, 23, 59, 59, tzinfo=UTC)
AFTER = datetime(2027, 3, 1, tzinfo=UTC)
OWN = "spec.rollout: the API server has no rollouts, and it is not over"
NAMED = "metadata.name: the API server has no rollouts, and Rollout p is not over"


def reasons(now: datetime, *documents: JSONObject) -> list[str]:
    (found,) = exported(loaded(*documents), now=lambda: now)
    (part,) = found.parts
    assert bool(part.documents) is not bool(part.reasons)
    return [f"{each.path}: {each.message}" for each in part.reasons]


@pytest.mark.parametrize(
    ("until", "now", "held"),
    [(None, AFTER, True), (UNTIL, BEFORE, True), (UNTIL, AFTER, False)],
    ids=["for ever", "before", "after"],
)
def test_a_rollout_that_is_not_over_is_a_reason(
    until: str | None, now: datetime, held: bool
) -> None:
    given = {"until": until} if until else {}
    assert reasons(now, policy(rollout=given)) == ([OWN] if held else [])
    named = [vap(), vap_binding(), rollout_document(**given)]
    assert reasons(now, *named) == ([NAMED] if held else [])


def test_what_is_exported_has_no_rollout() -> None:
    (found,) = exported(loaded(policy(rollout={"until": UNTIL})), now=lambda: AFTER)
    assert [sorted(each["spec"]) for each in found.documents] == [
        ["failurePolicy", "matchConstraints", "validations"],
        ["policyName", "validationActions"],
    ]
