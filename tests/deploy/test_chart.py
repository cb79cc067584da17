"""The chart: what its values make, which values it refuses, and what it never makes."""

import json
import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from policyd.json_types import JSONObject
from tests.deploy.rendering import (
    CHART,
    PROFILES,
    chart,
    container,
    flags,
    helm,
    named,
    refused,
    template,
)
from tools.image import settings

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
ADMISSION = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
RIGHTS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def kinds(objects: list[JSONObject]) -> set[str]:
    return {each["kind"] for each in objects}


def rules(objects: list[JSONObject], *kinds: str) -> list[dict[str, Any]]:
    return [rule for each in objects if each["kind"] in kinds for rule in each["rules"]]


@pytest.mark.parametrize("values", PROFILES.values(), ids=PROFILES)
def test_lint_has_no_complaint(values: tuple[str, ...]) -> None:
    sets = [part for each in values for part in ("--set", each)]
    done = helm("lint", "--strict", str(CHART), *sets)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_notes_name_what_happens_to_violations() -> None:
    dry = ("install", "policyd", str(CHART), "-n", "policyd", "--dry-run=client")
    notes = helm(*dry, "--set", "policies.podSecurityActions={Warn,Audit}").stdout
    assert "(baseline) have the actions Warn, Audit" in notes
    assert "have the actions" not in helm(*dry, "--set", "policies.podSecurity=").stdout


def test_the_default_values_fit_the_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(VALUES)


def test_the_schema_knows_the_values_and_no_other() -> None:
    def compare(values: dict[str, Any], schema: dict[str, Any], path: str) -> None:
        assert schema["additionalProperties"] is False, path
        listed = schema["properties"]
        for name, value in values.items():
            inner = listed[name]
            if isinstance(value, dict) and value and "properties" in inner:
                compare(value, inner, f"{path}.{name}")

    compare(VALUES, SCHEMA, "")
    assert SCHEMA["properties"].keys() - VALUES.keys() == {"global"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("replica=3", "additional properties 'replica' not allowed"),
        ("image.tags=1", "additional properties 'tags' not allowed"),
        ("static.enabled=yes", "got string, want boolean"),
        ("policies.podSecurity=strict", "value must be one of '', 'baseline', 'restricted'"),
        ("policies.podSecurityActions={Deny,Warn}", "'not' failed"),
        ("policies.inline.team=x", "additional properties 'team' not allowed"),
        ("policies.selector=team", "does not match pattern"),
        ("certManager.duration=90d", "does not match pattern"),
        ("static.timeoutSeconds=31", "maximum: got 31, want 30"),
        ("static.caBundle=LS0t", "does not match pattern"),
        ("extraArgs={serve}", "does not match pattern"),
        ("workers=0", "minimum: got 0, want 1"),
        ("resources.request.cpu=1", "additional properties 'request' not allowed"),
        ("fullnameOverride=Policyd", "does not match pattern"),
        ("reads.kinds[0].resource=pods", "missing property 'apiGroup'"),
        ("reads.kinds[0].apiGroup=*,reads.kinds[0].resource=pods", "does not match pattern"),
        ("reads.kinds[0].apiGroup=,reads.kinds[0].resource=pods/log", "does not match pattern"),
        ("reads.kinds[0].apiGroup=,reads.kinds[0].resource=secrets", "'not' failed"),
        ("reads.kinds[0].apiGroup=authorization.k8s.io,reads.kinds[0].resource=x", "'not' failed"),
    ],
)
def test_a_wrong_value_is_refused(value: str, complaint: str) -> None:
    assert complaint in refused(value)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("policies.podSecurity=", "static.enabled needs policies: set policies.podSecurity"),
        ("inTree.mode=auto", "inTree.mode needs the permission to write policies"),
        ("events=true", "events needs the permission to write Events"),
    ],
)
def test_static_refuses_what_it_could_not_do(value: str, complaint: str) -> None:
    assert complaint in refused("static.enabled=true", value)


