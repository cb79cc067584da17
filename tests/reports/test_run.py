"""Runs of ``policyd report`` against a fake API server: what is written, left alone and deleted."""

import json

import pytest

from policyd.cluster import listing
from policyd.json_types import JSONObject
from policyd.reports.apis import WG_POLICY
from policyd.reports.report_document import HASH
from tests.builders.policies import TEAM, demand, policy, rule, teams
from tests.cluster.fake import ApiServer, Call, refusal
from tests.reports.reporting import PODS, REPORTS, Reporter, Reporting, page_expires

DEPLOYMENTS, SETS = "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets"
GOOD = {"labels": {"team": "a"}}


def test_an_object_with_a_violation_gets_a_report(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop")
    contents.add(PODS, "good", "shop", metadata=GOOD)
    done = report(teams())
    assert done.exit_code == 0, done.output
    [(path, made)] = contents.reports.items()
    assert path == f"{REPORTS}/namespaces/shop/reports/uid-bad"
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "bad", "uid": "uid-bad"}
    assert made["metadata"]["ownerReferences"] == [reference]
    assert made["scope"] == {**reference, "namespace": "shop"}
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "policyd", "policyd.dev/resource": "pods",
    }  # fmt: skip
    assert made["summary"] == {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0}
    [result] = made["results"]
    assert result.pop("timestamp")["nanos"] == 0
    assert result == {
        "source": "policyd",
        "policy": "team",
        "rule": "validations[0]",
        "result": "fail",
        "message": "no team",
        "properties": {"field": "metadata.labels", "validationActions": "Deny"},
    }
    assert "1 written, 0 unchanged, 0 deleted" in done.stdout


def test_it_is_applied_by_a_manager_of_its_own(
    contents: Reporting, report: Reporter, server: ApiServer
) -> None:
    contents.add(PODS, "bad", "shop")
    report(teams())
    [call] = [each for each in server.calls if each.method == "PATCH"]
    assert call.path.endswith("/uid-bad?fieldManager=policyd-report&force=true")
    assert call.headers["Content-Type"] == "application/apply-patch+yaml"


def test_a_second_run_writes_only_what_changed(contents: Reporting, report: Reporter) -> None:
    bad = contents.add(PODS, "bad", "shop")
    contents.add(PODS, "worse", "shop")
    report(teams())
    contents.writes.clear()
    done = report(teams())
    assert contents.writes == []
    assert "0 written, 2 unchanged, 0 deleted" in done.stdout
    bad["metadata"]["labels"] = {"team": "a"}
    done = report(teams())
    assert contents.writes == [("delete", "uid-bad")]
    assert "0 written, 1 unchanged, 1 deleted" in done.stdout
    other = teams()
    other["spec"]["validations"][0]["message"] = "no label team"
    report(other)
    assert contents.writes[1:] == [("apply", "uid-worse")]


def test_cluster_scoped_objects_have_cluster_reports(contents: Reporting, report: Reporter) -> None:
    contents.add("/apis/example.com/v1/globes", "world")
    report(teams(rule("globes", group="example.com")))
    [(path, made)] = contents.reports.items()
    assert path == f"{REPORTS}/clusterreports/uid-world"
    assert (made["kind"], made["metadata"].get("namespace")) == ("ClusterReport", None)
    assert "namespace" not in made["scope"]


