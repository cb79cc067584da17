"""What the second round of mutations needs to know of a cluster that the first did not ask."""

from time import perf_counter_ns

import pytest

from policyd.policy.policy_set import PolicySet
from tests.admission.test_asked_params import HERE, MAPS, SECOND, Cluster, Silent, review
from tests.admission.test_asking import Json, load
from tests.admission.test_engine import labels, policy

RULES = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    ],
    "objectSelector": {"matchLabels": {"late": "y"}},
}


def policies(failure: str = "Fail", param: str = "p") -> PolicySet:
    """One whose rules fit only what the other makes, and whose condition cannot be judged then."""
    ref: Json = {"name": param, "parameterNotFoundAction": "Deny"}
    late = policy(
        "a",
        matchConstraints=RULES,
        paramKind=MAPS,
        paramRef=ref,
        failurePolicy=failure,
        matchConditions=[{"name": "c", "expression": "params.data.nothing == params.data.says"}],
        mutations=[labels("'1'")],
    )
    return load(late, policy("b", mutations=[labels("'y'", "late")]))


@pytest.mark.parametrize(
    ("param", "why"),
    [("p", "no such key: nothing"), ("none", "no params found for policy binding")],
)
def test_params_are_asked_for_when_they_are_needed(param: str, why: str) -> None:
    cluster = Cluster(HERE)
    response = review(cluster, policies(param=param), "mutate")
    assert cluster.asked
    assert not response.allowed and why in response.message
    allowed = review(Cluster(HERE), policies("Ignore", param), "mutate")
    assert allowed.allowed and allowed.patch


def test_what_is_not_answered_in_time_is_an_error_of_the_policy() -> None:
    for failure in ("Fail", "Ignore"):
        end = perf_counter_ns() + SECOND // 5
        response = review(Silent(HERE), policies(failure), "mutate", deadline=end)
        assert response.allowed is (failure == "Ignore")
        if failure == "Fail":
            assert "not known in time" in response.message
