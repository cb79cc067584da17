"""``policyd report`` on a real API server of its own, with the public definitions of reports."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule, vap, vap_binding
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate, cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.definitions import serve
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.reporting import (
    CLUSTER_REPORTS,
    ReportCommand,
    create_config_maps,
    names,
    report_definitions,
    reports_in,
    stored,
    write_policies,
)
from tests.e2e.rights import bound, role
from tests.server.process import until

TEAM = demand("'team' in object.metadata.?labels.orValue({})", "the label team is missing")
NAME = "kubernetes.io/metadata.name"
NOT_OF_THE_SYSTEM = {"key": NAME, "operator": "NotIn", "values": ["kube-system"]}
TEAMS = policy(
    "team",
    CONFIG_MAPS,
    match={"namespaceSelector": {"matchExpressions": [NOT_OF_THE_SYSTEM]}},
    validations=[{**TEAM, "name": "labelled"}],
)
SMALL, MANY, BAD_OF = 1_000, 10_000, 10


@pytest.fixture(scope="module")
def reporting_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server whose ten thousand objects no other test has to read."""
    with cluster(tmp_path_factory.mktemp("reporting")) as running:
        made = Client(running)
        for each in report_definitions("openreports.io"):
            serve(made, each)
        made.close()
        yield running


@pytest.fixture
def client(reporting_api: Cluster) -> Iterator[Client]:
    made = Client(reporting_api)
    yield made
    made.close()


@pytest.fixture
def report(reporting_api: Cluster, tmp_path: Path) -> ReportCommand:
    files = [str(reporting_api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(kubeconfig_document(reporting_api, *files)))
    return ReportCommand(kubeconfig, write_policies(tmp_path / "policies.yaml", [TEAMS]), tmp_path)


def versions(reports: list[JSONObject]) -> dict[str, str]:
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in reports}


def test_ten_thousand_objects_and_a_run_that_is_killed(
    reporting_api: Cluster, client: Client, report: ReportCommand
) -> None:
    for namespace in ("small", "many"):
        make_namespace(client, namespace)
    small = create_config_maps(reporting_api, "small", SMALL, BAD_OF)
    bad = create_config_maps(reporting_api, "many", MANY, BAD_OF)

    # Few objects, for comparison.
    few = report("-n", "small")
    assert (few.status, few.stderr) == (0, "")
    assert names(stored(client)) == small

    # A run that is killed in the middle has written whole reports, and the next one the others.
    child = report.start("-n", "many")
    until(lambda: len(stored(client)) > len(small) + 100 or child.poll() is not None, "reports")
    child.kill()
    child.wait()
    early = [each for each in stored(client) if each["metadata"]["namespace"] == "many"]
    assert 100 < len(early) < len(bad), "the run was not killed in the middle"
    assert all(each["results"] and each["scope"]["uid"] in bad for each in early)
    again = report("-n", "many")
    assert (again.status, again.stderr) == (0, "")
    assert f"{len(bad) - len(early)} written, {len(early)} unchanged, 0 deleted" in again.stdout
    found = stored(client)
    assert names(found) == small | bad
    before = versions(early)
    assert before.items() <= versions(found).items()

    # Ten times the objects do not take more memory.
    assert again.peak < 1.15 * few.peak, f"{again.peak} kB against {few.peak}"

    # Nothing has changed: nothing is written.
    third = report()
    assert (third.status, third.stderr) == (0, "")
    assert f"0 written, {len(small | bad)} unchanged, 0 deleted" in third.stdout
    assert versions(stored(client)) == versions(found)

    # One object is fixed, another one deleted: nobody collects garbage here but policyd.
    fixed, gone = (client.get(config_map(name, "many")).body for name in ("c00000", "c00010"))
    client.patch(config_map("c00000", "many"), {"metadata": {"labels": {"team": "a"}}})
    client.deleted(config_map("c00010", "many"))
    last = report()
    assert f"0 written, {len(small | bad) - 2} unchanged, 2 deleted" in last.stdout
    uids = {each["metadata"]["uid"] for each in (fixed, gone)}
    assert names(stored(client)) == (small | bad) - uids


