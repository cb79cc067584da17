"""Params of the cluster: as if they had been documents, asked for only where none are."""

import asyncio
from time import perf_counter_ns
from typing import Any

import pytest

from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.lookups.authorizer import Failure
from policyd.admission.lookups.params import KindOf, ParamsOf, selector_text
from policyd.json_types import JSONObject
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import (
    HERE,
    MAPS,
    NAMESPACE,
    SECOND,
    Listening,
    get,
    param,
    request_of,
    reviewed,
)
from tests.builders.policies import add_label, policy, vap, vap_binding
from tests.policy_sets import compiled

LIMITS = {"apiVersion": "limits.dev/v1", "kind": "Limit"}
SAYS = [{"expression": "false", "messageExpression": "string(params.data.says)"}]


def judging(kind: JSONObject = MAPS, **ref: Any) -> tuple[JSONObject, JSONObject]:
    ref = {"parameterNotFoundAction": "Deny", **ref}
    return (
        vap("v", paramKind=kind, validations=SAYS),
        vap_binding("b", policyName="v", paramRef=ref),
    )


class Failing(clusters.Params):
    async def params(self, question: ParamsOf) -> Failure:
        return Failure("the line is dead")


class Lost(clusters.Params):
    async def kind(self, question: KindOf) -> Failure:
        return Failure("the line is dead")