def test_the_older_api_where_only_that_is_served(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop")
    contents.apis = [WG_POLICY]
    done = report(teams())
    assert list(contents.reports) == [
        "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/uid-bad"
    ]
    assert "wgpolicyk8s.io/v1alpha2" in done.stdout
    error = report.error(teams(), flags=("--api", "openreports.io/v1alpha1"))
    assert "the cluster does not serve openreports.io/v1alpha1" in error


def test_objects_gone_and_kinds_no_policy_is_about(contents: Reporting, report: Reporter) -> None:
    contents.stored("shop", "gone", "x")
    contents.stored("shop", "secret", "x", "secrets")
    contents.stored("", "world", "x", "globes.example.com")
    contents.stored("shop", "unknown", "x", "")
    contents.add(PODS, "bad", "shop")
    report(teams())
    assert contents.names == ["uid-bad"]


def test_reports_of_others_stay(contents: Reporting, report: Reporter) -> None:
    foreign = contents.stored("shop", "theirs", "x")
    foreign["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "kyverno"
    report(teams())
    assert contents.names == ["theirs"]


@pytest.mark.parametrize("namespace", ["shop", ""])
def test_nothing_is_deleted_of_a_kind_that_cannot_be_listed(
    namespace: str, contents: Reporting, report: Reporter
) -> None:
    contents.stored(namespace, "gone", "x")
    contents.stored("shop", "other", "x", "secrets")
    contents.special = lambda call: (
        refusal(403, "pods is forbidden") if call.path.startswith(f"{PODS}?") else None
    )
    done = report(teams(rule("pods", "secrets")))
    assert done.exit_code == 3
    assert "warning: cannot list pods: " in done.stderr
    assert contents.names == ["gone"]


def test_nothing_of_unknown_kinds_is_deleted_if_a_group_does_not_answer(
    contents: Reporting, report: Reporter
) -> None:
    contents.stored("shop", "gone", "x")
    contents.stored("", "world", "x", "globes.example.com")
    contents.special = lambda call: (
        refusal(503, "down") if call.path == "/apis/example.com/v1" else None
    )
    done = report(teams(rule("pods"), rule("globes", group="example.com")))
    assert done.exit_code == 3
    assert contents.names == ["world"]


@pytest.mark.parametrize(
    ("goes_on", "status", "names"),
    [
        ("3", 0, ["uid-p0", "uid-p1", "uid-p3", "uid-p4"]),
        ("", 3, ["gone", "uid-p0", "uid-p1"]),
    ],
    ids=["counts as complete", "deletes nothing"],
)
def test_a_list_that_expires_and_goes_on_or_not(
    goes_on: str, status: int, names: list[str], contents: Reporting, report: Reporter
) -> None:
    contents.page = 2
    contents.stored("shop", "gone", "x")
    for number in range(5):
        contents.add(PODS, f"p{number}", "shop")
    contents.special = page_expires(contents, PODS, "2", goes_on)
    assert report(teams()).exit_code == status
    assert contents.names == names


def test_reports_are_listed_in_pages_and_only_their_metadata(
    contents: Reporting, report: Reporter, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    for number in range(5):
        contents.stored("shop", f"gone-{number}", "x")
    report(teams())
    assert contents.names == []
    lists = [each for each in server.calls if each.path.startswith(f"{REPORTS}/reports?")]
    # Once before the objects, and once to delete what is left over.
    starts = [each.path.partition("continue=")[2][-6:] for each in lists]
    assert starts == ["", "gone-1", "gone-3"] * 2
    assert {"PartialObjectMetadataList" in each.headers["Accept"] for each in lists} == {True}


def test_a_dry_run_changes_nothing(contents: Reporting, report: Reporter) -> None:
    contents.stored("shop", "gone", "x")
    contents.add(PODS, "bad", "shop")
    done = report(teams(), flags=("--dry-run",))
    assert done.exit_code == 0
    assert contents.writes == []
    assert done.stderr.splitlines() == [
        "would write reports.openreports.io shop/uid-bad: Pod shop/bad: 1 fail",
        "would delete apis/openreports.io/v1alpha1/namespaces/shop/reports/gone",
    ]
    assert "1 would be written, 0 unchanged, 1 would be deleted" in done.stdout


def test_some_namespaces_only(contents: Reporting, report: Reporter, server: ApiServer) -> None:
    contents.add(PODS, "bad", "shop")
    contents.add(PODS, "bad-too", "mail")
    contents.stored("shop", "gone", "x")
    contents.stored("mail", "gone-too", "x")
    contents.stored("", "uid-shop", "x", "namespaces")
    contents.stored("", "uid-mail", "x", "namespaces")
    contents.stored("", "world", "x", "globes.example.com")
    labelled = demand("'env' in object.metadata.?labels.orValue({})", "no env")
    names = policy("names", rule("namespaces"), validations=[labelled])
    report(teams(), names, flags=("-n", "shop"))
    assert contents.names == ["gone-too", "uid-bad", "uid-mail", "world"]
    report(teams(), names)
    assert contents.names == ["uid-bad", "uid-bad-too", "uid-mail"]


def test_versions_of_an_object_have_one_report(contents: Reporting, report: Reporter) -> None:
    for version in ("v1", "v2"):
        path = f"/apis/autoscaling/{version}/horizontalpodautoscalers"
        contents.add(path, "web", "shop")
        contents.add(path, "good", "shop")
    made = [
        policy(
            f"in-{version}",
            rule("horizontalpodautoscalers", group="autoscaling", version=version),
            validations=[demand("object.metadata.name == 'good'", "not good")],
        )
        for version in ("v2", "v1")
    ]
    done = report(*made)
    [web] = contents.reports.values()
    assert [each["policy"] for each in web["results"]] == ["in-v1", "in-v2"]
    assert web["summary"]["fail"] == 2
    report(*made)
    assert contents.writes == [("apply", "uid-web")]
    assert "2 objects" in done.stdout


def test_owned_objects_are_left_to_their_owners(contents: Reporting, report: Reporter) -> None:
    template: JSONObject = {"spec": {"template": {"spec": {"containers": []}}}}
    top = contents.add(DEPLOYMENTS, "web", "shop", **template)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    owners = {"ownerReferences": [{**owner, "uid": top["metadata"]["uid"]}]}
    contents.add(SETS, "web-1", "shop", **template, metadata=owners)
    report(teams(podControllers=True), flags=("--owned",))
    assert contents.names == ["uid-web", "uid-web-1"]
    report(teams(podControllers=True))
    assert contents.names == ["uid-web"]


def test_an_object_without_a_uid_has_no_report(contents: Reporting, report: Reporter) -> None:
    contents.add(PODS, "bad", "shop", metadata={"uid": ""})
    done = report(teams())
    assert (done.exit_code, contents.names) == (0, [])
    assert "1 fail" in done.stdout


def test_json_of_the_fields(contents: Reporting, report: Reporter) -> None:
    """Annotations of the policy, names of validations, and the actions of a binding."""
    contents.add(PODS, "bad", "shop")
    made = policy(
        "team",
        rule("pods"),
        validations=[{**TEAM, "name": "labelled"}],
        validationActions=["Warn"],
    )
    made["metadata"]["annotations"] = {
        "policyd.dev/category": "Ownership", "policyd.dev/severity": "High",
    }  # fmt: skip
    report(made)
    [stored] = contents.reports.values()
    [result] = stored["results"]
    assert {key: result[key] for key in ("rule", "result", "category", "severity")} == {
        "rule": "labelled", "result": "warn", "category": "Ownership", "severity": "high",
    }  # fmt: skip
    assert json.loads(json.dumps(stored)) == stored


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_another_run_writes_meanwhile_stays(
    when: str, contents: Reporting, report: Reporter
) -> None:
    """Before or after this run lists the reports again to delete those that are left over."""
    old = contents.stored("shop", "uid-pod", "x")
    contents.add(PODS, "pod", "shop", metadata=GOOD)
    calls = {"before": ("GET", PODS), "after": ("DELETE", f"{REPORTS}/")}

    def special(call: Call) -> None:
        method, path = calls[when]
        if call.method == method and path in call.path:
            old["metadata"]["annotations"][HASH] = "y"
            old["metadata"]["resourceVersion"] = "2"

    contents.special = special
    done = report(teams())
    assert (done.exit_code, done.stderr) == (0, "")
    assert contents.names == ["uid-pod"]
    assert "0 written, 0 unchanged, 0 deleted, 0 failed" in done.stdout
