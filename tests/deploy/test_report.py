"""The CronJob of ``policyd report``: when it runs, as whom, with which rights, and with which policies."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.kinds.match_targets import MatchTargets
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source import loader
from tests.deploy.rendering import CHART, chart, container, named, refused, with_component
from tests.deploy.report_rights import (
    CONFIG_MAPS,
    NAMESPACES,
    WORKLOADS,
    WRITTEN,
    Rights,
    product,
)

NAME = "policyd-report"
ON = "report.enabled=true"


def rights_by_namespace(objects: list[JSONObject]) -> dict[str, Rights]:
    """Every (group, resource, verb) that the service account of the run has, by the namespace in
    which it has it; "": everywhere.
    """
    found: dict[str, Rights] = {}
    for binding in (each for each in objects if each["kind"].endswith("RoleBinding")):
        if any(subject["name"] == NAME for subject in binding["subjects"]):
            namespace = binding["metadata"].get("namespace", "")
            (role,) = (
                each
                for each in objects
                if each["kind"] == binding["roleRef"]["kind"]
                and each["metadata"]["name"] == binding["roleRef"]["name"]
                and each["metadata"].get("namespace", "") == namespace
            )
            for rule in role["rules"]:
                assert rule.keys() == {"apiGroups", "resources", "verbs"}
                given = product(rule["apiGroups"], rule["resources"], rule["verbs"])
                found[namespace] = found.get(namespace, set()) | given
    return found


def rights(objects: list[JSONObject]) -> Rights:
    """Those that it has in all namespaces."""
    return rights_by_namespace(objects).get("", set())


def job(objects: list[JSONObject]) -> dict[str, Any]:
    return dict(named(objects, "CronJob", NAME)["spec"]["jobTemplate"]["spec"])


def run_pod(objects: list[JSONObject]) -> dict[str, Any]:
    return dict(job(objects)["template"]["spec"])


def test_nothing_is_made_by_default() -> None:
    assert not [each for each in chart() if NAME in each["metadata"]["name"]]


def test_rights_are_those_of_a_run(tmp_path: Path) -> None:
    expected = {"": NAMESPACES | WORKLOADS | WRITTEN, "policyd": CONFIG_MAPS}
    assert rights_by_namespace(chart(ON)) == expected
    assert rights_by_namespace(with_component("report", folder=tmp_path)) == expected
    with_static = rights_by_namespace(chart(ON, "static.enabled=true"))
    assert with_static == {"": NAMESPACES | WORKLOADS | WRITTEN}, "it reads files only"


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        ("shop", {"": set(), "policyd": CONFIG_MAPS, "shop": CONFIG_MAPS}),
        ("shop,policyd", {"": set(), "policyd": CONFIG_MAPS, "shop": CONFIG_MAPS}),
        ("shop,team-*", {"": CONFIG_MAPS, "policyd": CONFIG_MAPS}),
    ],
)
def test_rights_to_read_exceptions_are_where_they_are(
    namespaces: str, expected: dict[str, Rights]
) -> None:
    made = rights_by_namespace(chart(ON, f"exceptions.namespaces={{{namespaces}}}"))
    always = NAMESPACES | WORKLOADS | WRITTEN
    assert made == {**expected, "": expected[""] | always}


SERVED = (
    Served("", "v1", "pods", "Pod", True),
    Served("", "v1", "replicationcontrollers", "ReplicationController", True),
    Served("", "v1", "secrets", "Secret", True),
    Served("", "v1", "namespaces", "Namespace", False),
    Served("apps", "v1", "controllerrevisions", "ControllerRevision", True),
    Served("apps", "v1", "daemonsets", "DaemonSet", True),
    Served("apps", "v1", "deployments", "Deployment", True),
    Served("apps", "v1", "replicasets", "ReplicaSet", True),
    Served("apps", "v1", "statefulsets", "StatefulSet", True),
    Served("batch", "v1", "cronjobs", "CronJob", True),
    Served("batch", "v1", "jobs", "Job", True),
)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_all_that_the_policies_of_the_chart_match_is_scanned_and_nothing_else(level: str) -> None:
    data = yaml.safe_load((CHART / f"files/policies/{level}.yaml").read_text())["data"]
    sources = loader.load_text("\n---\n".join(data.values()), "policies.yaml")
    policies = compiler.compile_strict(sources).policies
    targets = MatchTargets(sources, (each.sort_key for each in policies)).targets(SERVED)
    matched = {(each.served.group, each.served.resource, "list") for each in targets}
    assert matched == WORKLOADS


def test_what_is_scanned_can_be_narrowed_and_params_added() -> None:
    made = chart(
        ON,
        "report.scanned[0].apiGroups={apps}",
        "report.scanned[0].resources={deployments}",
        "rbac.params[0].apiGroups={example.com}",
        "rbac.params[0].resources={limits}",
    )
    scanned = product(["apps"], ["deployments"], ["list"])
    params = product(["example.com"], ["limits"], ["get", "list"])
    assert rights(made) == NAMESPACES | WRITTEN | scanned | params


def test_the_rights_of_the_server_do_not_change() -> None:
    without, made = chart(), chart(ON)
    for kind in ("Role", "ClusterRole"):
        assert named(made, kind) == named(without, kind)
    for each in made:
        for subject in each.get("subjects", ()):
            assert subject["name"] == each["metadata"]["name"]


def test_roles_of_others_are_used_if_the_chart_makes_none() -> None:
    made = chart(ON, "rbac.create=false")
    assert rights(made) == set()
    account = named(made, "ServiceAccount", NAME)
    assert run_pod(made)["serviceAccountName"] == account["metadata"]["name"]


def test_one_run_at_a_time_and_each_one_ends_before_the_next() -> None:
    spec = named(chart(ON), "CronJob", NAME)["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    minute, *rest = spec["schedule"].split()
    assert (minute.isdigit(), rest) == (True, ["*"] * 4), "every hour"
    assert job(chart(ON))["activeDeadlineSeconds"] < 3600
    assert spec["startingDeadlineSeconds"] < 3600
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (1, 3)
    assert "suspend" not in spec


def test_values_of_the_schedule() -> None:
    made = chart(
        ON,
        "report.suspend=true",
        "report.schedule=@daily",
        "report.activeDeadlineSeconds=7200",
        "report.startingDeadlineSeconds=60",
        "report.backoffLimit=0",
        "report.successfulJobsHistoryLimit=0",
        "report.failedJobsHistoryLimit=5",
    )
    spec = named(made, "CronJob", NAME)["spec"]
    assert (spec["suspend"], spec["schedule"]) == (True, "@daily")
    assert spec["startingDeadlineSeconds"] == 60
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (0, 5)
    assert (job(made)["activeDeadlineSeconds"], job(made)["backoffLimit"]) == (7200, 0)


def test_a_configuration_that_is_wrong_is_not_tried_again() -> None:
    """2 is the exit status for invalid policies and arguments (docs/reference/commands)."""
    made = chart(ON)
    (container,) = run_pod(made)["containers"]
    ignored, failed = job(made)["podFailurePolicy"]["rules"]
    assert ignored["action"] == "Ignore"
    assert failed == {
        "action": "FailJob",
        "onExitCodes": {"containerName": container["name"], "operator": "In", "values": [2]},
    }
    assert run_pod(made)["restartPolicy"] == "Never"  # what a podFailurePolicy requires


def test_the_pod_is_secured_as_those_of_the_server() -> None:
    made = chart(ON)
    server = named(made, "Deployment")["spec"]["template"]["spec"]
    (run,) = run_pod(made)["containers"]
    assert run_pod(made)["securityContext"] == server["securityContext"]
    assert run["securityContext"] == container(made)["securityContext"]
    assert run["image"] == container(made)["image"]
    assert run_pod(made)["enableServiceLinks"] is False


def test_the_pod_is_none_of_those_of_the_server() -> None:
    """Neither the Service, the PodDisruptionBudget nor a NetworkPolicy may select both."""
    made = chart(ON)
    labels = job(made)["template"]["metadata"]["labels"]
    selectors = [
        named(made, "Service")["spec"]["selector"],
        named(made, "Deployment")["spec"]["selector"]["matchLabels"],
        named(made, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        named(made, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert not selector.items() <= labels.items()
    own = named(made, "NetworkPolicy", NAME)["spec"]["podSelector"]["matchLabels"]
    assert own.items() <= labels.items()


@pytest.mark.parametrize("values", [(), ("networkPolicy.apiServerCIDRs={10.0.0.1/32}",)])
def test_the_run_connects_to_the_api_server_only(values: tuple[str, ...]) -> None:
    made = chart(ON, *values)
    spec = named(made, "NetworkPolicy", NAME)["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in spec
    assert spec["egress"] == named(made, "NetworkPolicy")["spec"]["egress"]


def test_without_network_policies_there_is_none_for_the_run() -> None:
    made = chart(ON, "networkPolicy.enabled=false")
    assert not [each for each in made if each["kind"] == "NetworkPolicy"]


SOURCES = ("policies", "policy-configmaps", "exception-configmaps", "exception-namespaces")


def sources_of(arguments: list[str]) -> list[str]:
    """The flags that name policies and exceptions."""
    return [each for each in arguments if each.partition("=")[0].removeprefix("--") in SOURCES]


def mounts_of_policies(pod: dict[str, Any]) -> dict[str, str]:
    """The ConfigMaps that are mounted for ``--policies``, by their paths."""
    (run,) = pod["containers"]
    volumes = {each["name"]: each.get("configMap", {}).get("name") for each in pod["volumes"]}
    return {
        each["mountPath"]: volumes[each["name"]]
        for each in run["volumeMounts"]
        if each["mountPath"].startswith("/policies")
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), ["--policy-configmaps=policyd.dev/policies=true"]),
        (("policies.selector=a=b",), ["--policy-configmaps=a=b"]),
        (
            ("policies.configMaps={one,two.three}", "policies.podSecurity="),
            ["--policies=/policies", "--policy-configmaps=policyd.dev/policies=true"],
        ),
        (
            ("exceptions.namespaces={shop,team-*}", "exceptions.selector=c=d"),
            [
                "--policy-configmaps=policyd.dev/policies=true",
                "--exception-configmaps=c=d",
                "--exception-namespaces=shop",
                "--exception-namespaces=team-*",
            ],
        ),
        (("static.enabled=true", "policies.configMaps={one}"), ["--policies=/policies"]),
        (
            ("static.enabled=true", "static.clusterLookups=true", "exceptions.namespaces={shop}"),
            [
                "--policies=/policies",
                "--exception-configmaps=policyd.dev/exceptions=true",
                "--exception-namespaces=shop",
            ],
        ),
    ],
)
def test_a_run_reads_what_the_server_reads(values: tuple[str, ...], expected: list[str]) -> None:
    made = chart(ON, *values)
    server = named(made, "Deployment")["spec"]["template"]["spec"]
    (run,) = run_pod(made)["containers"]
    assert sources_of(run["args"]) == sources_of(container(made)["args"]) == expected
    assert mounts_of_policies(run_pod(made)) == mounts_of_policies(server)
    assert bool(mounts_of_policies(server)) == ("--policies=/policies" in expected)
    assert run_pod(made)["automountServiceAccountToken"], "the namespace of the Pod is there, too"


def test_arguments_and_resources() -> None:
    made = chart(ON, "report.args={--qps=5,--format=json}", "report.resources.limits.memory=1Gi")
    (run,) = run_pod(made)["containers"]
    assert run["args"][2:] == ["--qps=5", "--format=json"]
    assert run["resources"]["limits"]["memory"] == "1Gi"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("report.schedule=hourly", "does not match pattern"),
        ("report.schedule=* * *", "does not match pattern"),
        ("report.configMaps={a}", "additional properties 'configMaps' not allowed"),
        ("report.every=1h", "additional properties 'every' not allowed"),
        ("report.args={report}", "does not match pattern"),
        ("report.activeDeadlineSeconds=0", "minimum: got 0, want 1"),
        ("report.scanned[0].resources={pods}", "missing property 'apiGroups'"),
    ],
)
def test_a_wrong_value_of_the_report_is_refused(value: str, complaint: str) -> None:
    assert complaint in refused(ON, value)


def test_names_of_a_long_release_are_short_enough() -> None:
    """A CronJob's name has at most 52 characters: its Jobs have eleven more."""
    made = chart(ON, release=f"policyd-{'x' * 43}")
    (cron_job,) = (each for each in made if each["kind"] == "CronJob")
    assert len(cron_job["metadata"]["name"]) <= 52
    assert cron_job["metadata"]["name"].endswith("-report")
