"""``policyd webhooks`` writes the configurations of a real API server, which then calls policyd."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import config_map, pod
from tests.builders.policies import CONFIG_MAPS, PODS, demand, labelling, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.webhook import counted, serving, write
from tests.e2e.webhook_commands.stored_configurations import (
    API,
    MUTATING,
    VALIDATING,
    stored,
    within,
)
from tests.server.process import Process, until
from tests.shared import ROOT

NO_NODE_PORTS = [demand("object.spec.?type.orValue('') != 'NodePort'", "no node ports")]
Run = Callable[..., Result]


def service(namespace: str, kind: str) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"type": kind, "ports": [{"port": 80}]},
    }


@pytest.fixture
def run(admin: Path, tmp_path: Path, name: str) -> Run:
    """Run ``policyd webhooks COMMAND`` with the policies in a folder."""

    def call(command: str, *flags: str, sent: str = "") -> Result:
        given = ["webhooks", command, *flags, "--kubeconfig", str(admin)]
        if command != "delete":
            given += ["-p", str(tmp_path / "policies"), "--name", name]
        return CliRunner().invoke(policyd, given, input=sent, catch_exceptions=False)

    return call


def address(server: Process, api: Cluster) -> list[str]:
    return ["--url", f"https://127.0.0.1:{server.port}", "--ca-file", str(api.folder / "ca.crt")]


def test_a_policy_for_services_is_called_once_its_rules_are_applied(
    api: Cluster, client: Client, run: Run, name: str, tmp_path: Path
) -> None:
    pods = within(name, PODS)
    services = within(name, rule("services"), name="q", validations=NO_NODE_PORTS)
    write(tmp_path / "policies", [pods])
    with serving(api, [tmp_path / "policies"], tmp_path / "policyd.log") as server:
        given = address(server, api)
        applied = run("apply", *given)
        assert applied.exit_code == 0, applied.output
        assert applied.output == (
            f"validatingwebhookconfiguration.admissionregistration.k8s.io/{name} created\n"
        )
        # Another policy is loaded; the rules are those of the former ones.
        write(tmp_path / "policies", [pods, services])
        until(lambda: '"q"' in server.get("/policies")[1], "the new policy being loaded")
        assert client.create(service(name, "NodePort"), dryRun="All").status == 201
        status = run("status", *given, "--format", "json")
        assert status.exit_code == 1
        report = json.loads(status.stdout)
        assert [(each["policy"], each["state"]) for each in report["policies"]] == [
            ("p", "reached"),
            ("q", "not reached"),
        ]
        assert report["policies"][1]["gaps"] == [
            "no validating webhook has a rule for CREATE, UPDATE of services"
        ]
        assert report["faults"] == ["validate-fail.policyd.dev has another value of rules"]

        different = run("diff", *given)
        assert different.exit_code == 1, different.output
        assert [line for line in different.stdout.splitlines() if line[:1] in ("+", "-")][2:] == [
            "+    - services"
        ]
        assert run("apply", *given).output.endswith("configured\n")
        assert run("diff", *given).exit_code == 0
        until(
            lambda: client.create(service(name, "NodePort"), dryRun="All").status != 201,
            "the API server calling policyd",
        )
        answer = client.create(service(name, "NodePort"), dryRun="All")
        assert "no node ports" in str(answer.body)
        assert client.create(service(name, "ClusterIP"), dryRun="All").status == 201
        whole = run("status", *given)
        assert (whole.exit_code, whole.stdout.splitlines()[-1]) == (0, "2 policies: all reached")


def test_the_api_server_evaluates_conditions_that_are_passed_up(
    api: Cluster, client: Client, run: Run, name: str, tmp_path: Path
) -> None:
    changed = "oldObject == null || object.?spec != oldObject.?spec"
    conditions = [{"name": "changed", "expression": changed}]
    pods = within(name, PODS, matchConditions=conditions, podControllers=True)
    maps = within(name, rule("configmaps", resourceNames=["a"]), name="q")
    write(tmp_path / "policies", [pods, maps])
    with serving(api, [tmp_path / "policies"], tmp_path / "policyd.log") as server:
        assert run("apply", *address(server, api)).exit_code == 0
        status = run("status", *address(server, api))
        assert status.exit_code == 0, status.stdout

        def calls() -> float:
            return counted(server, 'webhook="validate"')

        probe = pod(namespace=name)
        until(lambda: client.create(probe, dryRun="All").status == 201 and calls() > 0, "calls")
        made = client.made(probe)
        before = calls()
        made["metadata"]["labels"] = {"a": "b"}
        made = client.replace(made).body
        assert calls() == before
        made["spec"]["containers"][0]["image"] = "app:2"
        client.replace(made)
        assert calls() == before + 1
        client.made(config_map("b", name))
        assert calls() == before + 1
        client.made(config_map("a", name))
        assert calls() == before + 2


def test_the_library_is_accepted(run: Run, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "policies").symlink_to(ROOT / "policies")
    applied = run("apply", "--dry-run", *flags)
    assert applied.exit_code == 0, applied.output
    assert applied.output.count("created (dry run)") == 2


def test_apply_changes_only_what_differs(
    api: Cluster, run: Run, name: str, tmp_path: Path, flags: list[str]
) -> None:
    write(tmp_path / "policies", [within(name, mutations=[labelling("a", "'b'")])])
    dry = run("apply", "--dry-run", *flags)
    assert dry.output.endswith(f"{name} created (dry run)\n")
    assert api.call("GET", f"{API}/{MUTATING}/{name}")[0] == 404
    assert run("apply", *flags).output.endswith(f"{name} created\n")
    version = stored(api, MUTATING, name)["metadata"]["resourceVersion"]
    assert run("apply", *flags).output.endswith(f"{name} unchanged\n")
    assert stored(api, MUTATING, name)["metadata"]["resourceVersion"] == version

    # Validation takes the place of mutation.
    write(tmp_path / "policies", [within(name)])
    different = run("diff", *flags)
    assert different.exit_code == 1
    assert f"+++ rendered/validatingwebhookconfiguration.admissionregistration.k8s.io/{name}" in (
        different.stdout
    )
    assert sorted(run("apply", *flags).output.splitlines()) == [
        f"mutatingwebhookconfiguration.admissionregistration.k8s.io/{name} deleted",
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{name} created",
    ]
    assert api.call("GET", f"{API}/{MUTATING}/{name}")[0] == 404


def test_fields_of_another_manager_are_conflicts(
    api: Cluster, run: Run, name: str, tmp_path: Path, flags: list[str]
) -> None:
    write(tmp_path / "policies", [within(name)])
    assert run("apply", *flags).exit_code == 0
    edit = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{"name": "validate-fail.policyd.dev", "timeoutSeconds": 3}],
    }
    status, body, _ = api.request(
        "PATCH",
        f"{API}/{VALIDATING}/{name}?fieldManager=kubectl&force=true",
        edit,
        {"Content-Type": "application/apply-patch+yaml"},
    )
    assert status == 200, body
    assert run("status", *flags).exit_code == 1
    refused = CliRunner().invoke(
        policyd,
        ["webhooks", "apply", "-p", str(tmp_path / "policies"), "--name", name, *flags,
         "--kubeconfig", str(tmp_path / "kubeconfig")],
    )  # fmt: skip
    assert refused.exit_code != 0
    message = str(refused.exception)
    assert 'conflict with "kubectl"' in message
    assert "timeoutSeconds" in message
    assert "--force-conflicts" in message
    assert stored(api, VALIDATING, name)["webhooks"][0]["timeoutSeconds"] == 3
    assert run("apply", "--force-conflicts", *flags).output.endswith("configured\n")
    assert stored(api, VALIDATING, name)["webhooks"][0]["timeoutSeconds"] == 10


def test_a_ca_bundle_of_another_manager_stays(
    api: Cluster, run: Run, name: str, tmp_path: Path
) -> None:
    write(tmp_path / "policies", [within(name)])
    given = ["--service", "nowhere/policyd:443"]
    assert run("apply", *given).exit_code == 0
    status = run("status", *given)
    assert [line for line in status.stdout.splitlines() if line.startswith("fault")] == [
        "fault: Service nowhere/policyd does not exist",
        "fault: validate-fail.policyd.dev has no caBundle",
    ]
    found = stored(api, VALIDATING, name)
    bundle = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
    found["webhooks"][0]["clientConfig"]["caBundle"] = bundle
    assert api.call("PUT", f"{API}/{VALIDATING}/{name}", found)[0] == 200
    assert run("diff", *given).exit_code == 0
    write(tmp_path / "policies", [within(name, CONFIG_MAPS)])
    assert run("apply", *given).output.endswith("configured\n")
    assert stored(api, VALIDATING, name)["webhooks"][0]["clientConfig"]["caBundle"] == bundle


def test_a_configuration_of_a_release_keeps_its_labels(
    api: Cluster, run: Run, name: str, tmp_path: Path, flags: list[str]
) -> None:
    write(tmp_path / "policies", [within(name)])
    helm = {"app.kubernetes.io/name": "policyd", "app.kubernetes.io/managed-by": "Helm"}
    for kind, resource in (
        ("ValidatingWebhookConfiguration", VALIDATING),
        ("MutatingWebhookConfiguration", MUTATING),
    ):
        empty = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": helm},
        }
        assert api.call("POST", f"{API}/{resource}", empty)[0] == 201
    assert run("apply", *flags).output == (
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{name} configured\n"
    )
    found = stored(api, VALIDATING, name)
    assert found["metadata"]["labels"] == helm
    assert len(found["webhooks"]) == 1
    # The empty one is left alone, and is no difference.
    assert run("diff", *flags).exit_code == 0
    assert run("status", *flags).exit_code == 0
    assert "webhooks" not in stored(api, MUTATING, name)


def test_service_and_endpoints_are_checked(
    api: Cluster, client: Client, run: Run, name: str, tmp_path: Path
) -> None:
    write(tmp_path / "policies", [within(name)])
    flags = ["--service", f"{name}/web:80", "--ca-file", str(api.folder / "ca.crt"), "-n", "x"]
    assert run("apply", *flags).exit_code == 0
    client.made(service(name, "ClusterIP"))
    assert "Service " + name + "/web has no ready endpoint" in run("status", *flags).stdout
    client.made(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "web",
                "namespace": name,
                "labels": {"kubernetes.io/service-name": "web"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
            "ports": [{"port": 80}],
        }
    )
    healthy = run("status", *flags)
    assert healthy.exit_code == 0, healthy.output


def test_delete_takes_only_what_is_policyds(
    api: Cluster, run: Run, name: str, tmp_path: Path, flags: list[str]
) -> None:
    write(tmp_path / "policies", [within(name)])
    assert run("apply", *flags).exit_code == 0
    kept = run("delete", name, sent="n\n")
    assert kept.exit_code == 1
    stored(api, VALIDATING, name)
    gone = run("delete", name, sent="y\n")
    assert (gone.exit_code, gone.stdout) == (
        0,
        f"validatingwebhookconfiguration.admissionregistration.k8s.io/{name} deleted\n",
    )
    again = run("delete", name, "--yes")
    assert (again.exit_code, again.stderr) == (0, "there is nothing to delete\n")

    foreign = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
    }
    assert api.call("POST", f"{API}/{VALIDATING}", foreign)[0] == 201
    given = ["webhooks", "delete", name, "--yes", "--kubeconfig", str(tmp_path / "kubeconfig")]
    refused = CliRunner().invoke(policyd, given)
    assert "does not have the labels of policyd" in str(refused.exception)
    stored(api, VALIDATING, name)
    # It is not policyd's: another configuration of that name is not applied over it unseen.
    assert run("apply", *flags).output.endswith("configured\n")
    every = run("delete", "--all", "--yes")
    assert name in every.stdout
    assert api.call("GET", f"{API}/{VALIDATING}/{name}")[0] == 404
