"""Rollouts in the Python API: what they hold, and the goal."""

import policyd
from policyd import PolicySet
from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.builders.policies import demand, labelling, policy, policy_exception

NO = demand("false", "no")
SHADOW: JSONObject = {"enforce": {}, "otherwise": ["Warn"]}
REVIEW = policyd.build_review(pod(container("c"), name="web"))


def test_a_violation_has_the_reason_why_it_is_not_enforced() -> None:
    policies = PolicySet.from_documents(
        policy("held", validations=[NO], rollout=SHADOW),
        policy("warns", validations=[NO], validationActions=["Warn"]),
    )
    result = policies.evaluate(REVIEW)
    assert result.allowed
    assert [(each.policy, each.rollout, each.actions) for each in result.violations] == [
        ("held", "enforce is empty", ("Warn",)),
        ("warns", "", ("Warn",)),
    ]


def test_the_goal_is_a_set_of_its_own() -> None:
    policies = PolicySet.from_documents(
        policy("held", validations=[NO], mutations=[labelling("a", "'x'")], rollout=SHADOW),
        policy("free", validations=[NO]),
        policy_exception("e", "free"),
    )
    before = policies.evaluate(REVIEW)
    assert before.allowed and not before.patch
    goal = policies.enforced
    after = goal.evaluate(REVIEW)
    assert not after.allowed and after.patch
    assert [(each.policy, each.rollout) for each in after.violations] == [("held", "")]
    assert policies.evaluate(REVIEW).allowed, "the set itself is as it was"
    assert (goal.names, goal.generation) == (policies.names, policies.generation)


def test_the_goal_keeps_the_authorizer() -> None:
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    always = policyd.StaticAuthorizer([{"verb": "get", "allowed": True}])
    policies = PolicySet.from_documents(
        policy("held", validations=[demand(check, "no")], rollout=SHADOW), authorizer=always
    )
    assert policies.enforced.evaluate(REVIEW).allowed