@pytest.mark.parametrize(("workers", "flag"), [("1", None), ("4", "4")])
def test_only_several_workers_need_a_supervisor(workers: str, flag: str | None) -> None:
    assert flags(chart(f"workers={workers}")).get("workers") == flag


def test_with_a_connection_events_are_written() -> None:
    made = chart("static.enabled=true", "static.clusterLookups=true", "events=true")
    assert {"cluster", "events"} <= flags(made).keys()
    right = {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}
    assert right in rules(made, "ClusterRole")
    assert right not in rules(chart(), "Role", "ClusterRole")


def test_kinds_of_reads_may_be_listed_and_watched() -> None:
    kinds = ("", "pods"), ("networking.k8s.io", "ingresses")
    given = ",".join(
        f"reads.kinds[{at}].apiGroup={group},reads.kinds[{at}].resource={resource}"
        for at, (group, resource) in enumerate(kinds)
    )
    granted = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
        for group, resource in kinds
    ]
    made = rules(chart(given), "ClusterRole")
    assert [each for each in made if each not in rules(chart(), "ClusterRole")] == granted
    assert not rules(chart("static.enabled=true", given), "ClusterRole", "Role")


def test_versions_are_those_of_the_project() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert described["version"] == described["appVersion"] == settings.version()
    assert container(chart())["image"] == f"policyd:{settings.version()}"


def test_the_image_by_digest() -> None:
    digest = f"sha256:{'0' * 64}"
    made = chart("image.repository=registry.example/policyd", f"image.digest={digest}")
    assert container(made)["image"] == f"registry.example/policyd@{digest}"


def test_the_default_needs_nothing_else() -> None:
    made = chart()
    given = flags(made)
    assert {"cluster", "register", "manage-certificates", "policy-configmaps"} <= given.keys()
    assert not {"tls-cert", "policies"} & given.keys()
    assert kinds(made) == {
        *ADMISSION,
        *RIGHTS,
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }


@pytest.mark.parametrize("kind", ADMISSION)
@pytest.mark.parametrize("profile", ["default", "cert-manager"])
def test_the_configurations_that_policyd_fills_are_made_empty(profile: str, kind: str) -> None:
    """helm uninstall deletes what is in the chart; policyd could not make it again."""
    made = chart(*PROFILES[profile])
    configuration = named(made, kind)
    assert "webhooks" not in configuration
    assert flags(made)["webhook-name"] == configuration["metadata"]["name"]


def test_no_right_to_make_or_delete_webhook_configurations() -> None:
    for each in rules(chart(), "ClusterRole"):
        if "mutatingwebhookconfigurations" not in each["resources"]:
            continue
        writes = set(each["verbs"]) - {"get", "list", "watch"}
        assert writes <= {"update", "patch"}
        assert not writes or each["resourceNames"] == ["policyd"]


def test_rights_to_write_are_limited_to_names() -> None:
    """Except for the right to create, which cannot be, and that is only about the own namespace."""
    made = chart()
    for each in rules(made, "Role", "ClusterRole"):
        assert "*" not in (*each["verbs"], *each["resources"], *each["apiGroups"])
        if {"update", "patch", "delete"} & set(each["verbs"]):
            assert each["resourceNames"]
            assert "create" not in each["verbs"]
    created = {
        name
        for each in rules(made, "ClusterRole")
        if "create" in each["verbs"]
        for name in each["resources"]
    }
    assert created == {"subjectaccessreviews"}


def test_secrets_are_read_by_name_only() -> None:
    (reading,) = (
        each
        for each in rules(chart(), "Role", "ClusterRole")
        if "secrets" in each["resources"] and "get" in each["verbs"]
    )
    assert reading["resourceNames"] == [flags(chart())["certificate-secret"]]


