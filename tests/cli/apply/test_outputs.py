"""``policyd apply``: results, exit statuses, the mutated stream, and the command that explains."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from tests.builders.policies import demand, json_patch, labelling, policy, rule
from tests.cli.program import program as called
from tests.cli.terminal import SCRIPT
from tests.shared import ROOT

PODS = rule("pods", operations=["CREATE", "UPDATE"])
NAMED = demand("object.metadata.name != 'bad'", "a bad name")
ERRS = demand("object.spec.absent == 1", "never")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {}  # empty\n"
BAD = POD.replace("web", "bad")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    policies(policy("named", PODS, validations=[NAMED]))
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "two.yaml").write_text(f"{POD}---\n# the second\n{BAD}")
    return tmp_path


def policies(*documents: Any) -> None:
    Path("policies.json").write_text("\n".join(map(json.dumps, documents)))


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["apply", "-p", "policies.json", *arguments], input=text)


def results(done: Result) -> list[list[str]]:
    """Result, place and policy of each row of the table."""
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return [[row[0], *row[3:5]] for row in rows]


# Of a policy that errs: (spec), the rows, the summary, the exit status by what --fail-on names.
DENY: dict[str, Any] = {"validationActions": ["Deny"]}
ERRORS: list[tuple[dict[str, Any], list[str], str, dict[str, int]]] = [
    ({}, ["error"], "0 admitted, 0 denied, 1 error", {"": 1, "warn": 1, "error": 1}),
    ({"validationActions": ["Warn"]}, ["warning"],
     "1 admitted, 0 denied, 1 warning, 1 error without effect", {"": 0, "warn": 1, "error": 1}),
    ({"validationActions": ["Audit"]}, ["audit"],
     "1 admitted, 0 denied, 1 error without effect", {"": 0, "warn": 0, "error": 1}),
    ({"failurePolicy": "Ignore"}, ["ignored"],
     "1 admitted, 0 denied, 1 error without effect", {"": 0, "warn": 0, "error": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "rows", "summary", "statuses"), ERRORS)
def test_an_error_is_a_result_of_its_own(
    spec: dict[str, Any], rows: list[str], summary: str, statuses: dict[str, int]
) -> None:
    policies(policy("errs", PODS, validations=[ERRS], **spec))
    for fail_on, status in statuses.items():
        done = run("pod.yaml", *(["--fail-on", fail_on] if fail_on else []))
        assert done.exit_code == status, fail_on
        assert results(done) == [[row, "pod.yaml:4:1", "errs"] for row in rows]
        assert done.stderr.splitlines()[0] == f"1 object: {summary}"


def test_an_object_that_is_denied_also_by_an_error_counts_as_error() -> None:
    policies(policy("both", PODS, validations=[NAMED, ERRS]))
    done = run("two.yaml")
    assert [row[0] for row in results(done)] == ["error", "denied", "error"]
    assert done.stderr.startswith("2 objects: 0 admitted, 0 denied, 2 errors\n")


def test_what_failure_policy_ignores_is_in_every_format() -> None:
    policies(policy("errs", PODS, validations=[ERRS], failurePolicy="Ignore"))
    (found,) = json.loads(run("pod.yaml", "--format", "json").stdout)
    assert [each["policy"] for each in found["ignored"]] == ["errs"]
    assert "no such key: absent" in found["ignored"][0]["message"]
    assert "::notice file=pod.yaml,line=4,col=1,title=errs::Pod shop/web: spec.absent: error" in (
        run("pod.yaml", "--format", "github").stdout
    )


def test_warnings_count_only_where_they_are_to() -> None:
    policies(policy("warns", PODS, validations=[NAMED], validationActions=["Warn"]))
    for flags, status in (((), 0), (("--fail-on", "error"), 0), (("--fail-on", "warn"), 1)):
        assert run("two.yaml", *flags).exit_code == status
    assert run("pod.yaml", "--fail-on", "warn").exit_code == 0


def test_names_of_test_cases_differ() -> None:
    policies(policy("p", PODS, validations=[NAMED, ERRS, ERRS | {"message": "x"}]))
    suites = ElementTree.fromstring(run("two.yaml", "--format", "junit").stdout)
    names = [case.get("name") for case in suites.iter("testcase")]
    assert names == [
        "Pod shop/web: p[1]", "Pod shop/web: p[2]",
        "Pod shop/bad: p[0]", "Pod shop/bad: p[1]", "Pod shop/bad: p[2]",
    ]  # fmt: skip
    assert (suites.get("failures"), suites.get("errors")) == ("1", "4")


def test_the_place_is_the_shortest_path(folder: Path) -> None:
    (folder / "below").mkdir()
    assert results(run(str(folder / "two.yaml")))[0][1] == "two.yaml:9:18"
    os.chdir(folder / "below")
    done = CliRunner().invoke(policyd, ["apply", "-p", "../policies.json", "../two.yaml"])
    assert results(done)[0][1] == "../two.yaml:9:18"


MUTATES = policy("labels", PODS, mutations=[labelling("team", "'a'")])


def test_json_has_the_diff() -> None:
    policies(MUTATES)
    (found,) = json.loads(run("pod.yaml", "--format", "json", "--diff").stdout)
    assert found["patch"] == [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]
    assert "+  labels:\n+    team: a\n" in found["diff"]
    assert "diff" not in json.loads(run("pod.yaml", "--format", "json").stdout)[0]


def test_the_mutated_stream_is_the_text_with_the_changes() -> None:
    policies(MUTATES)
    text = f"---\n# Source: chart/pod.yaml\n{POD}---\nnotes: none\n"
    done = run("--mutated", "-", "-v", "--diff", text=text)
    assert done.exit_code == 0
    assert done.stdout == text.replace("namespace: shop}", "namespace: shop, labels: {team: a}}")
    assert "admitted  Pod shop/web" in done.stderr and "+    team: a" in done.stderr
    assert "1 object: 1 admitted, 0 denied, 1 mutated; 1 document skipped" in done.stderr


NAMELESS = "apiVersion: v1\nkind: Pod\n"
NAMED_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
# The operations of a patch, the manifest, and the metadata that is written.
METADATA: list[tuple[str, str, Any]] = [
    ("op: 'replace', path: '/metadata/namespace', value: 'x'", NAMED_POD,
     {"name": "a", "namespace": "x"}),
    ("op: 'remove', path: '/metadata/namespace'", NAMED_POD, {"name": "a"}),
    ("op: 'add', path: '/metadata/labels', value: {'a': 'b'}", NAMED_POD,
     {"name": "a", "labels": {"a": "b"}}),
    ("op: 'add', path: '/metadata/labels', value: {'a': 'b'}", NAMELESS, {"labels": {"a": "b"}}),
    ("op: 'add', path: '/spec', value: {}", NAMELESS, None),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "text", "metadata"), METADATA)
def test_the_namespace_of_the_request_is_not_written(
    operation: str, text: str, metadata: Any
) -> None:
    policies(policy("p", PODS, mutations=[json_patch(f"[JSONPatch{{{operation}}}]")]))
    done = run("--mutated", "-", text=text)
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    assert yaml.safe_load(done.stdout).get("metadata") == metadata


def test_an_object_may_be_as_deep_as_in_a_request() -> None:
    policies(MUTATES)
    deep = '{"a":' * 950 + "1" + "}" * 950
    text = f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "a"}}, "spec": {deep}}}\n'
    done = run("--mutated", "-", "--diff", text=text)
    assert done.exit_code == 0, done.exception
    assert done.stdout == text.replace('"name": "a"', '"name": "a", "labels": {"team": "a"}')


def test_several_files_are_one_stream() -> None:
    policies(MUTATES)
    Path("one.json").write_text(json.dumps(yaml.safe_load(POD)))
    Path("values.yaml").write_text("a: 1")
    Path("end.yaml").write_text(POD.rstrip("\n"))
    done = run("--mutated", ".", "--exclude", "policies.json", "--exclude", "two.yaml")
    documents = list(yaml.safe_load_all(done.stdout))
    assert [each["metadata"]["labels"] for each in documents] == [{"team": "a"}] * 3


@pytest.mark.parametrize(
    ("text", "flags", "status"),
    [(BAD, (), 1), (f"{POD}---\na: [\n", (), 2), (POD, ("--fail-on", "warn"), 1)],
)
def test_nothing_is_printed_for_a_pipe_unless_all_is_well(
    text: str, flags: tuple[str, ...], status: int
) -> None:
    warns = policy("warns", PODS, validations=[demand("false", "w")], validationActions=["Warn"])
    policies(policy("named", PODS, validations=[NAMED]), warns, MUTATES)
    for form in ("text", "json", "junit"):
        done = run("--mutated", "-", "--format", form, *flags, text=text)
        assert (done.exit_code, done.stdout) == (status, "")
        assert "Pod" in done.stderr or form == "text"


POST_RENDERER = (ROOT / "docs/test/manifests.md").read_text()


def test_the_post_renderer_of_the_documentation(folder: Path) -> None:
    """Helm's protocol: the manifests on standard input, the result on standard output; any other
    exit status than 0 ends the release.
    """
    (script,) = [
        block.partition("\n")[2]
        for block in POST_RENDERER.split("```")[1::2]
        if block.startswith("bash\n#!/bin/sh")
    ]
    policies(policy("named", PODS, validations=[NAMED]), MUTATES)
    (folder / "policies").mkdir()
    (folder / "policies.json").rename(folder / "policies/all.json")
    post = folder / "policyd-post-renderer"
    post.write_text(script)
    post.chmod(0o755)
    done = shell("./policyd-post-renderer", text=POD)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["metadata"]["labels"] == {"team": "a"}
    assert "# empty" in done.stdout
    refused = shell("./policyd-post-renderer", text=BAD)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "a bad name" in refused.stderr


def shell(
    command: str, text: str = "", program: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that may call policyd."""
    path = f"{(program or called()).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        input=text,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def explained(*arguments: str, text: str | None = None) -> tuple[str, str]:
    """The command below the table, and what it prints when it is run as it is."""
    done = run(*arguments, text=text)
    head, line = done.stderr.splitlines()[-2:]
    assert head.startswith("to explain the first denial")
    result = shell(line.strip(), text or "")
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return line.strip(), result.stdout


