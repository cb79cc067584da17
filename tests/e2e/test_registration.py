"""``serve --register`` against a real API server: rules follow policies, one writer, no
accidents.
"""

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy, rule
from tests.e2e import in_cluster
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate, free_ports
from tests.e2e.rights import bound, role
from tests.e2e.webhook import write
from tests.server.process import Process, until

NAME = "registered"
NO_BAD = policy(
    "no-bad", CONFIG_MAPS, validations=[demand("object.metadata.name != 'bad'", "bad name")]
)
NO_SECRET = policy(
    "no-secret", rule("secrets"), validations=[demand("object.metadata.name != 'bad'", "secret")]
)
STAMP = policy("stamp", CONFIG_MAPS, mutations=[labelling("stamp", "'v1'")])
VALIDATE = f"{in_cluster.ADMISSION}/{in_cluster.LISTS[0]}/{NAME}"
MUTATE = f"{in_cluster.ADMISSION}/{in_cluster.LISTS[1]}/{NAME}"
Start = Callable[..., Process]


@pytest.fixture
def own(client: Client, namespace: str) -> Iterator[str]:
    """The namespace of policyd, whose registration ends with the test."""
    in_cluster.remove_configurations(client, NAME)
    yield namespace
    in_cluster.remove_configurations(client, NAME)


@pytest.fixture
def start(api: Cluster, own: str, tmp_path: Path) -> Iterator[Start]:
    """``start(*policies, **flags)``: a replica that registers itself; all listen on one port, so
    only one is called at a time.
    """
    [port] = free_ports(1)
    with ExitStack() as stack:

        def started(*documents: JSONObject, config: Path | None = None, **flags: str) -> Process:
            number = len(list(tmp_path.glob("*.log")))
            sources = write(tmp_path / f"policies-{number}", documents)
            given: dict[str, str] = {
                "register": "",
                "self_signed": "",
                "bind": f"127.0.0.1:{port}" if number == 0 else "127.0.0.1:0",
                "webhook_url": f"https://127.0.0.1:{port}",
                "webhook_name": NAME,
                **flags,
            }
            given = {name: value for name, value in given.items() if value != "-"}
            file = config or in_cluster.kubeconfig(api, tmp_path)
            log = tmp_path / f"{number}.log"
            made = in_cluster.replica(file, sources, log, own, **given)
            return stack.enter_context(made)

        yield started


def rules(client: Client) -> dict[str, list[str]]:
    """The resources of the rules, by webhook."""
    return {
        name: sorted({resource for each in hook["rules"] for resource in each["resources"]})
        for name, hook in in_cluster.webhooks(client, NAME).items()
    }


def denied(client: Client, thing: JSONObject) -> bool:
    return client.create(thing, dryRun="All").status != 201


def secret(name: str, namespace: str) -> JSONObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def test_rules_follow_the_policies(client: Client, own: str, start: Start, tmp_path: Path) -> None:
    server = start(NO_BAD)
    both = {"validate-fail.policyd.dev": ["configmaps"]}
    until(lambda: rules(client) == both, "the rules")
    until(lambda: denied(client, config_map("bad", "default")), "a denial")
    assert not denied(client, config_map("good", "default"))
    assert not denied(client, config_map("bad", own)), "policyd's own namespace"
    write(tmp_path / "policies-0", [NO_BAD, NO_SECRET, STAMP])
    wide = {
        "validate-fail.policyd.dev": ["configmaps", "secrets"],
        "mutate-fail.policyd.dev": ["configmaps"],
    }
    until(lambda: rules(client) == wide, "more rules")
    until(lambda: denied(client, secret("bad", "default")), "a denial")
    write(tmp_path / "policies-0", [NO_SECRET])
    until(lambda: len(server.lines("reload")) == 3, "the reload")
    assert rules(client) == wide
    until(lambda: rules(client) == {"validate-fail.policyd.dev": ["secrets"]}, "fewer rules")
    assert not denied(client, config_map("bad", "default"))
    assert server.metric('policyd_registrations_total{result="error"}') == 0
    listed = json.loads(server.get("/policies")[1])["policies"]
    assert [each["reached"] for each in listed] == ["reached"]


