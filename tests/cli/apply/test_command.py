"""``policyd apply``: manifests in, a table or a report out, and the manifests as mutated."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from tests.builders.policies import TEAM, apply_configuration, demand, policy, rule
from tests.cli.folder import write

PODS = rule("pods", operations=["*"])
POLICIES = [
    policy(
        "team", PODS, description="Pods say their team.", podControllers=True, validations=[TEAM]
    ),
    policy(
        "old-images",
        PODS,
        match={"namespaceSelector": {"matchLabels": {"env": "prod"}}},
        validationActions=["Warn", "Audit"],
        validations=[demand("request.operation == 'UPDATE'", "only updates")],
    ),
    policy(
        "no-token",
        rule("pods", operations=["CREATE"]),
        mutations=[
            apply_configuration("Object{spec: Object.spec{automountServiceAccountToken: false}}")
        ],
    ),
]
MANIFESTS = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {env: prod}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop, labels: {team: a}}
  spec: {containers: [{name: web, image: "web:1"}]}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: api}
  spec: {template: {spec: {containers: [{name: api, image: "api:1"}]}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("policies.yaml", *POLICIES)
    (tmp_path / "deploy/app").mkdir(parents=True)
    (tmp_path / "deploy/app/all.yaml").write_text(MANIFESTS)
    return tmp_path


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["apply", "-p", "policies.yaml", *arguments], input=text)


def test_the_table_tells_what_is_denied_and_warned_of() -> None:
    done = run("deploy")
    assert done.exit_code == 1
    lines = [line.split(None, 5) for line in done.stdout.splitlines()]
    assert lines == [
        ["RESULT", "RESOURCE", "PLACE", "POLICY", "MESSAGE"],
        ["warning", "Pod", "shop/web", "deploy/app/all.yaml:8:3", "old-images", "only updates"],
        ["audit", "Pod", "shop/web", "deploy/app/all.yaml:8:3", "old-images", "only updates"],
        ["denied", "Deployment", "api", "deploy/app/all.yaml:15:10", "team",
         "spec.template.metadata.labels.team: no team"],
    ]  # fmt: skip
    summary = "3 objects: 2 admitted, 1 denied, 1 mutated, 1 warning\n"
    assert done.stderr.startswith(summary)


def test_what_is_admitted_is_silent_and_exits_with_0() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {team: a}}\nspec: {containers: []}\n"
    done = run("-", text=pod)
    assert (done.exit_code, done.stdout) == (0, "")
    assert (
        "admitted  Pod a     -      -       checked by no-token and 1 more"
        in run("-", "-v", text=pod).stdout
    )


def test_json_has_everything() -> None:
    done = run("deploy", "--format", "json")
    namespace, pod, deployment = json.loads(done.stdout)
    assert (namespace["allowed"], namespace["policies"]) == (True, [])
    assert (pod["file"], pod["line"], pod["allowed"]) == ("deploy/app/all.yaml", 8, True)
    assert pod["policies"] == ["no-token", "old-images", "team"]
    path = "/spec/automountServiceAccountToken"
    assert pod["patch"] == [{"op": "add", "path": path, "value": False}]
    assert deployment["message"] == "policy 'team' denied request: no team"
    assert deployment["findings"] == [
        {"policy": "team", "kind": "Policy", "binding": "", "outcome": "deny",
         "message": "no team", "error": False, "index": 0, "rollout": "",
         "field": "spec.template.metadata.labels.team", "line": 15, "column": 10},
    ]  # fmt: skip


def test_reports_for_programs() -> None:
    junit = ElementTree.fromstring(run("deploy", "--format", "junit").stdout)
    assert (junit.get("tests"), junit.get("failures")) == ("4", "1")
    assert {case.get("name") for case in junit.iter("testcase")} == {
        "Namespace shop", "Pod shop/web: old-images[0]", "Pod shop/web: old-images[0] (2)",
        "Deployment api: team[0]",
    }  # fmt: skip
    log = json.loads(run("deploy", "--format", "sarif").stdout)
    assert [each["level"] for each in log["runs"][0]["results"]] == ["warning", "note", "error"]
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["team"]["shortDescription"]["text"] == "Pods say their team."
    done = run("deploy", "--format", "github")
    expected = "::error file=deploy/app/all.yaml,line=15,col=10,title=team::Deployment api: "
    expected += "spec.template.metadata.labels.team: no team"
    assert expected in done.stdout.splitlines()
    assert done.exit_code == 1


def test_an_older_manifest_makes_it_an_update(folder: Path) -> None:
    (folder / "old.yaml").write_text(MANIFESTS)
    done = run("deploy", "--old", "old.yaml")
    assert "old-images" not in done.stdout  # it admits updates
    assert "1 mutated" not in done.stderr  # the mutation is for CREATE


def test_a_delete_has_only_the_old_object() -> None:
    done = run("deploy", "--operation", "DELETE")
    assert "expression 'team' in" not in done.stdout
    denied = [line for line in done.stdout.splitlines() if line.startswith("error")]
    assert len(denied) == 1 and "Pod shop/web" in denied[0], done.stdout


def test_the_namespace_is_written_into_the_object_as_the_api_server_does(folder: Path) -> None:
    written = demand("object.metadata.namespace == 'default'", "not written")
    write("policies.yaml", policy("written", PODS, validations=[written]))
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    assert run("-", text=pod).exit_code == 0


def test_labels_of_namespaces_can_be_given() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {team: a}}\nspec: {}\n"
    assert "old-images" not in run("-", text=pod).stdout
    assert "old-images" in run("-", "--namespace-labels", "env=prod", text=pod).stdout


def test_diff_shows_what_mutations_changed() -> None:
    done = run("deploy", "--diff")
    assert "--- deploy/app/all.yaml: Pod shop/web\n" in done.stdout
    changed = [line for line in done.stdout.splitlines() if line[:1] in "+-" and line[1:2] == " "]
    assert changed == ["+  automountServiceAccountToken: false"]
    assert "\x1b[" not in done.stdout


def test_mutated_manifests_are_written_where_they_were_found(folder: Path) -> None:
    (folder / "one.json").write_text(
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}'
    )
    (folder / "deploy/same.yaml").write_text("apiVersion: v1\nkind: Namespace\n")
    done = run("deploy", "one.json", "--output-dir", "out")
    assert "wrote out/app/all.yaml\nwrote out/one.json\n1 file unchanged" in done.stderr
    assert not (folder / "out/same.yaml").exists()
    spec = "  spec: {containers: [{name: web, image: "
    mutated = MANIFESTS.replace(
        f'{spec}"web:1"}}]}}', f'{spec}"web:1"}}], automountServiceAccountToken: false}}'
    )
    assert (folder / "out/app/all.yaml").read_text() == mutated != MANIFESTS
    one = json.loads((folder / "out/one.json").read_text())
    assert one["spec"] == {"automountServiceAccountToken": False}


BAD = [
    (["nowhere.yaml"], "", "nowhere.yaml: no such file or directory"),
    (["-"], "kind: Pod\n", "a document needs apiVersion and kind; apiVersion is missing"),
    (["-"], "a: [\n", "-:1:4: "),
    (["-"], "# nothing\n", "no manifests on standard input"),
    (["-", "--namespace-labels", "prod"], "", "expected KEY=VALUE, got 'prod'"),
]


@pytest.mark.parametrize("arguments, text, message", BAD, ids=[row[2][:30] for row in BAD])
def test_bad_input_is_told(arguments: list[str], text: str, message: str) -> None:
    done = run(*arguments, text=text)
    assert done.exit_code not in (0, 1) or done.exception is not None
    assert message in done.output + str(done.exception)


MISUSED = [
    (["--cluster", "pod.yaml"], "cannot be combined with --cluster"),
    (["--cluster", "--operation", "DELETE"], "cannot be combined with --cluster"),
    (["-n", "shop", "-n", "mail", "pod.yaml"], "may be repeated only with --cluster"),
    (["--cluster", "--mutated"], "cannot be combined with --cluster"),
    (["pod.yaml", "--diff", "--format", "sarif"], "--diff requires --format text or json"),
    (["--kubeconfig", "x", "pod.yaml"], "require --cluster"),
    ([], "Missing argument 'PATHS...' (or --cluster)."),
]


@pytest.mark.parametrize(("flags", "message"), MISUSED, ids=[row[1][:20] for row in MISUSED])
def test_options_that_do_not_go_together(flags: list[str], message: str) -> None:
    done = run(*flags)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