def test_a_report_as_the_api_server_stores_it(
    client: Client, report: ReportCommand, tmp_path: Path
) -> None:
    make_namespace(client, "fields")
    made = client.made(config_map("bad", "fields"))
    legacy = client.made(config_map("legacy", "fields"))
    fine = config_map("legacy-fine", "fields")
    fine["metadata"]["labels"] = {"team": "a"}
    client.made(fine)
    client.made(config_map("legacy-bad", "fields"))
    teams = json.loads(json.dumps(TEAMS))
    teams["metadata"]["annotations"] = {
        "policyd.dev/category": "Ownership",
        "policyd.dev/severity": "medium",
    }
    teams["spec"]["exceptions"] = [
        {"name": "old", "reason": "ticket 4711", "names": ["legacy"], "validations": ["labelled"]},
        {"name": "whole", "names": ["legacy-*"]},
    ]
    names_of = vap("names", rule("namespaces"), validations=[demand("false", "no")])
    binding = vap_binding("names", policyName="names", validationActions=["Audit"])
    write_policies(report.policies, [teams, names_of, binding])
    assert report("-n", "fields").status == 0
    found = {each["scope"]["name"]: each for each in stored(client, reports_in("fields"))}
    assert found.keys() == {"bad", "legacy", "legacy-bad"}, "no exception makes a skip of a pass"
    one = found["bad"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "bad"}
    reference["uid"] = made["metadata"]["uid"]
    assert one["metadata"]["ownerReferences"] == [reference]
    assert one["metadata"]["name"] == reference["uid"]
    assert [each["manager"] for each in one["metadata"]["managedFields"]] == ["policyd-report"]
    [result] = one["results"]
    assert {key: result[key] for key in ("category", "severity", "result", "rule")} == {
        "category": "Ownership", "severity": "medium", "result": "fail", "rule": "labelled",
    }  # fmt: skip
    [skipped] = found["legacy"]["results"]
    assert (skipped["result"], skipped["rule"]) == ("skip", "labelled")
    assert skipped["properties"].items() >= {"exception": "old", "reason": "ticket 4711"}.items()
    [skipped] = found["legacy-bad"]["results"]
    assert (skipped["result"], skipped["properties"]["exception"]) == ("skip", "whole")
    assert found["legacy"]["metadata"]["name"] == legacy["metadata"]["uid"]
    [whole] = stored(client, CLUSTER_REPORTS)
    assert (whole["scope"]["kind"], whole["results"][0]["policy"]) == ("Namespace", "names")


def test_rights(
    reporting_api: Cluster, client: Client, report: ReportCommand, tmp_path: Path
) -> None:
    """What the guide names suffices; without delete the run says so and goes on."""
    make_namespace(client, "rights")
    client.made(config_map("bad", "rights"))
    for name in ("ca.crt", "ca.key"):
        (tmp_path / name).write_bytes((reporting_api.folder / name).read_bytes())
    certificate(tmp_path, "reporter", "/CN=reporter")
    document = kubeconfig_document(reporting_api, "ca.crt", "reporter.crt", "reporter.key")
    report.kubeconfig.write_text(json.dumps(document))
    assert report().status == 2  # reports may not be listed

    reads = {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["get", "list"]}
    writes = {"apiGroups": ["openreports.io"], "resources": ["reports", "clusterreports"]}
    given = role("reporter", reads, {**writes, "verbs": ["list", "create", "patch"]})
    client.made(given)
    client.made(bound(given, "User", "reporter"))
    until(lambda: report("-n", "rights").status == 0, "the rights")
    assert len(stored(client, reports_in("rights"))) == 1

    client.deleted(config_map("bad", "rights"))
    refused = report("-n", "rights")
    assert refused.status == 3
    assert 'cannot delete resource "reports"' in refused.stderr
    client.replace({**given, "rules": [reads, {**writes, "verbs": ["list", "delete"]}]})
    until(lambda: report("-n", "rights").status == 0, "the right to delete")
    assert stored(client, reports_in("rights")) == []


def test_the_older_api(client: Client, report: ReportCommand) -> None:
    for each in report_definitions("wgpolicyk8s.io"):
        serve(client, each)
    make_namespace(client, "older")
    client.made(config_map("bad", "older"))
    done = report("-n", "older", "--api", "wgpolicyk8s.io/v1alpha2")
    assert (done.status, done.stderr) == (0, "")
    [made] = stored(client, "/apis/wgpolicyk8s.io/v1alpha2/policyreports")
    assert made["kind"] == "PolicyReport"
    assert made["summary"] == {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0}
    assert stored(client, reports_in("older")) == []