CHANGES: list[tuple[str, Callable[[JSONObject], Any]]] = [
    ("a rule less", lambda found: found["webhooks"][0].update(rules=[])),
    (
        "a condition that is never true",
        lambda found: found["webhooks"][0].update(
            matchConditions=[{"name": "never", "expression": "false"}]
        ),
    ),
    ("Ignore", lambda found: found["webhooks"][0].update(failurePolicy="Ignore")),
    (
        "one more webhook",
        lambda found: found["webhooks"].append({**found["webhooks"][0], "name": "x.example.com"}),
    ),
    ("another address", lambda found: found["webhooks"][0]["clientConfig"].update(caBundle="")),
    (
        "a narrower selector",
        lambda found: found["webhooks"][0].update(objectSelector={"matchLabels": {"a": "b"}}),
    ),
]


def test_what_somebody_changes_is_repaired(client: Client, own: str, start: Start) -> None:
    start(NO_BAD)
    until(lambda: rules(client), "the registration")
    first = in_cluster.webhooks(client, NAME)
    assert client.send("DELETE", VALIDATE).status == 200
    until(lambda: in_cluster.webhooks(client, NAME) == first, "the same again")
    for what, change in CHANGES:
        found = client.send("GET", VALIDATE).body
        change(found)
        answer = client.send("PUT", VALIDATE, found)
        assert answer.status == 200, (what, answer.body)
        assert answer.body["webhooks"] != list(first.values()), what
        until(lambda: in_cluster.webhooks(client, NAME) == first, f"the repair of {what}")
    until(lambda: denied(client, config_map("bad", "default")), "a denial")


