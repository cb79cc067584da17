"""Rollouts and exceptions with what only a real API server sends: generated names, which exist from
the validating webhook on, retries, updates by patch and subresources.
"""

from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.compile.rollouts import number_of
from tests.builders.objects import config_map, deployment
from tests.builders.policies import demand, labelling, policy, policy_exception, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.server.process import Process, until

NO_BAD = demand("!('bad' in object.?data.orValue({}))", "nothing bad")
NO_WORSE = demand("!('worse' in object.?data.orValue({}))", "nothing worse")
STAMP = labelling("stamp", "'v1'")
RETRIES = 4


def written(server: Process, event: str, count: int) -> list[dict[str, Any]]:
    """The lines of an event once so many are written, and no more."""
    until(lambda: len(server.lines(event)) >= count, f"{count} lines of {event}")
    found = server.lines(event)
    assert len(found) == count
    return found


def test_each_retry_of_a_generated_name_is_decided_alike(
    client: Client, install: Install, namespace: str
) -> None:
    roles = rule("clusterroles", group="rbac.authorization.k8s.io", operations=["CREATE"])
    strict = policy(
        "half",
        roles,
        validations=[demand("false", "no")],
        mutations=[STAMP],
        rollout={"enforce": {"percent": 50}},
    )
    server = install(strict)
    bases = [f"{namespace}-{number}-" for number in range(100)]
    numbers = {each: number_of("half", "", "ClusterRole", each) for each in bases}
    inside = [each for each in bases if numbers[each] < 50][:3]
    outside = [each for each in bases if numbers[each] >= 50][:3]
    for base in (*inside, *outside):
        role: JSONObject = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"generateName": base},
        }
        statuses = {client.create(role, dryRun="All").status for _ in range(RETRIES)}
        assert statuses == ({422} if base in inside else {201}), base
    spared = written(server, "would_mutate", len(outside) * RETRIES)
    assert {line["message"] for line in spared} == {"/metadata/labels"}


def test_updates_of_what_violated_before_are_not_denied(
    client: Client, install: Install, namespace: str
) -> None:
    old = config_map("old", namespace, data={"bad": "yes"})
    scaled = deployment(name="web", namespace=namespace)
    scaled["spec"]["replicas"] = 5
    for each in (old, scaled):
        client.made(each)
    few = demand("object.spec.replicas < 3", "too many")
    server = install(
        policy(
            "strict",
            rule("configmaps", operations=["*"]),
            validations=[
                {**NO_BAD, "expression": f"object == null || {NO_BAD['expression']}"},
                {**NO_WORSE, "expression": f"object == null || {NO_WORSE['expression']}"},
            ],
            rollout={"enforce": {"newOnly": True}},
        ),
        policy(
            "few",
            rule("deployments", "deployments/scale", group="apps"),
            rule("scales", "*/scale", group="autoscaling"),
            validations=[few],
            rollout={"enforce": {"newOnly": True}},
        ),
    )
    assert client.create({**old, "metadata": {**old["metadata"], "name": "new"}}).status == 422
    assert client.patch(old, {"metadata": {"labels": {"a": "b"}}}).status == 200
    denied = client.patch(old, {"data": {"worse": "yes"}})
    assert (denied.status, len(denied.causes)) == (422, 1)
    assert "nothing worse" in denied.causes[0]
    assert client.delete(old).status == 200
    # By the subresource, too: both of its objects are Scales.
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    for replicas, status in ((4, 200), (2, 200), (6, 422)):
        change = {"spec": {"replicas": replicas}}
        answer = client.send("PATCH", path, change, "application/merge-patch+json")
        assert answer.status == status, answer.body
    why = "the old object also violates it"
    until(lambda: server.lines("would_deny")[-1]["policy"] == "few", "the line of the last update")
    held = [(each["policy"], each["rollout"]) for each in server.lines("would_deny")]
    # The API server sends an update again that was denied with an object out of its cache.
    assert held[:2] == [("strict", why)] * 2
    assert set(held[2:]) in ({("few", why)}, {("strict", why), ("few", why)})


def test_an_exception_by_name_holds_for_generated_names(
    client: Client, install: Install, namespace: str
) -> None:
    """By an exact name never, and by a pattern if every name matches that can be made."""
    maps = rule("configmaps", operations=["CREATE", "DELETE"])
    no_bad = {**NO_BAD, "expression": f"object == null || {NO_BAD['expression']}"}
    no_deletion = demand("request.operation != 'DELETE'", "stays")
    server = install(
        policy("both", maps, validations=[no_bad, no_deletion], mutations=[STAMP]),
        policy_exception("e", "both", resources=[{"names": ["legacy-*", "exact"]}]),
    )

    def create(base: str, bad: bool = True) -> tuple[int, bool]:
        made = config_map("x", namespace, data={"bad": "yes"} if bad else {"good": "yes"})
        made["metadata"] = {"namespace": namespace, "generateName": base}
        answer = client.create(made)
        return answer.status, "stamp" in answer.body.get("metadata", {}).get("labels", {})

    assert create("legacy-") == (201, False)
    assert create("new-")[0] == 422
    assert create("exact", bad=False) == (201, True)
    used = written(server, "exemption", 2)
    assert [(each["exception"], each.get("generateName")) for each in used] == [
        ("e", "legacy-"),
        ("e", None),
    ]
    assert used[1]["name"].startswith("legacy-")
    # A deletecollection names each object only by the old one.
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    names = [each["metadata"]["name"] for each in client.send("GET", path).body["items"]]
    statuses = {
        name: client.send("DELETE", f"{path}?fieldSelector=metadata.name%3D{name}").status
        for name in names
        if name.startswith(("legacy-", "exact"))
    }
    assert statuses == {name: 200 if name.startswith("legacy-") else 422 for name in statuses}
    assert len(statuses) == 2
