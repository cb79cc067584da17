"""What a client of a real API server sees of policyd: denials, warnings, audit annotations, errors."""

import json

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import PRIVILEGED, config_map, container, pod
from tests.builders.policies import (
    CONFIG_MAPS,
    NOT_PRIVILEGED,
    PODS,
    demand,
    policy,
    vap,
    vap_binding,
)
from tests.e2e.client import Client, audit
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.e2e.webhook import DENIED

NO_LATEST = demand(
    "object.spec.containers.all(c, !c.image.endsWith(':latest'))", "images need a version"
)
TEAM = demand("object.metadata.?labels.?team.hasValue()", "a team label is required")


def test_every_denial_of_a_pod_is_told(install: Install, client: Client, namespace: str) -> None:
    install(
        policy("a-privileged", PODS, validations=[NOT_PRIVILEGED]),
        policy("b-latest", PODS, validations=[{**NO_LATEST, "reason": "Forbidden"}]),
    )
    both = client.create(pod(container(image="web:latest", **PRIVILEGED), namespace=namespace))
    first = "policy 'a-privileged' denied request: privileged containers are not allowed"
    second = "policy 'b-latest' denied request: images need a version"
    assert (both.status, both.body["reason"]) == (422, "Invalid")
    assert both.message == f"{DENIED}{first}\n{second}"
    assert both.causes == [first, second]

    one = client.create(pod(container(image="web:latest"), namespace=namespace))
    assert (one.status, one.body["reason"]) == (403, "Forbidden")
    assert one.message == DENIED + second
    assert client.create(pod(namespace=namespace)).status == 201


def test_policies_of_kubernetes_need_their_binding(
    install: Install, client: Client, namespace: str
) -> None:
    def denies(name: str, expression: str) -> JSONObject:
        return vap(name, CONFIG_MAPS, validations=[demand(expression, "no")])

    binding = vap_binding("here", policyName="bound")
    install(denies("bound", "object.data.bound == 'yes'"), denies("loose", "false"), binding)
    denied = client.create(config_map("a", namespace, {"bound": "no"}))
    told = "ValidatingAdmissionPolicy 'bound' with binding 'here' denied request: no"
    assert (denied.status, denied.body["reason"]) == (422, "Invalid")
    assert denied.message == DENIED + told
    assert denied.causes == [told]
    assert client.create(config_map("a", namespace, {"bound": "yes"})).status == 201


def test_warnings_arrive_as_headers(install: Install, client: Client, namespace: str) -> None:
    quoted = demand("false", 'say "hello" \\ now')
    install(policy("soft", CONFIG_MAPS, validations=[TEAM, quoted], validationActions=["Warn"]))
    answer = client.create(config_map("a", namespace))
    assert answer.status == 201
    assert answer.warnings == (
        "Validation failed for policy 'soft': a team label is required",
        "Validation failed for policy 'soft': say \"hello\" \\ now",
    )


def test_annotations_reach_the_audit_log(
    install: Install, api: Cluster, client: Client, namespace: str
) -> None:
    noted = {"key": "size", "valueExpression": "string(object.data.size())"}
    server = install(
        policy("noting", CONFIG_MAPS, auditAnnotations=[noted], validations=[demand("true", "")]),
        policy("watching", CONFIG_MAPS, validations=[TEAM], validationActions=["Audit"]),
    )
    answer = client.create(config_map("a", namespace, {"one": "1", "two": "2"}))
    assert answer.status == 201
    prefix = "validate.policyd.dev/"
    annotations = {
        key.removeprefix(prefix): value
        for key, value in audit(api, answer.audit_id).items()
        if key.startswith(prefix)
    }
    (failure,) = json.loads(annotations.pop("validation_failure"))
    assert failure["message"] == "a team label is required"
    assert failure["policy"] == "watching"
    generation = json.loads(server.get("/policies")[1])["generation"]
    assert annotations == {"noting.size": "2", "generation": generation}


def test_exceptions_let_through_and_say_so(
    install: Install, api: Cluster, client: Client, namespace: str
) -> None:
    excused = {"name": "old", "reason": "ticket 4711", "names": ["legacy-*"]}
    install(policy("strict", PODS, validations=[NOT_PRIVILEGED], exceptions=[excused]))
    assert (
        client.create(pod(container(**PRIVILEGED), name="new", namespace=namespace)).status == 422
    )
    answer = client.create(pod(container(**PRIVILEGED), name="legacy-1", namespace=namespace))
    assert answer.status == 201
    annotations = audit(api, answer.audit_id)
    assert "old" in annotations["validate.policyd.dev/exception.strict"]


@pytest.mark.parametrize(("failure_policy", "status"), [("Ignore", 201), ("Fail", 422)])
def test_errors_follow_the_failure_policy(
    install: Install, client: Client, namespace: str, failure_policy: str, status: int
) -> None:
    broken = demand("object.data.missing == 'x'", "unused")
    install(policy("broken", CONFIG_MAPS, validations=[broken], failurePolicy=failure_policy))
    answer = client.create(config_map("a", namespace, {"other": ""}))
    assert answer.status == status, answer.body
    if failure_policy == "Fail":
        assert answer.message.endswith("resulted in error: no such key: missing")


@pytest.mark.parametrize(("failure_policy", "status"), [("Ignore", 201), ("Fail", 422)])
def test_slow_policies_are_ended_within_the_time_of_the_webhook(
    install: Install, client: Client, namespace: str, failure_policy: str, status: int
) -> None:
    """More work than one second allows, in pieces that are each within the limits of CEL's cost."""
    work = "lists.range(200).all(i, lists.range(100).all(j, i * j >= 0))"
    slow = policy(
        "slow", CONFIG_MAPS, validations=[demand(work, "")] * 20, failurePolicy=failure_policy
    )
    many = [{**slow, "metadata": {"name": f"slow-{i:03}"}} for i in range(200)]
    server = install(*many, webhook={"timeoutSeconds": 1})
    answer = client.create(config_map("a", namespace))
    assert answer.status == status, answer.body
    assert 'decision="timeout"' in server.get("/metrics")[1]
    if failure_policy == "Fail":
        assert answer.message.startswith(f"{DENIED}policy 'slow-")
        assert answer.causes[-1].endswith("deadline exceeded before the policy was evaluated")