def test_nothing_is_removed_by_accident(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    """Broken policies, no policies, and the end of the server leave everything registered."""
    server = start(NO_BAD)
    until(lambda: rules(client), "the registration")
    first = client.send("GET", VALIDATE).body
    file = tmp_path / "policies-0" / "policies.yaml"
    good = file.read_text()
    for text in ("broken: [", "# nothing\n"):
        errors = server.metric('policyd_reloads_total{result="error"}')
        file.write_text(text)
        until(partial(_more_errors, server, errors), "the refusal")
    file.write_text(good)
    assert server.terminate() == 0
    assert client.send("GET", VALIDATE).body == first
    assert in_cluster.holder(client, own) == "", "the Lease is given up"


def test_an_empty_set_is_unregistered_only_with_allow_empty(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    server = start(NO_BAD, allow_empty="")
    until(lambda: rules(client), "the registration")
    (tmp_path / "policies-0" / "policies.yaml").unlink()
    until(lambda: server.lines("empty"), "the reload")
    assert rules(client)
    until(lambda: not in_cluster.configurations(client, NAME), "the end of the registration")


def test_a_broken_edit_of_policies_is_refused_at_the_gate(
    client: Client, own: str, start: Start
) -> None:
    """The gate covers the ConfigMaps of policyd's own namespace, and nothing else in it."""
    team = config_map("team", own)
    team["metadata"]["labels"] = {"policyd.dev/policies": "true"}
    team["data"] = {"a.yaml": json.dumps(NO_BAD)}
    client.made(team)
    start(NO_SECRET, policy_configmaps="policyd.dev/policies=true")
    both = {
        "validate-fail.policyd.dev": ["configmaps", "secrets"],
        "policies.policyd.dev": ["configmaps"],
    }
    until(lambda: rules(client) == both, "the rules of both")
    broken = {**team, "data": {"a.yaml": "spec: ["}}
    until(lambda: client.replace(broken, dryRun="All").status != 200, "the gate")
    answer = client.replace(broken)
    assert 'admission webhook "policies.policyd.dev" denied the request' in answer.message
    team["data"] = {"a.yaml": json.dumps(STAMP)}
    assert client.replace(team).status == 200
    until(lambda: "mutate-fail.policyd.dev" in rules(client), "the rules of the edit")
    assert not denied(client, secret("bad", own))


def test_another_replica_takes_over(client: Client, own: str, start: Start) -> None:
    """At once when the writer stops, and when its Lease has expired when it is killed."""
    first = start(NO_BAD)
    until(lambda: in_cluster.holder(client, own), "a holder")
    second, third = start(NO_BAD, NO_SECRET), start(NO_BAD, STAMP)
    only = {"validate-fail.policyd.dev": ["configmaps"]}
    until(lambda: rules(client) == only, "the rules of the first")
    assert in_cluster.leader(first, second, third) is first
    assert first.terminate() == 0
    writer = in_cluster.leader(second, third)
    other = third if writer is second else second
    more = "secrets" if writer is second else "configmaps"
    until(lambda: more in str(rules(client)), "the rules of the next")
    writer.kill()
    until(lambda: other.metric("policyd_leader") == 1, "the last holder")
    for each in (second, third):
        assert len(each.lines("registration")) <= 3, "no two keep changing what the other wrote"


def test_a_missing_right_is_named_and_policyd_serves(
    api: Cluster, client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    for name in ("ca.crt", "ca.key"):
        shutil.copy(api.folder / name, tmp_path / name)
    certificate(tmp_path, "weak", "/CN=weak")
    files = {end: str(tmp_path / f"weak.{end}") for end in ("crt", "key")}
    config = in_cluster.kubeconfig(api, tmp_path, **files)
    server = start(NO_BAD, config=config)
    until(lambda: server.lines("lease"), "an error")
    [line] = server.lines("lease")
    assert line["level"] == "error"
    assert line["message"] == (
        f'cannot hold the Lease {own}/policyd: a permission is missing: User "weak" cannot get resource'
        f' "leases" in API group "coordination.k8s.io" in the namespace "{own}"'
    )
    until(lambda: server.lines("watch"), "an error of the watch")
    assert 'User "weak" cannot list resource' in str(server.lines("watch"))
    assert server.get("/readyz") == (200, "ok")
    assert server.metric("policyd_leader") == 0
    until(lambda: server.metric('policyd_watch_healthy{watch="registration"}') == 0, "the metric")
    # All rights but those of writing configurations.
    everything: JSONObject = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]}
    watch = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["watch"]}
    made = role(f"reader-{own}", everything, leases, watch)
    granted = [made, bound(made, "User", "weak")]
    for each in granted:
        client.made(each)
    second = start(NO_BAD, config=config)
    until(lambda: second.lines("registration"), "an error")
    assert 'User "weak" cannot patch resource' in second.lines("registration")[0]["message"]
    assert second.metric('policyd_registrations_total{result="error"}') >= 1
    for each in granted:
        client.deleted(each)


def test_a_configuration_of_somebody_else_is_left_alone(
    client: Client, own: str, start: Start
) -> None:
    foreign: JSONObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [],
    }
    stored = client.made(foreign)
    server = start(NO_BAD)
    until(lambda: server.lines("registration"), "an error")
    assert "has no label app.kubernetes.io/name: policyd" in str(server.lines())
    assert client.get(foreign).body == stored
    client.deleted(foreign)
    until(lambda: rules(client), "the registration")


