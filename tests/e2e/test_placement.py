"""``serve --register --in-tree`` against a real API server: who enforces a policy, and no gap between."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.placement.choosing import CHEAP_VALIDATION
from policyd.placement.placed_documents import RESOURCES
from policyd.versions import KubernetesVersion
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, add_label, policy, rule, vap
from tests.e2e import in_cluster
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, free_ports
from tests.e2e.violations import NOT_BAD, refusal, violating
from tests.e2e.webhook import write
from tests.server.process import Process, until

NAME = "placing"
GROUP = in_cluster.ADMISSION
POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
LONG = 90.0
CHECK = policy("check", CONFIG_MAPS, validations=NOT_BAD)
SLOW = policy("check", CONFIG_MAPS, validations=NOT_BAD, timeoutSeconds=1)
SECRETS = policy("slow", rule("secrets"), timeoutSeconds=1)
TREE = "ValidatingAdmissionPolicy 'check' with binding 'check' denied request: bad name"
HOOK = "policy 'check' denied request: bad name"
Start = Callable[..., Process]


@pytest.fixture
def own(client: Client, namespace: str) -> Iterator[str]:
    """The namespace of policyd, whose registration ends with the test."""

    def clean() -> None:
        in_cluster.remove_configurations(client, NAME)
        for resource in RESOURCES.values():
            for each in client.send("GET", f"{GROUP}/{resource}").body["items"]:
                client.send("DELETE", f"{GROUP}/{resource}/{each['metadata']['name']}")

    clean()
    yield namespace
    clean()


@pytest.fixture
def start(api: Cluster, own: str, tmp_path: Path) -> Iterator[Start]:
    """``start(*policies, **flags)``: a replica; only one is called at a time."""
    [port] = free_ports(1)
    with ExitStack() as stack:

        def started(*documents: JSONObject, called: bool = True, **flags: str) -> Process:
            number = len(list(tmp_path.glob("*.log")))
            sources = write(tmp_path / f"policies-{number}", documents)
            given = {
                "register": "",
                "in_tree": "auto",
                "self_signed": "",
                "bind": f"127.0.0.1:{port}" if called else "127.0.0.1:0",
                "webhook_url": f"https://127.0.0.1:{port}",
                "webhook_name": NAME,
                **flags,
            }
            given = {name: value for name, value in given.items() if value != "-"}
            file = in_cluster.kubeconfig(api, tmp_path)
            log = tmp_path / f"{number}.log"
            made = in_cluster.replica(file, sources, log, own, **given)
            return stack.enter_context(made)

        yield started


def rules(client: Client) -> list[str]:
    """The resources of the rules of all webhooks."""
    hooks = in_cluster.webhooks(client, NAME).values()
    return sorted({each for hook in hooks for rule in hook["rules"] for each in rule["resources"]})


def document(client: Client, resource: str = POLICIES) -> JSONObject | None:
    answer = client.send("GET", f"{GROUP}/{resource}/check")
    return answer.body if answer.status == 200 else None


def engine(server: Process) -> str:
    """Where the server says that the policy runs; empty while it does not know."""
    [found] = json.loads(server.get("/policies/check")[1])["policies"]
    return str(found.get("placement", {}).get("validate", {}).get("engine", ""))


def engine_is(name: str, server: Process) -> bool:
    return engine(server) == name


def later(condition: Callable[[], Any], what: str) -> None:
    """Wait for what takes as long as policyd waits for all API servers."""
    end = monotonic() + LONG
    while not condition():
        assert monotonic() < end, f"waited in vain for {what}"
        sleep(0.05)


def test_policies_move_between_the_engines_without_a_gap(
    api: Cluster, client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    server = start(CHECK, SECRETS)
    until(lambda: HOOK in refusal(client, "default"), "the webhook")
    with violating(api, "default") as answers:
        later(lambda: TREE in refusal(client, "default"), "the API server")
        later(lambda: rules(client) == ["secrets"], "the rules without it")
        assert engine(server) == "api-server"
        # A change that concerns the policy and its binding.
        changed = policy(
            "check",
            CONFIG_MAPS,
            validations=NOT_BAD,
            variables=[{"name": "x", "expression": "1"}],
            validationActions=["Deny", "Audit"],
        )
        write(tmp_path / "policies-0", [changed, SECRETS])
        later(lambda: "variables" in (document(client) or {"spec": ""})["spec"], "the change")
        later(lambda: rules(client) == ["secrets"], "the rules without it")
        # Back to the webhook, because the API server has no timeouts for policies.
        write(tmp_path / "policies-0", [SLOW, SECRETS])
        until(lambda: rules(client) == ["configmaps", "secrets"], "the rules with it")
        later(lambda: document(client) is None, "the end of the document")
        later(lambda: HOOK in refusal(client, "default"), "the webhook")
        assert engine(server) == "webhook"
        write(tmp_path / "policies-0", [CHECK, SECRETS])
        later(lambda: rules(client) == ["secrets"], "the rules without it")
    assert {TREE in each for each in answers} == {True, False}
    assert answers.count("") == 0, f"of {len(answers)} violations"


def test_every_replica_leaves_to_the_api_server_what_is_placed(
    api: Cluster, client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    """The webhook is called for another policy, and warns no second time."""
    if KubernetesVersion.parse(api.version) < CHEAP_VALIDATION:
        pytest.skip("before 1.37 no policy is placed whose resources another policy validates")
    warning = policy("check", CONFIG_MAPS, validations=NOT_BAD, validationActions=["Warn"])
    other = policy("slow", CONFIG_MAPS, timeoutSeconds=1)
    first = start(warning, other)
    second = start(warning, other, called=False)
    third = start(warning, other, called=False, register="-")

    def warnings() -> int:
        return len(client.create(config_map("bad", "default"), dryRun="All").warnings)

    later(lambda: warnings() == 2, "both engines")
    later(lambda: warnings() == 1, "one engine")
    for each in (first, second, third):
        later(partial(engine_is, "api-server", each), "every replica")
        row = 'policyd_policies_placed{engine="api-server",policy="check",webhook="validate"}'
        assert each.metric(row) == 1
    assert rules(client) == ["configmaps"]
    decided = 'policyd_policy_decisions_total{decision="warn",policy="check"}'
    before = first.metric(decided)
    assert warnings() == 1
    assert first.metric(decided) == before
    # What somebody changes is evaluated at once, and restored.
    [writer] = [each for each in (first, second) if each.metric("policyd_leader") == 1]
    found = document(client, BINDINGS)
    assert found is not None
    assert client.send("DELETE", f"{GROUP}/{BINDINGS}/check").status == 200
    until(lambda: first.metric(decided) > before or warnings() == 3, "the webhook")
    restored = until(lambda: document(client, BINDINGS), "the binding")
    assert restored["spec"] == found["spec"]
    assert writer.metric('policyd_placements_total{result="success"}') >= 3
    assert [each for each in third.lines("placement") if "was written" in each["message"]] == []
    # A new replica takes over what it finds: no rules are registered for it in between.
    later(lambda: engine(second) == "api-server", "the end of the repair")


def test_an_edit_of_a_placed_document_is_undone(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    server = start(CHECK)
    later(lambda: engine(server) == "api-server", "the placement")
    later(lambda: not in_cluster.configurations(client, NAME), "no webhook")
    for change in (
        {"matchConditions": [{"name": "never", "expression": "false"}]},
        {"failurePolicy": "Ignore"},
        {"validations": [{"expression": "true"}]},
    ):
        found = document(client)
        assert found is not None
        found["spec"] |= change
        assert client.send("PUT", f"{GROUP}/{POLICIES}/check", found).status == 200
        until(lambda: rules(client) == ["configmaps"], "the rules")
        later(lambda: (document(client) or {})["spec"] == _with_defaults(), "the repair")
        until(lambda: refusal(client, "default"), "a denial")
    assert client.send("DELETE", f"{GROUP}/{POLICIES}/check").status == 200
    until(lambda: document(client), "the policy")
    later(lambda: not in_cluster.configurations(client, NAME), "no webhook")


def _with_defaults() -> JSONObject:
    """The spec of the policy as it is stored."""
    rules = [{**each, "scope": "*"} for each in CHECK["spec"]["matchConstraints"]["resourceRules"]]
    constraints = {
        "resourceRules": rules,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    }
    return {"matchConstraints": constraints, "validations": NOT_BAD, "failurePolicy": "Fail"}


def test_a_restart_changes_nothing_and_never_takes_everything_back(
    api: Cluster, client: Client, own: str, start: Start
) -> None:
    server = start(CHECK)
    later(lambda: engine(server) == "api-server", "the placement")
    later(lambda: not in_cluster.configurations(client, NAME), "no webhook")
    assert server.terminate() == 0
    assert TREE in refusal(client, "default"), "policyd does not run, and the policy is enforced"
    stored = document(client)
    again = start(CHECK)
    later(lambda: again.metric("policyd_leader") == 1, "the writer")
    later(lambda: engine(again) == "api-server", "what is placed")
    sleep(2)
    assert not in_cluster.configurations(client, NAME)
    assert document(client) == stored
    assert again.terminate() == 0
    with violating(api, "default") as answers:
        last = start(CHECK, in_tree="never")
        later(lambda: document(client) is None, "the end of the document")
        later(lambda: HOOK in refusal(client, "default"), "the webhook")
        assert engine(last) == "webhook"
    assert answers.count("") == 0


def test_only_changes_nothing_if_a_policy_cannot_be_placed(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    server = start(CHECK, SECRETS, in_tree="only")
    until(lambda: server.lines("placement"), "an error")
    [line] = server.lines("placement")
    assert line["level"] == "error"
    assert ": Policy slow (validate): spec.timeoutSeconds: " in line["message"]
    until(lambda: rules(client) == ["configmaps", "secrets"], "the rules")
    assert document(client) is None
    until(lambda: server.metric('policyd_watch_healthy{watch="in-tree"}') == 0, "the metric")
    write(tmp_path / "policies-0", [CHECK])
    later(lambda: engine(server) == "api-server", "the placement")


def test_what_the_api_server_refuses_stays_at_the_webhook(
    client: Client, own: str, start: Start, tmp_path: Path
) -> None:
    """Somebody else's policy of the name, and the right to write that is missing."""
    foreign = vap("check", CONFIG_MAPS)
    client.made(foreign)
    server = start(CHECK)
    until(lambda: rules(client) == ["configmaps"], "the rules")
    until(lambda: "placement" in server.get("/policies")[1], "the placement")
    [listed] = json.loads(server.get("/policies")[1])["policies"]
    assert listed["placement"]["validate"]["engine"] == "webhook"
    assert "that this policyd did not place" in listed["placement"]["validate"]["why"]
    found = document(client)
    assert found is not None
    assert found["spec"]["validations"] == foreign["spec"]["validations"]
    client.deleted(foreign)
    later(lambda: engine(server) == "api-server", "the placement")


def test_a_mutation_runs_once_when_the_api_server_does_it(
    client: Client, own: str, start: Start
) -> None:
    value = "string(int(object.metadata.labels.n) + 1)"
    server = start(policy("check", CONFIG_MAPS, mutations=[add_label(value, "n")]))

    def counted() -> str:
        thing = config_map("counted", "default")
        thing["metadata"]["labels"] = {"n": "0"}
        return str(client.create(thing, dryRun="All").body["metadata"]["labels"]["n"])

    until(lambda: counted() == "1", "the webhook")
    later(lambda: document(client, "mutatingadmissionpolicies"), "the document")
    later(lambda: not in_cluster.configurations(client, NAME), "no webhook")
    assert counted() == "1"
    assert 'webhook="mutate"' in str(
        [each for each in server.get("/metrics")[1].splitlines() if "policies_placed{" in each]
    )