LATER = param("q", "later", NAMESPACE, team="b")
THERE = param("p", "there", "central")
LIMITED = param("p", "limited", NAMESPACE, LIMITS)
ALIKE: dict[str, tuple[tuple[JSONObject, ...], tuple[JSONObject, ...]]] = {
    "by name, where the request is": (judging(name="p"), (HERE, THERE)),
    "by name and namespace": (judging(name="p", namespace="central"), (HERE, THERE)),
    "missing, denied": (judging(name="x"), (HERE, THERE)),
    "missing, allowed": (judging(name="x", parameterNotFoundAction="Allow"), (HERE,)),
    "by a selector": (judging(selector={"matchLabels": {"team": "a"}}), (LATER, HERE)),
    "every one, by name": (judging(selector={}), (LATER, HERE, THERE)),
    "none selected": (judging(selector={"matchLabels": {"team": "x"}}), (LATER, HERE)),
    "a custom kind": (judging(LIMITS, name="p"), (LIMITED,)),
    "a cluster-scoped kind": (
        judging({"apiVersion": "v1", "kind": "Node"}, name="p"),
        (param("p", "node", of={"apiVersion": "v1", "kind": "Node"}),),
    ),
    "a namespace for a cluster-scoped kind": (
        judging({"apiVersion": "v1", "kind": "Node"}, name="p", namespace="x"),
        (param("p", "node", of={"apiVersion": "v1", "kind": "Node"}),),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_params_of_the_cluster_decide_as_those_of_documents(name: str) -> None:
    policies, objects = ALIKE[name]
    request = request_of()
    offline = compiled(*policies, *objects)
    live = compiled(*policies)
    assert live.with_lookups == {"validate"}
    want = engine.review(offline, request, webhook="validate")
    found = reviewed(clusters.Params(*objects), live)
    assert (found.allowed, found.message) == (want.allowed, want.message)


def test_documents_win_and_lists_are_joined() -> None:
    mine = param("p", "mine", NAMESPACE)
    cluster = clusters.Params(HERE, LATER)
    by_name = compiled(*judging(name="p"), mine)
    assert "mine" in reviewed(cluster, by_name).message
    assert cluster.asked == []
    joined = reviewed(cluster, compiled(*judging(selector={}), mine))
    first, second = map(str, joined.causes)
    assert "mine" in first
    assert "later" in second


def test_what_the_sources_settle_asks_nobody() -> None:
    central = judging(name="p", namespace="central")
    assert compiled(*central, THERE).with_lookups == frozenset()
    assert compiled(*central, HERE).with_lookups == {"validate"}
    assert compiled(vap("v", paramKind=MAPS, validations=SAYS)).with_lookups == frozenset()


class Several(clusters.Params):
    """Tells how many questions were open at once."""

    most = 0
    _open = 0

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        self._open += 1
        self.most = max(self.most, self._open)
        for _ in range(3):
            await asyncio.sleep(0)
        self._open -= 1
        return await super().params(question)


def test_what_policies_ask_is_asked_once_and_at_once() -> None:
    policies = [
        vap("v", paramKind=MAPS, validations=SAYS),
        vap("w", paramKind=MAPS, validations=SAYS),
        *(
            vap_binding(
                f"{policy}-{name}",
                policyName=policy,
                paramRef={"name": name, "parameterNotFoundAction": "Deny"},
            )
            for policy in "vw"
            for name in "pq"
        ),
    ]
    cluster = Several(HERE, LATER)
    assert len(reviewed(cluster, compiled(*policies)).causes) == 4
    assert len(cluster.asked) == cluster.most == 2


FAILURES = {
    "params": (
        judging(name="p"),
        Failing(),
        "failed to configure binding: paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}` "
        "not yet synced to use for admission: the line is dead",
    ),
    "a kind": (
        judging(LIMITS, name="p"),
        Lost(),
        "failed to configure policy: failed to find resource referenced by paramKind: "
        "'limits.dev/v1, Kind=Limit': the line is dead",
    ),
    "a kind that is not served": (
        judging(LIMITS, name="p"),
        clusters.Params(kinds=()),
        "failed to configure policy: failed to find resource referenced by paramKind: "
        "'limits.dev/v1, Kind=Limit'",
    ),
    "late": (judging(name="p"), clusters.SilentParams(), "there was no answer in time"),
}


@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
@pytest.mark.parametrize("name", FAILURES)
def test_what_cannot_be_found_out_is_a_configuration_error(name: str, failure: str) -> None:
    (policy, binding), cluster, why = FAILURES[name]
    policy = {**policy, "spec": {**policy["spec"], "failurePolicy": failure}}
    told = Listening()
    deadline = perf_counter_ns() + SECOND // 2
    response = reviewed(cluster, compiled(policy, binding), deadline=deadline, recorder=told)
    assert response.allowed is (failure == "Ignore")
    (row,) = told.told
    assert row[0] == "error"
    assert why in row[2]


class Odd(clusters.Params):
    """Gives whatever it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    async def params(self, question: ParamsOf) -> Any:
        return self.answer


ODD: dict[str, tuple[Any, str]] = {
    "no objects": (("p",), "not yet synced to use for admission"),
    "metadata that are none": (({**HERE, "metadata": "p"},), "not yet synced"),
    "no name": (({**HERE, "metadata": {}},), "not yet synced"),
    "a name that is no text": (({**HERE, "metadata": {"name": 1}},), "not yet synced"),
    "names of two types": (
        (LATER, {**HERE, "metadata": {"name": ["p"], "namespace": NAMESPACE}}),
        "not yet synced",
    ),
    "a namespace that is none": (
        ({**HERE, "metadata": {"name": "p", "namespace": ["p"]}},),
        "not yet synced",
    ),
    "nothing that could be read": (7, "internal error"),
}


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_an_error_of_the_policy_that_asked(
    name: str, failure: str, webhook: Webhook
) -> None:
    answer, why = ODD[name]
    work = {"mutations": [add_label("'1'")]} if webhook == "mutate" else {}
    asking = vap("v", paramKind=MAPS, validations=SAYS, failurePolicy=failure)
    bound = judging(selector={})[1]
    if webhook == "mutate":
        asking["kind"] = "MutatingAdmissionPolicy"
        bound["kind"] = "MutatingAdmissionPolicyBinding"
        del asking["spec"]["validations"], bound["spec"]["validationActions"]
        asking["spec"] |= {**work, "reinvocationPolicy": "Never"}
    other = policy("z", **(work or {"validations": [{"expression": "false"}]}))
    told = Listening()
    response = reviewed(Odd(answer), compiled(asking, bound, other), webhook, recorder=told)
    errors = [row for row in told.told if row[0] == "error"]
    assert len(errors) == 1
    assert errors[0][1] == "v"
    assert why in errors[0][2]
    if webhook == "validate":
        assert len(response.causes) == (2 if failure == "Fail" else 1)
        assert "policy 'z' denied request" in str(response.causes[-1])
    else:
        assert response.allowed is (failure == "Ignore")
        assert ("operations", "z", "1") in told.told


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"a": "1"},
                "matchExpressions": [
                    {"key": "b", "operator": "In", "values": ["x", "y"]},
                    {"key": "c", "operator": "NotIn", "values": ["z"]},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                ],
            },
            "a=1,b in (x,y),c notin (z),d,!e",
        ),
    ],
)
def test_selectors_in_the_words_of_lists(selector: JSONObject, text: str) -> None:
    assert selector_text(selector) == text


class Slow(clusters.Params):
    """Takes longer for params than some policies have."""

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        await asyncio.sleep(0.3)
        return await super().params(question)


def limited(name: str, param: str, **more: Any) -> JSONObject:
    """A policy of policyd's own with a param."""
    ref = {"name": param, "parameterNotFoundAction": "Allow"}
    return policy(name, paramKind=MAPS, paramRef=ref, validations=SAYS, **more)


def test_a_policy_waits_for_its_params_no_longer_than_its_timeout() -> None:
    asking = policy("b", validations=[{"expression": f"{get('pods')}.allowed()"}])
    policies = compiled(limited("a", "p", timeoutSeconds=0.1), asking)
    started = perf_counter_ns()
    response = reviewed(clusters.SilentParams(HERE), policies, deadline=started + 20 * SECOND)
    assert perf_counter_ns() - started < 10 * SECOND
    (cause,) = map(str, response.causes)
    assert "policy 'a' denied request" in cause
    assert "there was no answer in time" in cause


def test_params_that_several_ask_for_are_waited_for_as_long_as_one_of_them_may() -> None:
    policies = compiled(limited("a", "p", timeoutSeconds=0.1), limited("b", "p"))
    response = reviewed(Slow(HERE), policies, deadline=perf_counter_ns() + 20 * SECOND)
    assert [each.text.rpartition(": ")[2] for each in response.causes] == ["here", "here"]
    apart = compiled(limited("a", "p", timeoutSeconds=0.1), limited("b", "q"))
    response = reviewed(Slow(HERE, LATER), apart, deadline=perf_counter_ns() + 20 * SECOND)
    first, second = (each.text for each in response.causes)
    assert "there was no answer in time" in first
    assert second.endswith("later")
