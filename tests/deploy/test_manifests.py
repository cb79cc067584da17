"""The manifests of deploy/ fit together, fit the command line, and keep policyd's own rules."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from policyd import config, option_values
from policyd.option_values import Address
from tests.shared import ROOT

BASE = ROOT / "deploy" / "base"
ADMISSION = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def manifests() -> dict[str, dict[str, Any]]:
    """Every object of the base by kind; each kind occurs once."""
    listed = documents(BASE / "kustomization.yaml")[0]["resources"]
    found = [each for name in listed for each in documents(BASE / name)]
    assert len({each["kind"] for each in found}) == len(found)
    return {each["kind"]: each for each in found}


@pytest.fixture(name="container")
def _container() -> dict[str, Any]:
    (container,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(container)


def flags(container: dict[str, Any]) -> dict[str, str]:
    return dict(each.removeprefix("--").split("=", 1) for each in container["args"][1:])


def test_every_file_of_a_kustomization_is_listed_and_exists() -> None:
    for file in (ROOT / "deploy").rglob("kustomization.yaml"):
        (kustomization,) = documents(file)
        named = [*kustomization.get("resources", ()), *kustomization.get("components", ())]
        listed = {(file.parent / name).resolve() for name in named}
        beside = {each for each in file.parent.glob("*.yaml") if each != file}
        assert beside <= listed
        assert all(each.exists() for each in listed)


def test_flags_are_those_of_the_command_line(container: dict[str, Any]) -> None:
    known = {each.name.replace("_", "-") for each in dataclasses.fields(config.Settings)}
    assert container["args"][0] == "serve"
    assert flags(container).keys() <= known


def test_memory_limit_is_enough_for_the_bounds(container: dict[str, Any]) -> None:
    """As docs/operate/overload.md says: what is in flight, connections, and the server itself."""
    settings = config.resolve(flags(container), {})
    needed = settings.max_in_flight_bytes + settings.max_connections * 0.3 * 2**20 + 100 * 2**20
    assert needed <= option_values.size(container["resources"]["limits"]["memory"])


def test_flags_are_accepted(container: dict[str, Any]) -> None:
    given = {name.replace("-", "_"): value for name, value in flags(container).items()}
    given["policies"] = (given["policies"],)  # type: ignore[assignment]
    settings = config.resolve(given, environment={})
    assert settings.bind == Address("0.0.0.0", 8443)
    assert settings.admin_bind == Address("0.0.0.0", 8080)


def test_the_pod_outlives_the_grace_of_the_server(container: dict[str, Any]) -> None:
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > float(flags(container)["grace"])


def test_ports_agree(container: dict[str, Any]) -> None:
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    given = flags(container)
    assert ports == {
        "webhook": int(given["bind"].rpartition(":")[2]),
        "admin": int(given["admin-bind"].rpartition(":")[2]),
    }
    service = {each["port"]: each["targetPort"] for each in manifests()["Service"]["spec"]["ports"]}
    assert service[443] == "webhook"
    assert service.keys() == {443, 8080}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["port"] == "admin"


def test_no_pod_is_restarted_because_it_is_not_ready_yet(container: dict[str, Any]) -> None:
    """The first lists of many objects may take minutes, and a restart would begin again."""
    for probe in ("livenessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


@pytest.mark.parametrize(
    ("kind", "path"), list(zip(ADMISSION, ("/validate", "/mutate"), strict=True))
)
def test_webhooks_reach_the_service(kind: str, path: str) -> None:
    service = manifests()["Service"]["metadata"]
    webhook = manifests()[kind]["webhooks"][0]
    assert webhook["clientConfig"]["service"] == {
        "name": service["name"],
        "namespace": service["namespace"],
        "path": path,
        "port": 443,
    }
    assert webhook["sideEffects"] == "None"
    assert webhook["admissionReviewVersions"] == ["v1"]
    assert webhook["timeoutSeconds"] < 10
    (excluded,) = webhook["namespaceSelector"]["matchExpressions"]
    assert manifests()["Namespace"]["metadata"]["name"] in excluded["values"]


@pytest.mark.parametrize("kind", ADMISSION)
def test_webhooks_are_called_for_all_that_the_policies_match(kind: str) -> None:
    webhook = manifests()[kind]["webhooks"][0]
    called = set().union(*(triples(rule) for rule in webhook["rules"]))
    for text in manifests()["ConfigMap"]["data"].values():
        spec = yaml.safe_load(text)["spec"]
        for rule in spec["matchConstraints"]["resourceRules"]:
            assert triples(rule) <= called


def triples(rule: dict[str, Any]) -> set[tuple[str, str, str]]:
    """The (group, resource, operation) that a rule names."""
    return set(itertools.product(rule["apiGroups"], rule["resources"], rule["operations"]))


def test_labels_and_volumes_agree(container: dict[str, Any]) -> None:
    found = manifests()
    template = found["Deployment"]["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    mounted = {each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    assert mounted == volumes.keys()
    assert volumes["policies-0"]["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]


def test_no_variables_of_services_reach_the_settings() -> None:
    assert manifests()["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_the_base_has_no_rights_and_the_component_those_to_ask() -> None:
    found = manifests()
    assert found["ServiceAccount"]["automountServiceAccountToken"] is False
    assert not {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} & found.keys()
    component = ROOT / "deploy" / "components" / "cluster"
    role, binding = documents(component / "access.yaml")
    assert role["rules"] == [
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    account = found["ServiceAccount"]["metadata"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    ]


def test_the_component_patches_what_the_deployment_has() -> None:
    (kustomization,) = documents(ROOT / "deploy/components/cluster/kustomization.yaml")
    entry, _ = kustomization["patches"]
    deployment = manifests()["Deployment"]
    operations = yaml.safe_load(entry["patch"])
    patched = jsonpatch.apply_patch(deployment, operations)["spec"]["template"]["spec"]
    assert patched["automountServiceAccountToken"] is True
    (container,) = patched["containers"]
    assert container["args"][-1] == "--cluster"
    known = {each.name for each in dataclasses.fields(config.Settings)}
    assert "cluster" in known


def test_the_network_policy_is_about_the_pods_and_their_ports(container: dict[str, Any]) -> None:
    found = manifests()
    spec = found["NetworkPolicy"]["spec"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"] == {"matchLabels": labels}
    assert found["NetworkPolicy"]["metadata"]["namespace"] == "policyd"
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    ports = {each["name"] for each in container["ports"]}
    allowed = {rule["ports"][0]["port"]: rule.get("from") for rule in spec["ingress"]}
    assert allowed.keys() == ports
    assert allowed["webhook"] is None  # nothing selects an API server
    assert allowed["admin"]
    assert "egress" not in spec  # the API server drops an empty list: a difference that stays


def test_only_with_the_component_policyd_may_connect_to_the_api_server() -> None:
    (kustomization,) = documents(ROOT / "deploy/components/cluster/kustomization.yaml")
    _, entry = kustomization["patches"]
    assert entry["target"] == {"kind": "NetworkPolicy", "name": "policyd"}
    operations = yaml.safe_load(entry["patch"])
    patched = jsonpatch.apply_patch(manifests()["NetworkPolicy"], operations)
    (rule,) = patched["spec"]["egress"]
    assert [each["port"] for each in rule["ports"]] == [443, 6443]
    assert rule.keys() == {"ports"}
