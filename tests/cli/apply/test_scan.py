"""``policyd apply --cluster``: what is in a cluster, judged through the client of API servers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from policyd.json_types import JSONObject
from tests.builders.policies import (
    apply_configuration,
    demand,
    policy,
    rule,
    teams,
    vap,
    vap_binding,
)
from tests.cluster.contents import Contents
from tests.cluster.fake import ApiServer, refusal

PODS, DEPLOYMENTS, SETS = "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets"
NAMESPACES = "/api/v1/namespaces"
Run = Callable[..., Result]
ERRS = demand("object.spec.absent == 1", "never")
FALSE = demand("false", "never")
# validation, spec, RESULT, exit status without --fail-on, with warn, with error
ROWS: list[tuple[Any, dict[str, Any], str, tuple[int, int, int]]] = [
    (ERRS, {}, "error", (1, 1, 1)),
    (ERRS, {"failurePolicy": "Ignore"}, "ignored", (0, 0, 1)),
    (ERRS, {"validationActions": ["Warn"]}, "warning", (0, 1, 1)),
    (FALSE, {"validationActions": ["Warn"]}, "warning", (0, 1, 0)),
    (FALSE, {"validationActions": ["Audit"]}, "audit", (0, 0, 0)),
]


def owned(by: JSONObject, kind: str) -> JSONObject:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": by["metadata"]["name"]}
    return {"ownerReferences": [{**owner, "controller": True, "uid": "x"}]}


def found(done: Result) -> list[tuple[str, str, str]]:
    """(result, resource, policy) of each row of the table."""
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return [(row[0], " ".join(row[1:3]), row[3]) for row in rows]


def listed(server: ApiServer) -> list[str]:
    """The paths of lists, without discovery and without the Namespaces that are read first."""
    paths = [call.path.partition("?")[0] for call in server.calls if "limit=" in call.path]
    return paths[1:]


def test_what_is_there_is_judged_as_it_is(contents: Contents, run: Run, server: ApiServer) -> None:
    contents.add(PODS, "good", "shop", metadata={"labels": {"team": "a"}})
    contents.add(PODS, "bad", "shop")
    done = run(teams())
    assert done.exit_code == 1
    assert found(done) == [("denied", "Pod shop/bad", "team")]
    assert done.stderr == "2 objects: 1 admitted, 1 denied\n"
    assert listed(server) == [PODS]


def test_nothing_denied_exits_with_0(contents: Contents, run: Run) -> None:
    contents.add(PODS, "good", "shop", metadata={"labels": {"team": "a"}})
    done = run(teams())
    assert (done.exit_code, done.stdout) == (0, "")
    assert found(run(teams(), flags=("-v",))) == [("admitted", "Pod shop/good", "-")]


def test_an_object_is_a_creation_with_its_type_and_without_managed_fields(
    contents: Contents, run: Run
) -> None:
    contents.add(PODS, "a", "shop")
    contents.add("/apis/example.com/v1/globes", "world")
    seen = (
        "request.operation + ' ' + object.apiVersion + ' ' + object.kind + ' ' "
        "+ request.resource.resource + ' ' + request.name + ' ' + request.?namespace.orValue('-') "
        "+ ' ' + string(has(object.metadata.managedFields)) + ' ' + request.userInfo.username"
    )
    told = {"expression": "false", "messageExpression": seen}
    globes = rule("globes", group="example.com")
    done = run(policy("all", rule("pods"), globes, validations=[told]), flags=("--format", "json"))
    assert [each["message"].partition(": ")[2] for each in json.loads(done.stdout)] == [
        "CREATE example.com/v1 Globe globes world - false policyd",
        "CREATE v1 Pod pods a shop false policyd",
    ]


def test_wildcards_reach_everything_that_can_be_listed_and_that_policies_may_see(
    run: Run, server: ApiServer
) -> None:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    assert run(teams(every)).exit_code == 1  # the namespaces
    assert listed(server) == [
        "/api/v1/namespaces",
        "/api/v1/secrets",
        "/api/v1/configmaps",
        "/api/v1/events",  # and not again as those of events.k8s.io
        "/apis/apps/v1/deployments",
        "/apis/autoscaling/v2/horizontalpodautoscalers",
        "/apis/example.com/v1/globes",
        "/apis/apps/v1/replicasets",
        "/api/v1/pods",
    ]


def test_policies_that_are_about_nothing_there_are_named(run: Run, server: ApiServer) -> None:
    done = run(teams(rule("pods", operations=["UPDATE"])))
    assert listed(server) == []
    assert "policies that match no CREATE request in this scan: team" in done.stderr
    assert done.exit_code == 0


def test_each_policy_judges_the_version_that_its_rules_name(contents: Contents, run: Run) -> None:
    for version in ("v1", "v2"):
        path = f"/apis/autoscaling/{version}/horizontalpodautoscalers"
        contents.add(path, "web", "shop", metadata={"generateName": version})
    made = [
        policy(
            f"in-{version}",
            rule("horizontalpodautoscalers", group="autoscaling", version=version),
            validations=[
                {"expression": "false", "messageExpression": "string(object.metadata.generateName)"}
            ],
        )
        for version in ("v1", "v2")
    ]
    done = run(*made)
    messages = [line.split()[-1] for line in done.stdout.splitlines()[1:]]
    assert sorted(messages) == ["v1", "v2"]


def test_labels_of_namespaces_are_those_of_the_cluster(contents: Contents, run: Run) -> None:
    contents.add(PODS, "a", "shop")
    contents.add(PODS, "b", "mail")
    made = teams()
    made["spec"]["matchConstraints"]["namespaceSelector"] = {"matchLabels": {"env": "prod"}}
    stale = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert [row[1] for row in found(run(made, stale))] == ["Pod shop/a"]


def test_what_a_controller_made_is_told_once(contents: Contents, run: Run) -> None:
    template: JSONObject = {"spec": {"template": {"spec": {"containers": []}}}}
    top = contents.add(DEPLOYMENTS, "web", "shop", **template)
    middle = contents.add(SETS, "web-1", "shop", **template, metadata=owned(top, "Deployment"))
    contents.add(PODS, "web-1-a", "shop", metadata=owned(middle, "ReplicaSet"))
    contents.add(PODS, "alone", "shop")
    through = teams(podControllers=True)
    done = run(through)
    assert [row[1] for row in found(done)] == ["Deployment shop/web", "Pod shop/alone"]
    assert "2 objects skipped: the same policies check their owners" in done.stderr
    assert len(found(run(through, flags=("--owned",)))) == 4
    # A policy that judges Pods only knows nothing of what made them.
    assert [row[1] for row in found(run(teams()))] == ["Pod shop/web-1-a", "Pod shop/alone"]


def test_what_made_it_stands_for_it_only_if_it_could_be_read(contents: Contents, run: Run) -> None:
    top = {"metadata": {"name": "web"}}
    contents.add(PODS, "web-1-a", "shop", metadata=owned(top, "ReplicaSet"))
    contents.special = lambda call: (
        refusal(403, "replicasets is forbidden") if call.path.startswith(SETS) else None
    )
    done = run(teams(podControllers=True))
    assert [row[1] for row in found(done)] == ["Pod shop/web-1-a"]


def test_what_is_forbidden_is_a_warning_and_the_scan_goes_on(contents: Contents, run: Run) -> None:
    contents.add(PODS, "good", "shop", metadata={"labels": {"team": "a"}})
    contents.special = lambda call: (
        refusal(403, "secrets is forbidden") if "secrets" in call.path else None
    )
    done = run(teams(rule("secrets", "pods")))
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        "warning: cannot list secrets: the API server answered 403: secrets is forbidden",
        "1 object: 1 admitted, 0 denied",
    ]
    contents.add(PODS, "bad", "shop")
    assert run(teams(rule("secrets", "pods"))).exit_code == 1


def test_a_group_that_does_not_answer_hides_no_other(contents: Contents, run: Run) -> None:
    contents.add(PODS, "bad", "shop")
    contents.special = lambda call: (
        refusal(503, "service unavailable") if call.path == "/apis/example.com/v1" else None
    )
    done = run(teams(rule("pods"), rule("globes", group="example.com")))
    assert len(found(done)) == 1
    assert "warning: cannot list the resources of /apis/example.com/v1: " in done.stderr


def test_only_some_namespaces(contents: Contents, run: Run, server: ApiServer) -> None:
    contents.add(PODS, "a", "shop")
    contents.add(PODS, "b", "mail")
    contents.add(NAMESPACES, "other")
    every = rule("pods", "namespaces")
    globes = rule("globes", group="example.com")
    done = run(teams(every, globes), flags=("-n", "mail", "--namespace", "shop"))
    assert [row[1] for row in found(done)] == [
        "Namespace mail", "Namespace shop", "Pod mail/b", "Pod shop/a",
    ]  # fmt: skip
    asked = {call.path for call in server.calls}
    assert f"{NAMESPACES}/shop/pods?limit=500" in asked
    assert not any(path.startswith((PODS, f"{NAMESPACES}?")) for path in asked)


def test_a_namespace_that_is_not_there_is_a_mistake(run: Run) -> None:
    done = run(teams(), flags=("-n", "shp"))
    assert "--namespace shp: the API server answered 404" in str(done.exception)


def test_one_forbidden_namespace_hides_no_other(contents: Contents, run: Run) -> None:
    contents.add(PODS, "b", "mail")
    contents.special = lambda call: (
        refusal(403, "no") if call.path.startswith(f"{NAMESPACES}/shop/pods") else None
    )
    done = run(teams(), flags=("-n", "shop", "-n", "mail"))
    assert [row[1] for row in found(done)] == ["Pod mail/b"]
    assert "cannot list pods in shop: the API server answered 403: no" in done.stderr


def test_without_the_right_to_list_namespaces_each_is_asked_for(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    for name in ("a", "b"):
        contents.add(PODS, name, "shop")
    contents.special = lambda call: (
        refusal(403, "no") if call.path.startswith(f"{NAMESPACES}?") else None
    )
    told = {"expression": "false", "messageExpression": "namespaceObject.metadata.labels.env"}
    done = run(policy("seen", rule("pods"), validations=[told]))
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:]] == ["prod", "prod"]
    assert [call.path for call in server.calls].count(f"{NAMESPACES}/shop") == 1
    contents.special = lambda call: refusal(403, "no") if call.path.startswith(NAMESPACES) else None
    asks = policy("asks", rule("pods"), validations=[demand("has(namespaceObject.metadata)", "")])
    problem = "cannot look up namespace 'shop': the API server answered 403: no"
    assert problem in run(asks).stdout


def test_params_are_those_of_the_cluster_where_no_document_gives_them(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    for name in ("a", "b"):
        contents.add(PODS, name, "shop")
    contents.add("/api/v1/configmaps", "allowed", "mail", data={"name": "a"})
    given = {"name": "allowed", "namespace": "mail", "parameterNotFoundAction": "Deny"}
    made = [
        vap(
            "named",
            rule("pods"),
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            validations=[demand("object.metadata.name == params.data.name", "another name")],
        ),
        vap_binding("named", policyName="named", paramRef=given),
    ]
    assert [row[1] for row in found(run(*made))] == ["Pod shop/b"]
    path = f"{NAMESPACES}/mail/configmaps/allowed"
    assert [call.path for call in server.calls].count(path) == 1
    contents.special = lambda call: refusal(403, "not for you") if call.path == path else None
    assert "403: not for you" in run(*made).stdout


MUTATION = policy(
    "quiet",
    rule("pods"),
    mutations=[apply_configuration("Object{spec: Object.spec{hostname: 'quiet'}}")],
)


def test_mutations_are_only_shown_and_change_no_verdict(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    contents.add(PODS, "a", "shop", spec={"hostname": "loud"})
    host = policy(
        "host", rule("pods"), validations=[demand("object.spec.hostname == 'quiet'", "loud")]
    )
    done = run(MUTATION, host)
    assert found(done) == [("denied", "Pod shop/a", "host")]
    assert done.stderr == "1 object: 0 admitted, 1 denied\n"
    done = run(MUTATION, host, flags=("--diff",))
    assert "--- Pod shop/a\n+++ Pod shop/a (mutated)\n" in done.stdout
    assert "-  hostname: loud\n+  hostname: quiet\n" in done.stdout
    assert done.stderr == "1 object: 0 admitted, 1 denied, 1 would change\n"
    server.calls.clear()
    run(MUTATION)
    assert listed(server) == []


def test_the_authorizer_is_the_clusters_for_the_user_that_is_named(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    for name in ("a", "b"):
        contents.add(PODS, name, "shop")
    may = demand(
        "authorizer.group('').resource('pods').namespace('shop').check('create').allowed()", "no"
    )
    made = policy("may", rule("pods"), validations=[may])
    done = run(made)
    assert "authorizer" in done.stdout and done.exit_code == 1
    assert run(made, flags=("--user", "alice")).exit_code == 0
    asked = [call.body["spec"] for call in server.calls if call.method == "POST"]
    assert [each["user"] for each in asked] == ["alice"]
    assert run(made, flags=("--user", "bob", "--group", "dev")).exit_code == 1


def test_reports_tell_objects_without_files(contents: Contents, run: Run) -> None:
    contents.add(PODS, "good", "shop", metadata={"labels": {"team": "a"}})
    contents.add(PODS, "bad", "shop")
    [told] = json.loads(run(teams(), flags=("--format", "json")).stdout)
    assert (told["kind"], told["namespace"], told["name"]) == ("Pod", "shop", "bad")
    assert "file" not in told
    assert [each["field"] for each in told["findings"]] == ["metadata.labels.team"]
    assert "line" not in told["findings"][0]
    everything = json.loads(run(teams(), flags=("--format", "json", "-v")).stdout)
    assert [each["name"] for each in everything] == ["good", "bad"]
    log = json.loads(run(teams(), flags=("--format", "sarif")).stdout)
    [result] = log["runs"][0]["results"]
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "Pod shop/bad"
    assert 'name="v1 Pod"' in run(teams(), flags=("--format", "junit")).stdout
    github = run(teams(), flags=("--format", "github")).stdout
    assert github == "::error title=team::Pod shop/bad: metadata.labels.team: no team\n"


def test_a_cluster_that_cannot_be_asked(run: Run, server: ApiServer) -> None:
    server.tokens.clear()
    done = run(teams())
    assert "cannot discover the cluster's resources: the API server answered 401" in str(
        done.exception
    )


def test_which_cluster(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = run(teams(), flags=("--context", "elsewhere"))
    assert "there is no context 'elsewhere'; did you mean here?" in str(done.exception)
    (tmp_path / ".kube").mkdir()
    (tmp_path / "kubeconfig").rename(tmp_path / ".kube/config")
    (tmp_path / "ca.crt").rename(tmp_path / ".kube/ca.crt")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(teams()).exit_code == 0
    monkeypatch.delenv("HOME")
    assert "elsewhere use --kubeconfig FILE" in str(run(teams()).exception)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2]}-{row[3][2]}" for row in ROWS])
def test_the_exit_status_counts_what_it_is_told_to(
    contents: Contents, run: Run, row: tuple[Any, dict[str, Any], str, tuple[int, int, int]]
) -> None:
    validation, spec, word, statuses = row
    contents.add(PODS, "web", "shop")
    document = policy("p", rule("pods"), validations=[validation], **spec)
    flags = ((), ("--fail-on", "warn"), ("--fail-on", "error"))
    done = [run(document, flags=each) for each in flags]
    assert tuple(each.exit_code for each in done) == statuses
    head, first = done[0].stdout.splitlines()
    assert head.split() == ["RESULT", "RESOURCE", "POLICY", "MESSAGE"]  # a cluster has no files
    assert first.split()[:4] == [word, "Pod", "shop/web", "p"]
    assert "explain" not in done[0].stderr


def test_results_have_a_path_that_code_scanning_accepts(contents: Contents, run: Run) -> None:
    contents.add(PODS, "web", "shop")
    done = run(policy("p", rule("pods"), validations=[FALSE]), flags=("--format", "sarif"))
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "Pod/shop/web"}


def unique_names() -> JSONObject:
    read = {"name": "pods", "apiVersion": "v1", "kind": "Pod", "namespace": "any"}
    read["key"] = "item.metadata.name"
    return policy(
        "unique",
        reads=[read],
        validations=[demand("!(object.metadata.name in reads.pods)", "twice")],
    )


def test_reads_find_the_objects_of_the_cluster(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    for name, namespace in (("a", "shop"), ("a", "lab"), ("b", "shop")):
        contents.add(PODS, name, namespace)
    done = run(unique_names())
    denied = [("denied", "Pod lab/a", "unique"), ("denied", "Pod shop/a", "unique")]
    assert sorted(found(done)) == denied
    # Once for the objects to check, and once for what is read.
    assert listed(server) == [PODS, PODS]
