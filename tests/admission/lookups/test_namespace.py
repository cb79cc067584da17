"""Reviews that ask for their namespace: as if it had been known, and only where it is needed."""

from time import perf_counter_ns

import pytest

from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.lookups.authorizer import AccessDecision, Attributes, Failure
from policyd.json_types import JSONObject
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import (
    SECOND,
    Listening,
    adding,
    get,
    request_of,
    reviewed,
    validating,
)
from tests.builders.policies import policy, rule, vap, vap_binding
from tests.policy_sets import POD, compiled


def selecting(**labels: str) -> JSONObject:
    return {"match": {"namespaceSelector": {"matchLabels": labels}}}


SALES, BUYERS = selecting(team="sales"), selecting(team="buyers")
TIER = "namespaceObject.metadata.annotations['tier']"
SEES = f"{TIER} == 'gold' && namespaceObject.status.phase == 'Active'"
BOUND = {"matchResources": {"namespaceSelector": {"matchLabels": {"team": "sales"}}}}


def copying(name: str, items: str) -> JSONObject:
    """A mutation with an Object that holds a list of maps, which Kubernetes takes only as JSON."""
    value = f"Object.spec{{imagePullSecrets: {items}}}"
    expression = f"[JSONPatch{{op: 'add', path: '/spec', value: {value}}}]"
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return policy(name, mutations=[patch])


SETS: dict[str, tuple[Webhook, tuple[JSONObject, ...]]] = {
    "selected": ("validate", (validating("a", "false", **SALES),)),
    "not selected": ("validate", (validating("a", "false", **BUYERS),)),
    "seen": ("validate", (validating("a", SEES), validating("b", f"!({SEES})"))),
    "seen by a policy without bindings of its own": (
        "validate",
        (
            vap("v", validations=[{"expression": f"!({SEES})"}]),
            vap_binding("b", policyName="v", **BOUND),
        ),
    ),
    "seen by a message": (
        "validate",
        (
            policy(
                "m",
                validations=[{"expression": "false", "messageExpression": TIER}],
            ),
        ),
    ),
    "seen by a condition": (
        "validate",
        (
            validating(
                "a",
                "false",
                matchConditions=[{"name": "c", "expression": "namespaceObject == null"}],
            ),
        ),
    ),
    "mutated": ("mutate", (adding("a", TIER, **SALES), adding("b", "'b'", **BUYERS))),
    "copied within an Object": ("mutate", (copying("a", "[namespaceObject.metadata.labels]"),)),
    "written within an Object": ("mutate", (copying("a", "[{'a': 'b'}]"), adding("b", TIER))),
    "beside the authorizer": (
        "validate",
        (validating("a", f"{get('pods')}.allowed() && !({SEES})"), validating("b", "false")),
    ),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_who_asks_comes_to_the_same_as_who_knows(name: str, known: bool) -> None:
    webhook, documents = SETS[name]
    cluster = clusters.Namespaces(known=known)
    policies = compiled(*documents)
    request = request_of()

    class Everybody:
        def check(self, attributes: Attributes) -> AccessDecision:
            return AccessDecision(True, "yes")

    want = engine.review(
        policies.with_namespaces([clusters.SHOP]), request, webhook=webhook, authorizer=Everybody()
    )
    assert webhook in policies.with_lookups
    assert reviewed(cluster, policies, webhook) == want
    assert cluster.asked == ([] if known else ["shop"])


NEEDLESS: dict[str, tuple[JSONObject, JSONObject]] = {
    "another resource": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}},
        validating("a", "false", **SALES),
    ),
    "only the name": (
        POD,
        validating("a", "false", **selecting(**{"kubernetes.io/metadata.name": "shop"})),
    ),
    "a cluster-scoped object": (
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
        validating(
            "a",
            "namespaceObject != null",
            matchConstraints={
                "resourceRules": [rule("nodes")],
                "namespaceSelector": {"matchLabels": {"team": "sales"}},
            },
        ),
    ),
    "a Namespace shows its own labels": (
        clusters.SHOP,
        validating(
            "a",
            "namespaceObject != null",
            matchConstraints={
                "resourceRules": [rule("namespaces")],
                "namespaceSelector": {"matchLabels": {"team": "sales"}},
            },
        ),
    ),
}


@pytest.mark.parametrize("name", NEEDLESS)
def test_nothing_is_asked_where_nothing_depends_on_it(name: str) -> None:
    obj, document = NEEDLESS[name]
    cluster = clusters.Namespaces()
    assert reviewed(cluster, compiled(document), obj=obj).allowed is (name == "another resource")
    assert cluster.asked == []


def test_policies_that_do_not_look_at_namespaces_ask_for_none() -> None:
    assert compiled(validating("a", "true"), adding("b", "'b'")).with_lookups == frozenset()
    named = selecting(**{"kubernetes.io/metadata.name": "shop"})
    assert compiled(validating("a", "true", **named)).with_lookups == frozenset()
    bound = compiled(
        vap("v", validations=[{"expression": "true"}]), vap_binding("b", policyName="v", **BOUND)
    )
    assert bound.with_lookups == {"validate"}


FAILING: dict[str, tuple[JSONObject, ...]] = {
    "of a policy": (validating("x", "true", **SALES),),
    "of an expression": (validating("x", SEES),),
    "of a binding": (
        vap("x", validations=[{"expression": "true"}]),
        vap_binding("b", policyName="x", **BOUND),
    ),
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
@pytest.mark.parametrize("name", FAILING)
def test_a_namespace_that_cannot_be_had_is_an_error_of_those_who_need_it(
    name: str, failure: str, late: bool
) -> None:
    documents = [
        {**each, "spec": {**each["spec"], "failurePolicy": failure}}
        if each["metadata"]["name"] == "x"
        else each
        for each in FAILING[name]
    ]
    policies = compiled(*documents, validating("y", "false"))
    for seconds in (1, 10, 60) if late else (60,):  # a busy machine may need longer for the rest
        cluster = (
            clusters.SilentNamespaces()
            if late
            else clusters.Namespaces(Failure("the line is dead"))
        )
        told = Listening()
        deadline = perf_counter_ns() + seconds * SECOND
        response = reviewed(cluster, policies, deadline=deadline, recorder=told)
        if "deadline exceeded" not in str(response.causes):
            break
    assert not response.allowed
    errors = [message for what, _, message in told.told if what == "error"]
    assert len(errors) == 1
    assert "namespace 'shop'" in errors[0]
    assert ("in time" in errors[0]) if late else ("the line is dead" in errors[0])
    causes = [str(cause) for cause in response.causes]
    assert len(causes) == (2 if failure == "Fail" else 1)
    assert "policy 'y' denied request" in causes[-1]
    assert cluster.asked == ["shop"]
    assert told.lookups == ["timeout" if late else "error"]