def test_the_command_that_explains_runs_as_it_is(folder: Path) -> None:
    line, said = explained("two.yaml")
    assert line == "policyd explain -p policies.json two.yaml --select Pod/shop/bad"
    request = "CREATE Pod bad in namespace shop by policyd, with the API server's defaults"
    assert said.startswith(f"{request}\nDENIED 422")
    (folder / "it's bad.yaml").write_text(BAD)
    line, said = explained("it's bad.yaml")
    assert line == """policyd explain -p policies.json 'it'"'"'s bad.yaml'"""
    assert "DENIED" in said
    (folder / "-x.yaml").write_text(BAD)
    assert explained("--", "-x.yaml")[0].endswith(" ./-x.yaml")
    line, said = explained("-", text=f"{POD}---\n{BAD}")
    assert line == "policyd explain -p policies.json - --select Pod/shop/bad"
    assert "DENIED" in said


def test_the_command_that_explains_has_the_options_of_the_run(folder: Path) -> None:
    told = {
        "expression": "!authorizer.group('').resource('pods').check('get').allowed()",
        "messageExpression": "request.operation + ' by ' + request.userInfo.username"
        " + request.userInfo.groups[1] + ' in ' + request.namespace"
        " + namespaceObject.metadata.labels['env']",
    }
    policies(policy("told", PODS, validations=[told]))
    (folder / "rules.yaml").write_text("- {user: bob, resource: pods, verb: get}\n")
    (folder / "old").mkdir()
    (folder / "old/a.yaml").write_text(f"{BAD}---\n{POD}".replace(", namespace: shop", ""))
    (folder / "new.yaml").write_text(f"{BAD}---\n{POD}".replace(", namespace: shop", ""))
    flags = ["--user", "bob", "--group", "a", "--group=b", "-n", "mail", "--old", "old"]
    flags += ["--namespace-labels", "env=prod", "--authorizer", "rules.yaml", "--no-defaults"]
    line, said = explained("new.yaml", *flags, "--kubernetes-version", "1.36", "--fail-on", "warn")
    assert "UPDATE by bobb in mailprod" in said
    assert "--kubernetes-version 1.36" in line and "--fail-on" not in line
    assert "--no-defaults" in line and "with the API server's defaults" not in said
    (folder / "one.yaml").write_text(BAD.replace("bad", "new"))
    rest = ["--user", "bob", "--group", "a", "--group", "b", "--authorizer", "rules.yaml"]
    labelled = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: test}}\n"
    (folder / "namespace.yaml").write_text(labelled)
    line, said = explained("one.yaml", "namespace.yaml", "--old", "old", *rest)
    assert "CREATE by bobb in shoptest" in said
    assert "--old" not in line and "--namespace-labels env=test" in line
    annotated = labelled.replace("labels: {env: test}", "labels: {env: dev}, annotations: {a: b}")
    (folder / "namespace.yaml").write_text(annotated)
    line, said = explained("one.yaml", "namespace.yaml", *rest)
    assert "-p namespace.yaml" in line and "in shopdev" in said


def test_a_pipe_of_the_shell_cannot_be_read_again() -> None:
    done = shell("policyd apply -p policies.json <(cat two.yaml)", program=SCRIPT)
    assert (done.returncode, "explain" in done.stderr) == (1, False), done.stderr
    assert "a bad name" in done.stdout


def test_nothing_denied_needs_no_explanation() -> None:
    assert run("pod.yaml").stderr == "1 object: 1 admitted, 0 denied\n"
    assert "explain" not in run("two.yaml", "--format", "json").stderr