def test_a_policy_that_no_rule_reaches_is_reported(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    """Without --register, too: the rules here are those of another policy."""
    first = start(NO_BAD)
    until(lambda: rules(client), "the registration")
    assert first.terminate() == 0
    server = start(NO_BAD, NO_SECRET, register="-")
    until(lambda: server.lines("unreached"), "a warning")
    [line] = server.lines("unreached")
    assert (line["level"], line["policy"]) == ("error", "no-secret")
    assert server.metric("policyd_policies_unreached") == 1
    listed = json.loads(server.get("/policies")[1])["policies"]
    assert {each["name"]: each["reached"] for each in listed} == {
        "no-bad": "reached",
        "no-secret": "not reached",
    }
    assert listed[1]["unreached"]
    assert "policyd_leader" not in server.get("/metrics")[1]


def mounted(api: Cluster, folder: Path, *, authority: bool) -> dict[str, str]:
    """Flags for the files of a Secret, as a Pod mounts them."""
    folder.mkdir()
    for name, source in (("tls.crt", "server.crt"), ("tls.key", "server.key")):
        shutil.copy(api.folder / source, folder / name)
    if authority:
        shutil.copy(api.folder / "ca.crt", folder / "ca.crt")
    files = {"tls_cert": str(folder / "tls.crt"), "tls_key": str(folder / "tls.key")}
    return {"self_signed": "-", **files}


def test_the_authority_beside_a_mounted_certificate_is_registered(
    api: Cluster, client: Client, start: Start, tmp_path: Path
) -> None:
    start(NO_BAD, **mounted(api, tmp_path / "mounted", authority=True))
    until(lambda: rules(client), "the registration")
    until(lambda: denied(client, config_map("bad", "default")), "a denial")
    assert not denied(client, config_map("good", "default"))


def test_without_it_the_bundle_is_that_of_cainjector(
    api: Cluster, client: Client, start: Start, tmp_path: Path
) -> None:
    start(NO_BAD, **mounted(api, tmp_path / "mounted", authority=False))
    until(lambda: rules(client), "the registration")
    [hook] = in_cluster.webhooks(client, NAME).values()
    assert "caBundle" not in hook["clientConfig"]
    authority = (api.folder / "ca.crt").read_bytes()
    hook["clientConfig"]["caBundle"] = base64.b64encode(authority).decode()
    found = client.send("GET", VALIDATE).body
    found["webhooks"] = [{**hook, "failurePolicy": "Ignore"}]
    assert client.send("PUT", VALIDATE, found).status == 200
    until(lambda: in_cluster.webhooks(client, NAME) == {hook["name"]: hook}, "the repair")


def _more_errors(server: Process, than: float) -> bool:
    return server.metric('policyd_reloads_total{result="error"}') > than


def test_what_is_deleted_as_soon_as_it_is_restored_is_restored_again(
    client: Client, own: str, start: Start
) -> None:
    """The watch may show the restoration and the deletion after it together."""
    start(NO_BAD)
    until(lambda: rules(client), "the registration")
    for _ in range(3):
        until(lambda: client.send("DELETE", VALIDATE).status == 200, "the restoration")
    until(lambda: denied(client, config_map("bad", "default")), "a denial")


def test_who_changes_it_again_and_again_is_named_and_repaired_ever_less_often(
    client: Client, own: str, start: Start
) -> None:
    """As the admission enforcers of managed clusters do."""
    server = start(NO_BAD)
    until(lambda: rules(client), "the registration")
    entry = {"key": "control-plane", "operator": "DoesNotExist"}

    def conflict() -> bool:
        found = client.send("GET", VALIDATE).body
        selector = found["webhooks"][0]["namespaceSelector"]
        if entry not in selector["matchExpressions"]:
            selector["matchExpressions"].append(entry)
            client.send("PUT", f"{VALIDATE}?fieldManager=enforcer", found)
        return server.metric('policyd_watch_healthy{watch="registration"}') == 0

    until(conflict, "the problem", 60)
    warnings = [each for each in server.lines("registration") if each["level"] == "warning"]
    assert {each["manager"] for each in warnings} == {"enforcer"}
    assert warnings[0]["message"] == (
        f"the ValidatingWebhookConfiguration {NAME} was changed by enforcer"
        " (webhooks[validate-fail.policyd.dev].namespaceSelector); it was written again"
    )
    [error] = [each for each in server.lines("registration") if each["level"] == "error"]
    assert "each time it is written, so it is written less and less often" in (error["message"])
    assert server.metric('policyd_registrations_total{result="conflict"}') == len(warnings)
    assert denied(client, config_map("bad", "default"))


def test_a_timeout_that_another_manager_sets_stays(client: Client, own: str, start: Start) -> None:
    server = start(NO_BAD)
    until(lambda: rules(client), "the registration")
    found = client.send("GET", VALIDATE).body
    found["webhooks"][0]["timeoutSeconds"] = 3
    assert client.send("PUT", f"{VALIDATE}?fieldManager=enforcer", found).status == 200
    write(Path(server.log.parent) / "policies-0", [NO_BAD, NO_SECRET])
    until(lambda: "secrets" in str(rules(client)), "the rules")
    assert server.metric('policyd_registrations_total{result="conflict"}') == 0
