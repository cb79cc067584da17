"""What the second round of mutations needs to know of a cluster that the first did not ask."""

import asyncio
from time import perf_counter_ns

import pytest

from policyd.admission.review import decode
from policyd.admission.with_cluster import review_with
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.admission.lookups.test_authorizer import Json, load
from tests.admission.lookups.test_namespace import Cluster as KnowingNamespaces
from tests.admission.lookups.test_namespace import Silent as SilentOfNamespaces
from tests.admission.lookups.test_params import HERE, MAPS, SECOND, Cluster, Silent, review
from tests.admission.test_engine import labels, policy

RULES: Json = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    ],
    "objectSelector": {"matchLabels": {"late": "y"}},
}


def policies(failure: str = "Fail", param: str = "p") -> CompiledPolicySet:
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


CONTROLLER: Json = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "metadata": {"name": "rc", "namespace": "shop"},
    "spec": {"replicas": 1},
}


@pytest.mark.parametrize("silent", [False, True])
def test_the_namespace_of_a_template_that_the_first_round_made_is_asked_for(silent: bool) -> None:
    pods = {**RULES, "namespaceSelector": {"matchLabels": {"team": "sales"}}, "objectSelector": {}}
    late = policy(
        "a",
        matchConstraints=pods,
        podControllers=True,
        matchConditions=[{"name": "c", "expression": "object.spec.nothing == 1"}],
        mutations=[labels("'1'")],
    )
    template = "{'metadata': dyn({'name': 'x'}), 'spec': dyn({'containers': []})}"
    make = f"[JSONPatch{{op: 'add', path: '/spec/template', value: dyn({template})}}]"
    controllers = {
        "resourceRules": [{**RULES["resourceRules"][0], "resources": ["replicationcontrollers"]}]
    }
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": make}}
    first = policy("b", matchConstraints=controllers, mutations=[mutation])
    cluster = (SilentOfNamespaces if silent else KnowingNamespaces)()
    end = perf_counter_ns() + (SECOND // 5 if silent else 20 * SECOND)
    request = decode(build_review(CONTROLLER))
    work = review_with(cluster, load(late, first), request, webhook="mutate", deadline=end)
    response = asyncio.run(work)
    assert cluster.asked == ["shop"]
    # Nobody who was due is left without an answer: there is nobody.
    assert response.allowed is silent
    assert silent or "no such key: nothing" in response.message


def test_what_is_not_answered_in_time_is_an_error_of_the_policy() -> None:
    for failure in ("Fail", "Ignore"):
        end = perf_counter_ns() + SECOND // 5
        response = review(Silent(HERE), policies(failure), "mutate", deadline=end)
        assert response.allowed is (failure == "Ignore")
        if failure == "Fail":
            assert "not known in time" in response.message
