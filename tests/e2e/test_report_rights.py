"""``policyd report`` under the rights that deploy/components/report gives it, on a real API server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import PRIVILEGED, config_map, container, deployment, pod
from tests.builders.policies import policy_exception
from tests.deploy.report_rights import CONFIG_MAPS, NAMESPACES, WORKLOADS, WRITTEN, Rights
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate
from tests.e2e.conftest import make_namespace
from tests.e2e.definitions import served
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.reporting import report_definitions
from tests.server.process import until
from tests.shared import ROOT

ACCESS = ROOT / "deploy/components/report/access.yaml"
CRON_JOB = ROOT / "deploy/components/report/cronjob.yaml"
EXCEPTIONS = ROOT / "deploy/components/exceptions/kustomization.yaml"
OWN = "policyd"
POLICIES = ROOT / "deploy/chart/files/policies/baseline.yaml"
ACCOUNT = "system:serviceaccount:policyd:policyd-report"
REPORTS = "/apis/openreports.io/v1alpha1/reports"


@pytest.fixture(name="definitions", autouse=True)
def _definitions(client: Client) -> Iterator[None]:
    """The CustomResourceDefinitions of reports; with the test all reports are gone, too."""
    with served(client, *report_definitions("openreports.io")):
        yield


@pytest.fixture(name="role")
def _role(client: Client) -> Iterator[JSONObject]:
    """The ClusterRole of the component, bound to its ServiceAccount, as is its Role; and the policies
    of the chart in a ConfigMap.
    """
    _, role, *others = yaml.safe_load_all(ACCESS.read_text())
    if client.send("GET", f"/api/v1/namespaces/{OWN}").status == 404:
        make_namespace(client, OWN)
    policies = yaml.safe_load(POLICIES.read_text())["data"]
    labelled = config_map("baseline", OWN, policies)
    labelled["metadata"]["labels"] = {"policyd.dev/policies": "true"}
    made = [role, *others, labelled]
    for each in made:
        client.made(each)
    yield role
    for each in made:
        client.deleted(each)


class Runs:
    """Runs of the command as the CronJob starts it, but with a kubeconfig of its user."""

    def __init__(self, api: Cluster, folder: Path) -> None:
        for name in ("ca.crt", "ca.key"):
            (folder / name).write_bytes((api.folder / name).read_bytes())
        certificate(folder, "run", f"/CN={ACCOUNT}")
        self._kubeconfig = folder / "kubeconfig"
        document = kubeconfig_document(api, "ca.crt", "run.crt", "run.key")
        self._kubeconfig.write_text(json.dumps(document))
        pod = yaml.safe_load(CRON_JOB.read_text())["spec"]["jobTemplate"]["spec"]["template"]
        (run,) = pod["spec"]["containers"]
        self._arguments = [*run["args"], f"--policy-namespace={OWN}"]

    def __call__(self, *flags: str) -> tuple[int, JSONObject, str]:
        """The exit status, the summary, and what is printed to standard error."""
        command = [sys.executable, "-m", "policyd", *self._arguments]
        command += [f"--kubeconfig={self._kubeconfig}", "--qps=1000", "--format=json", *flags]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.fixture(name="run")
def _run(api: Cluster, tmp_path: Path) -> Runs:
    return Runs(api, tmp_path)


def used(api: Cluster) -> Rights:
    """The (group, resource, verb) that the account used, by the audit log."""
    lines = (api.folder / "audit.log").read_text().splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines if line.endswith("}")]
    found = set()
    for each in events:
        what = each.get("objectRef")
        if each["user"]["username"] == ACCOUNT and what and "resource" in what:
            found.add((what.get("apiGroup", ""), what["resource"], each["verb"]))
    return found


def reported(client: Client, namespace: str) -> set[tuple[str, str]]:
    """The kinds and names of the objects in a namespace that have a report."""
    items = client.send("GET", REPORTS).body["items"]
    scopes = [each["scope"] for each in items if each["metadata"]["namespace"] == namespace]
    return {(each["kind"], each["name"]) for each in scopes}


def test_the_rights_of_the_deployment_are_what_runs_use(
    api: Cluster, client: Client, namespace: str, role: JSONObject, run: Runs
) -> None:
    bad = pod(container(**PRIVILEGED), name="bad", namespace=namespace)
    client.made(bad)
    client.made(deployment(container(**PRIVILEGED), namespace=namespace))
    client.made(pod(name="good", namespace=namespace))
    until(lambda: run()[0] == 0, "the rights")
    assert reported(client, namespace) == {("Pod", "bad"), ("Deployment", "web")}

    client.deleted(bad)
    status, summary, errors = run()
    assert (status, errors) == (0, "")
    assert summary["reports"]["deleted"] >= 1
    assert reported(client, namespace) == {("Deployment", "web")}
    status, summary, errors = run("--namespace", namespace)
    assert (status, errors) == (0, "")
    assert [each["namespace"] for each in summary["byNamespace"]] == [namespace]

    # An apply that makes an object is a patch for the audit log, and needs both rights.
    creates = {each for each in WRITTEN if each[2] == "create"}
    older = {each for each in WRITTEN if each[0] == "wgpolicyk8s.io"}
    cluster_scoped = {each for each in WRITTEN if each[1] == "clusterreports" and each[2] != "list"}
    allowed = NAMESPACES | WORKLOADS | WRITTEN | CONFIG_MAPS
    assert used(api) <= allowed
    assert allowed - used(api) == creates | older | cluster_scoped


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_reports_that_may_not_be_written_are_problems(
    client: Client, namespace: str, role: JSONObject, run: Runs, verb: str
) -> None:
    client.made(pod(container(**PRIVILEGED), name="bad", namespace=namespace))
    rules = [{**each, "verbs": [name for name in each["verbs"] if name != verb]}
             for each in role["rules"]]  # fmt: skip
    client.replace({**role, "rules": rules})
    until(lambda: run("--namespace", namespace)[0] == 3, "the rights")
    status, summary, _ = run("--namespace", namespace)
    assert (status, summary["complete"], summary["reports"]["failed"]) == (3, False, 1)
    assert f'cannot {verb} resource "reports"' in summary["problems"][0]
    assert reported(client, namespace) == set()


def test_what_may_not_be_listed_is_a_problem_and_the_rest_is_reported(
    client: Client, namespace: str, role: JSONObject, run: Runs
) -> None:
    client.made(pod(container(**PRIVILEGED), name="bad", namespace=namespace))
    rules = [each for each in role["rules"] if each["apiGroups"] != ["batch"]]
    client.replace({**role, "rules": rules})
    until(lambda: run()[0] == 3, "the rights")
    _, summary, _ = run()
    assert len(summary["problems"]) == 2, "Jobs and CronJobs"
    assert all("batch" in each for each in summary["problems"])
    assert reported(client, namespace) == {("Pod", "bad")}


def test_an_object_that_a_team_excepts_is_skipped(
    client: Client, namespace: str, role: JSONObject, run: Runs
) -> None:
    """With the arguments and the right that the component for exceptions adds."""
    patches = {
        each["target"]["kind"]: yaml.safe_load(each["patch"])
        for each in yaml.safe_load(EXCEPTIONS.read_text())["patches"]
        if each["target"]["name"] == "policyd-report"
    }
    flags = [step["value"].replace("team-*", f"{namespace}-te?m") for step in patches["CronJob"]]
    for each in ("team", "other"):
        make_namespace(client, f"{namespace}-{each}")
        client.made(pod(container(**PRIVILEGED), name="bad", namespace=f"{namespace}-{each}"))
        excepted = config_map("exceptions", f"{namespace}-{each}")
        excepted["metadata"]["labels"] = {"policyd.dev/exceptions": "true"}
        document = policy_exception("ours", "baseline-*")
        client.made({**excepted, "data": {"e.yaml": json.dumps(document)}})

    until(lambda: run()[0] == 0, "the rights")
    assert results(client, f"{namespace}-team") == {"fail"}
    status, _, errors = run(*flags)
    assert status == 2
    assert "cannot list the ConfigMaps policyd.dev/exceptions=true of all namespaces" in errors

    added = [step["value"] for step in patches["ClusterRole"]]
    client.replace({**role, "rules": [*role["rules"], *added]})
    until(lambda: run(*flags)[0] == 0, "the right to list ConfigMaps")
    assert results(client, f"{namespace}-team") == {"skip"}
    assert results(client, f"{namespace}-other") == {"fail"}


def results(client: Client, namespace: str) -> set[str]:
    """The results in the reports of a namespace."""
    items = client.send("GET", REPORTS).body["items"]
    found = [each for each in items if each["metadata"]["namespace"] == namespace]
    return {one["result"] for each in found for one in each["results"]}