def test_static_has_no_rights_and_no_token() -> None:
    made = chart(*PROFILES["static"])
    assert not kinds(made) & set(RIGHTS)
    pod = named(made, "Deployment")["spec"]["template"]["spec"]
    for each in (pod, named(made, "ServiceAccount")):
        assert each["automountServiceAccountToken"] is False
    # An empty list is dropped: a lasting difference.
    assert "egress" not in named(made, "NetworkPolicy")["spec"]
    without = {"cluster", "register", "manage-certificates", "policy-configmaps", "last-good"}
    assert not without & flags(made).keys()


def test_static_webhooks_trust_the_given_authority() -> None:
    made = chart("static.enabled=true", "static.caBundle=-----BEGIN CERTIFICATE-----")
    for kind in ADMISSION:
        for webhook in named(made, kind)["webhooks"]:
            assert webhook["clientConfig"]["caBundle"] == "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"


def test_without_rules_for_mutations_there_is_no_mutating_webhook() -> None:
    done = template("static.enabled=true", "static.mutatingRules=null")
    assert "MutatingWebhookConfiguration" not in done


def test_cert_manager_signs_with_an_authority_that_stays() -> None:
    """A self-signed certificate is its own authority: each renewal would be a new one."""
    made = chart(*PROFILES["cert-manager"])
    leaf, authority = (
        named(made, "Certificate", name)["spec"] for name in ("policyd", "policyd-ca")
    )
    assert named(made, "Issuer", leaf["issuerRef"]["name"])["spec"] == {
        "ca": {"secretName": authority["secretName"]}
    }
    assert authority["isCA"] is True
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert leaf["secretName"] == "policyd-tls"
    for kind in ADMISSION:
        assert named(made, kind)["metadata"]["annotations"] == {
            "cert-manager.io/inject-ca-from": "policyd/policyd"
        }
    assert not [each for each in rules(made, "Role") if "secrets" in each["resources"]]


def test_an_issuer_of_the_user_is_used_instead() -> None:
    made = chart(
        "certManager.enabled=true",
        "certManager.issuerRef.kind=ClusterIssuer",
        "certManager.issuerRef.name=internal",
    )
    assert named(made, "Certificate")["spec"]["issuerRef"] == {
        "kind": "ClusterIssuer",
        "name": "internal",
    }
    assert "Issuer" not in kinds(made)


def test_policies_have_the_label_by_which_they_are_read() -> None:
    made = chart("policies.selector=a/b=c\\,d=e")
    labels = named(made, "ConfigMap", "policyd-policies")["metadata"]["labels"]
    assert (labels["a/b"], labels["d"]) == ("c", "e")
    assert flags(made)["policy-configmaps"] == "a/b=c,d=e"


def test_rights_for_exceptions_are_in_the_namespaces_that_are_named() -> None:
    made = chart("exceptions.namespaces={team-a,shop}")
    roles = [each for each in made if each["metadata"]["name"] == "policyd-exceptions"]
    assert {(each["kind"], each["metadata"]["namespace"]) for each in roles} == {
        (kind, namespace) for namespace in ("team-a", "shop") for kind in ("Role", "RoleBinding")
    }
    everywhere = named(made, "ClusterRole")["rules"]
    assert not any("configmaps" in each["resources"] for each in everywhere)
    arguments = named(made, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-3:] == [
        "--exception-configmaps=policyd.dev/exceptions=true",
        "--exception-namespaces=team-a",
        "--exception-namespaces=shop",
    ]


@pytest.mark.parametrize("level", ["baseline", "restricted", ""])
def test_policies_of_the_chart_are_of_the_level(level: str) -> None:
    made = chart(f"policies.podSecurity={level}")
    if not level:
        assert "ConfigMap" not in kinds(made)
        return
    kept = yaml.safe_load((CHART / f"files/policies/{level}.yaml").read_text())["data"]
    assert named(made, "ConfigMap", "policyd-policies")["data"] == kept


def test_actions_of_the_policies_can_be_softened() -> None:
    made = chart("policies.podSecurityActions={Warn,Audit}")
    data = named(made, "ConfigMap", "policyd-policies")["data"]
    assert data
    for text in data.values():
        assert yaml.safe_load(text)["spec"]["validationActions"] == ["Warn", "Audit"]


