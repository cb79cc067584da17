"""Reviews that ask for their namespace: as if it had been known, and only where it is needed."""

import asyncio
from time import perf_counter_ns
from typing import Any

import pytest

from policyd.admission import engine
from policyd.admission.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.engine import Webhook
from policyd.admission.review import AdmissionResponse, decode
from policyd.admission.with_cluster import review_with
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.admission.lookups import clusters
from tests.admission.lookups.test_authorizer import Json, Listening, adding, get, load, validating
from tests.admission.test_engine import policy
from tests.policy.builders import vap, vap_binding

SECOND = 1_000_000_000
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "labels": {}},
    "spec": {"containers": []},
}
SHOP: Json = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "shop",
        "labels": {"team": "sales", "kubernetes.io/metadata.name": "shop"},
        "annotations": {"tier": "gold"},
    },
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
PODS = {"resourceRules": [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
]}  # fmt: skip


def selecting(**labels: str) -> Json:
    return {"matchConstraints": {**PODS, "namespaceSelector": {"matchLabels": labels}}}


SALES, BUYERS = selecting(team="sales"), selecting(team="buyers")
TIER = "namespaceObject.metadata.annotations['tier']"
SEES = f"{TIER} == 'gold' && namespaceObject.status.phase == 'Active'"
BOUND = {"matchResources": {"namespaceSelector": {"matchLabels": {"team": "sales"}}}}


class Cluster(clusters.Ignorant):
    """Knows the namespace shop, once it is asked for it."""

    def __init__(self, answer: Json | Failure | None = None, *, known: bool = False) -> None:
        self.answer = SHOP if answer is None else answer
        self.known = known
        self.asked: list[str] = []

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        await asyncio.sleep(0)
        return AccessDecision(True, "yes")

    async def namespace(self, name: str) -> Json | Failure:
        self.asked.append(name)
        await asyncio.sleep(0)
        return self.answer

    def known_namespace(self, name: str) -> Json | None:
        return SHOP if self.known else None


class Silent(Cluster):
    """Never answers."""

    async def namespace(self, name: str) -> Json | Failure:
        self.asked.append(name)
        await asyncio.Event().wait()
        return self.answer


def review(
    cluster: Cluster,
    policies: CompiledPolicySet,
    webhook: Webhook = "validate",
    obj: Json = POD,
    **more: Any,
) -> AdmissionResponse:
    request = decode(build_review(obj))
    return asyncio.run(review_with(cluster, policies, request, webhook=webhook, **more))


def copying(name: str, items: str) -> Json:
    """A mutation with an Object that holds a list of maps, which Kubernetes takes only as JSON."""
    value = f"Object.spec{{imagePullSecrets: {items}}}"
    expression = f"[JSONPatch{{op: 'add', path: '/spec', value: {value}}}]"
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return policy(name, matchConstraints=PODS, mutations=[patch])


SETS: dict[str, tuple[Webhook, tuple[Json, ...]]] = {
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
                matchConstraints=PODS,
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
    cluster = Cluster(known=known)
    policies = load(*documents)
    request = decode(build_review(POD))

    class Everybody:
        def check(self, attributes: Attributes) -> AccessDecision:
            return AccessDecision(True, "yes")

    want = engine.review(
        policies.with_namespace(SHOP), request, webhook=webhook, authorizer=Everybody()
    )
    assert webhook in policies.asking
    assert review(cluster, policies, webhook) == want
    assert cluster.asked == ([] if known else ["shop"])


NEEDLESS: dict[str, tuple[Json, Json]] = {
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
                "resourceRules": [{**PODS["resourceRules"][0], "resources": ["nodes"]}],
                "namespaceSelector": {"matchLabels": {"team": "sales"}},
            },
        ),
    ),
    "a Namespace shows its own labels": (
        SHOP,
        validating(
            "a",
            "namespaceObject != null",
            matchConstraints={
                "resourceRules": [{**PODS["resourceRules"][0], "resources": ["namespaces"]}],
                "namespaceSelector": {"matchLabels": {"team": "sales"}},
            },
        ),
    ),
}


@pytest.mark.parametrize("name", NEEDLESS)
def test_nothing_is_asked_where_nothing_depends_on_it(name: str) -> None:
    obj, document = NEEDLESS[name]
    cluster = Cluster()
    assert review(cluster, load(document), obj=obj).allowed is (name == "another resource")
    assert cluster.asked == []


def test_policies_that_do_not_look_at_namespaces_ask_for_none() -> None:
    assert load(validating("a", "true"), adding("b", "'b'")).asking == frozenset()
    named = selecting(**{"kubernetes.io/metadata.name": "shop"})
    assert load(validating("a", "true", **named)).asking == frozenset()
    bound = load(
        vap("v", validations=[{"expression": "true"}]), vap_binding("b", policyName="v", **BOUND)
    )
    assert bound.asking == {"validate"}


FAILING: dict[str, tuple[Json, ...]] = {
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
    cluster = Silent() if late else Cluster(Failure("the line is dead"))
    told = Listening()
    policies = load(*documents, validating("y", "false"))
    deadline = perf_counter_ns() + SECOND // (2 if late else 1)
    response = review(cluster, policies, deadline=deadline, recorder=told)
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
