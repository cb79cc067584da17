"""What the second round of mutations needs to know of a cluster that the first did not ask."""

from time import perf_counter_ns

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import HERE, MAPS, SECOND, reviewed
from tests.builders.policies import add_label, json_patch, policy, rule
from tests.policy_sets import compiled

LATE: JSONObject = {"objectSelector": {"matchLabels": {"late": "y"}}}


def policies(failure: str = "Fail", param: str = "p") -> CompiledPolicySet:
    """One whose rules fit only what the other makes, and whose condition cannot be judged then."""
    ref: JSONObject = {"name": param, "parameterNotFoundAction": "Deny"}
    late = policy(
        "a",
        match=LATE,
        paramKind=MAPS,
        paramRef=ref,
        failurePolicy=failure,
        matchConditions=[{"name": "c", "expression": "params.data.nothing == params.data.says"}],
        mutations=[add_label("'1'")],
    )
    return compiled(late, policy("b", mutations=[add_label("'y'", "late")]))


@pytest.mark.parametrize(
    ("param", "why"),
    [("p", "no such key: nothing"), ("none", "no params found for policy binding")],
)
def test_params_are_asked_for_when_they_are_needed(param: str, why: str) -> None:
    cluster = clusters.Params(HERE)
    response = reviewed(cluster, policies(param=param), "mutate")
    assert cluster.asked
    assert not response.allowed and why in response.message
    allowed = reviewed(clusters.Params(HERE), policies("Ignore", param), "mutate")
    assert allowed.allowed and allowed.patch


CONTROLLER: JSONObject = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "metadata": {"name": "rc", "namespace": "shop"},
    "spec": {"replicas": 1},
}


@pytest.mark.parametrize("silent", [False, True])
def test_the_namespace_of_a_template_that_the_first_round_made_is_asked_for(silent: bool) -> None:
    late = policy(
        "a",
        match={"namespaceSelector": {"matchLabels": {"team": "sales"}}},
        podControllers=True,
        matchConditions=[{"name": "c", "expression": "object.spec.nothing == 1"}],
        mutations=[add_label("'1'")],
    )
    template = "{'metadata': dyn({'name': 'x'}), 'spec': dyn({'containers': []})}"
    make = f"[JSONPatch{{op: 'add', path: '/spec/template', value: dyn({template})}}]"
    first = policy("b", rule("replicationcontrollers"), mutations=[json_patch(make)])
    cluster = (clusters.SilentNamespaces if silent else clusters.Namespaces)()
    end = perf_counter_ns() + (SECOND // 5 if silent else 20 * SECOND)
    response = reviewed(cluster, compiled(late, first), "mutate", CONTROLLER, deadline=end)
    assert cluster.asked == ["shop"]
    # Nobody who was due is left without an answer: there is nobody.
    assert response.allowed is silent
    assert silent or "no such key: nothing" in response.message


def test_what_is_not_answered_in_time_is_an_error_of_the_policy() -> None:
    for failure in ("Fail", "Ignore"):
        end = perf_counter_ns() + SECOND // 5
        response = reviewed(clusters.SilentParams(HERE), policies(failure), "mutate", deadline=end)
        assert response.allowed is (failure == "Ignore")
        if failure == "Fail":
            assert "not known in time" in response.message


@pytest.mark.parametrize("reinvocation", ["Never", "IfNeeded"])
def test_errors_of_the_configuration_come_before_those_of_conditions(reinvocation: str) -> None:
    """All invocations of a round are found before the first, whatever else is reinvoked."""
    late = "has(object.metadata.labels.late) && object.nothing == 1"
    fails = policy(
        "a", matchConditions=[{"name": "c", "expression": late}], mutations=[add_label("'1'")]
    )
    ref: JSONObject = {"name": "none", "parameterNotFoundAction": "Deny"}
    misses = policy("b", match=LATE, paramKind=MAPS, paramRef=ref, mutations=[add_label("'1'")])
    marks = policy("c", mutations=[add_label("'y'", "late")], reinvocationPolicy=reinvocation)
    policies = compiled(fails, misses, marks)
    response = reviewed(clusters.Params(HERE), policies, "mutate")
    assert [line[:10] for line in response.message.splitlines()] == ["policy 'b'", "policy 'a'"]