def test_policies_as_values() -> None:
    text = "a: 1\nb:\n  c: '{{ x }}'\n"
    made = chart("policies.podSecurity=", f"policies.inline.team\\.yaml={text}")
    assert named(made, "ConfigMap", "policyd-policies")["data"] == {"team.yaml": text}


def test_existing_config_maps_are_mounted() -> None:
    made = chart("policies.configMaps={one,two.three}")
    pod = named(made, "Deployment")["spec"]["template"]["spec"]
    mounted = {each["name"]: each["mountPath"] for each in container(made)["volumeMounts"]}
    volumes = {each["name"]: each.get("configMap", {}).get("name") for each in pod["volumes"]}
    assert mounted.keys() == volumes.keys()
    # A dot is no part of a volume's name.
    assert all(re.fullmatch("[-a-z0-9]+", each) for each in volumes)
    assert {volumes[name]: path for name, path in mounted.items() if volumes[name]} == {
        "one": "/policies/one",
        "two.three": "/policies/two.three",
    }
    assert flags(made)["policies"] == "/policies"


def test_names_and_namespace_of_another_release() -> None:
    made = chart(release="gate", namespace="security")
    assert {each["metadata"]["name"] for each in made} == {"gate-policyd", "gate-policyd-policies"}
    assert {each["metadata"].get("namespace", "security") for each in made} == {"security"}
    given = flags(made)
    assert given["webhook-service"] == "gate-policyd"
    assert given["last-good"] == "configmap/gate-policyd-last-good"
    for each in made:
        for subject in each.get("subjects", ()):
            assert subject == {
                "kind": "ServiceAccount",
                "name": "gate-policyd",
                "namespace": "security",
            }


def test_the_pod_outlives_the_grace_of_the_server() -> None:
    made = chart("shutdown.gracePeriodSeconds=90")
    pod = named(made, "Deployment")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 90
    assert flags(made)["grace"] == "85"


def test_an_autoscaler_owns_the_number_of_pods() -> None:
    made = chart("autoscaling.enabled=true")
    assert "replicas" not in named(made, "Deployment")["spec"]
    target = named(made, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", "policyd")


def test_a_priority_class_of_its_own_is_used() -> None:
    made = chart("priorityClass.create=true")
    name = named(made, "PriorityClass")["metadata"]["name"]
    assert named(made, "Deployment")["spec"]["template"]["spec"]["priorityClassName"] == name


def test_metrics_are_closed_if_nobody_may_read_them() -> None:
    (rule,) = named(chart("networkPolicy.metricsFrom=null"), "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": "webhook", "protocol": "TCP"}]


def test_addresses_of_the_api_server_limit_both_ways() -> None:
    spec = named(chart("networkPolicy.apiServerCIDRs={10.0.0.1/32}"), "NetworkPolicy")["spec"]
    peer = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert [each for each in spec["ingress"][0]["from"] if "ipBlock" in each] == peer
    assert spec["egress"][0]["to"] == peer


def test_nothing_but_the_test_is_a_hook() -> None:
    """A hook would have to run in a cluster where policyd may be broken."""
    for values in PROFILES.values():
        assert "helm.sh/hook" not in template(*values)


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [("http://collector.monitoring:4318", 4318), ("https://c/tenant", 443), ("http://[::1]:9", 9), ("http://c", 80)],
)  # fmt: skip
def test_traces_may_leave_the_pod(endpoint: str, port: int) -> None:
    made = chart(f"tracing.endpoint={endpoint}", "static.enabled=true")
    arguments = container(made)["args"]
    assert {f"--otlp-endpoint={endpoint}", "--trace-sample=parent"} <= set(arguments)
    collector, names = named(made, "NetworkPolicy")["spec"]["egress"]
    assert collector == {"ports": [{"port": port, "protocol": "TCP"}]}
    ports = [(each["port"], each["protocol"]) for each in names["ports"]]
    assert ports == [(53, "UDP"), (53, "TCP")]
