"""Manifests are evaluated with the API server's defaults by every command that takes manifests;
reviews, and everything with --no-defaults, as they are.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import policyd as api
from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import definition, pod
from tests.builders.policies import (
    GADGETS,
    apply_configuration,
    demand,
    overlay,
    policy,
    rule,
    suite,
)
from tests.cli.folder import write

RUN_AS_NON_ROOT = "securityContext: Object.spec.securityContext{runAsNonRoot: true}"
POLICIES = [
    policy(
        "no-load-balancer",
        rule("services", operations=["*"]),
        validations=[
            {"expression": "object.spec.type != 'LoadBalancer'"},
            demand("oldObject == null || oldObject.spec.type == object.spec.type", "type changed"),
        ],
    ),
    policy(
        "non-root",
        rule("pods", operations=["CREATE"]),
        mutations=[apply_configuration(f"Object{{spec: Object.spec{{{RUN_AS_NON_ROOT}}}}}")],
    ),
    policy("gadgets", GADGETS, validations=[{"expression": "object.spec.size < 10"}]),
]
PULL_POLICY = "object.spec.containers.all(c, c.imagePullPolicy == 'IfNotPresent')"
PULLED = policy(
    "not-always",
    validations=[
        {
            "expression": PULL_POLICY,
            "messageExpression": "string(object.spec.containers[0].imagePullPolicy)",
        }
    ],
)
SIZED = {"type": "object", "default": {}, "properties": {"size": {"type": "integer", "default": 1}}}
DEFINITION = definition("Gadget", "example.com", SIZED)
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"ports": [{"port": 80}]},
}
GADGET = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}
POD = pod()
# The mutated Pod, and the same with one of its defaults.
PATCHED = pod(securityContext={"runAsNonRoot": True})
SPELLED_OUT = pod(securityContext={"runAsNonRoot": True}, dnsPolicy="ClusterFirst")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("policies.yaml", *POLICIES)
    write("definition.yaml", DEFINITION)
    for name, manifest in (("service", SERVICE), ("pod", POD), ("gadget", GADGET)):
        Path(f"{name}.json").write_text(json.dumps(manifest))
    Path("review.json").write_text(json.dumps(build_review(SERVICE)))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(policyd, arguments, catch_exceptions=False)


def applied(*arguments: str) -> list[Any]:
    result = run("apply", "-p", "policies.yaml", "--format", "json", *arguments)
    found: list[Any] = json.loads(result.stdout)
    return found


def test_apply() -> None:
    assert applied("service.json")[0]["allowed"]
    (plain,) = applied("--no-defaults", "service.json")
    assert "no such key: type" in plain["message"]


def test_apply_compares_old_manifests_with_their_defaults() -> None:
    Path("new.json").write_text(
        json.dumps({**SERVICE, "spec": {"type": "ClusterIP", "ports": [{"port": 81}]}})
    )
    assert applied("new.json", "--old", "service.json")[0]["allowed"]


def test_apply_uses_definitions_of_the_policies_and_of_the_manifests() -> None:
    assert not applied("gadget.json")[0]["allowed"]
    assert applied("gadget.json", "-p", "definition.yaml")[0]["allowed"]
    assert applied("gadget.json", "definition.yaml")[0]["allowed"]
    assert not applied("gadget.json", "definition.yaml", "--no-defaults")[0]["allowed"]


def test_apply_writes_only_what_mutations_changed() -> None:
    (found,) = applied("pod.json", "--output-dir", "out")
    assert json.loads(Path("out/pod.json").read_text()) == PATCHED
    change = {"runAsNonRoot": True}
    assert found["patch"] == [{"op": "add", "path": "/spec/securityContext", "value": change}]
    shown = run("apply", "-p", "policies.yaml", "--diff", "pod.json").stdout.splitlines()
    added = [line[1:].strip() for line in shown if line.startswith("+") and line[1:2] != "+"]
    assert added == ["securityContext:", "runAsNonRoot: true"]


def test_apply_writes_no_file_for_defaults_alone() -> None:
    applied("service.json", "--output-dir", "out")
    assert not Path("out/service.json").exists()
    printed = run("apply", "-p", "policies.yaml", "--mutated", "service.json").stdout
    assert printed.strip() == Path("service.json").read_text()


COMMENTED = """\
# what comes first
apiVersion: v1
kind: Pod
metadata: {name: web}  # of the shop
spec:
  containers:
  - name: app  # one
    image: app:1
    ports: [{containerPort: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}  # its type is a default
"""
MUTATED = COMMENTED.replace("80}]\n---", "80}]\n  securityContext:\n    runAsNonRoot: true\n---")


def test_apply_keeps_the_text_around_what_mutations_changed() -> None:
    Path("all.yaml").write_text(COMMENTED)
    arguments = ("apply", "-p", "policies.yaml", "all.yaml")
    assert run(*arguments, "--mutated").stdout == MUTATED
    run(*arguments, "--output-dir", "out")
    assert Path("out/all.yaml").read_text() == MUTATED


def test_the_command_that_explains_applies_no_defaults_either() -> None:
    arguments = ("apply", "-p", "policies.yaml", "service.json")
    assert "policyd explain" not in run(*arguments).stderr
    shown = run(*arguments, "--no-defaults").stderr
    assert "policyd explain -p policies.yaml --no-defaults service.json" in shown


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("--object", "service.json"), True),
        (("--object", "--no-defaults", "service.json"), False),
        (("review.json",), False),
    ],
)
def test_review(arguments: tuple[str, ...], allowed: bool) -> None:
    answer = json.loads(run("review", "-p", "policies.yaml", *arguments).stdout)
    assert answer["response"]["allowed"] is allowed


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("service.json",), True),
        (("--no-defaults", "service.json"), False),
        (("review.json",), False),
    ],
)
def test_explain(arguments: tuple[str, ...], allowed: bool) -> None:
    shown = run("explain", "-p", "policies.yaml", *arguments).stdout
    assert ("\nALLOWED" in shown) is allowed
    assert ('object.spec.type = "ClusterIP"' in shown or "ALLOWED" in shown) is allowed
    assert ("with the API server's defaults" in shown.splitlines()[0]) is allowed


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "--cluster"),
        ("review", "review.json"),
        ("explain", "review.json"),
    ],
)
def test_only_manifests_can_be_without(arguments: tuple[str, ...]) -> None:
    command, *others = arguments
    result = run(command, "-p", "policies.yaml", "--no-defaults", *others)
    assert (result.exit_code, "--no-defaults" in result.stderr) == (2, True)


def test_each_manifest_of_a_file_is_explained_with_the_definitions_in_it() -> None:
    write("all.yaml", DEFINITION, GADGET, SERVICE)
    shown = run("explain", "-p", "policies.yaml", "all.yaml").stdout
    assert shown.count("with the API server's defaults\nALLOWED") == 3
    shown = run("explain", "-p", "policies.yaml", "all.yaml", "--no-defaults").stdout
    assert (shown.count("\nDENIED"), shown.count("defaults")) == (2, 0)
    selected = ("--object", "--select", "Gadget/a", "all.yaml")
    answer = json.loads(run("review", "-p", "policies.yaml", *selected).stdout)
    assert answer["response"]["allowed"]


def test_a_review_beside_manifests_is_explained_as_it_is() -> None:
    write("both.yaml", build_review(SERVICE), SERVICE)
    shown = run("explain", "-p", "policies.yaml", "both.yaml").stdout
    assert (shown.count("\nDENIED"), shown.count("\nALLOWED")) == (1, 1)


def write_suite(*cases: JSONObject, **more: Any) -> None:
    write("suite.yaml", suite(policies=["policies.yaml"], cases=list(cases), **more))


def case(name: str, request: JSONObject, expect: JSONObject, **more: Any) -> JSONObject:
    return {"name": name, "request": request, "expect": expect, **more}


ADMITTED, DENIED = {"allowed": True}, {"allowed": False, "message": "no such key: type"}


@pytest.mark.parametrize(
    ("of_suite", "of_case", "defaulted"),
    [
        ({}, {}, True),
        ({"defaults": False}, {}, False),
        ({}, {"defaults": False}, False),
        ({"defaults": False}, {"defaults": True}, True),
    ],
)
def test_a_suite_may_do_without_defaults(
    of_suite: JSONObject, of_case: JSONObject, defaulted: bool
) -> None:
    expect = ADMITTED if defaulted else DENIED
    write_suite(case("c", {"object": SERVICE}, expect, **of_case), **of_suite)
    assert run("test", "suite.yaml").exit_code == 0
    assert run("test", "suite.yaml", "--no-defaults").exit_code == (1 if defaulted else 0)


@pytest.mark.parametrize("of_suite", [True, False])
def test_a_row_may_do_without_defaults(of_suite: bool) -> None:
    rows = [
        {"name": "as its case", "expect": DENIED},
        {"name": "with", "defaults": True, "expect": ADMITTED},
    ]
    table = {"name": "t", "request": {"object": SERVICE}, "defaults": False, "table": rows}
    write_suite(table, defaults=of_suite)
    result = run("test", "suite.yaml", "--format", "json")
    assert [each["passed"] for each in json.loads(result.stdout)] == [True, True]


def test_a_row_changes_the_manifest_before_its_defaults() -> None:
    image = "spec.containers[0].image"
    rows = [
        {"name": "latest", "set": {image: "app"}, "expect": DENIED | {"message": "Always"}},
        {"name": "tagged", "set": {image: "app:1"}, "expect": ADMITTED},
    ]
    write("policies.yaml", PULLED)
    write_suite({"name": "t", "request": {"object": POD}, "table": rows})
    assert run("test", "suite.yaml").exit_code == 0


def test_update_writes_no_defaults() -> None:
    write_suite(
        {"name": "new", "request": {"object": pod()}},
        case("wrong", {"object": pod()}, {"patched": pod()}),
        case("spelled out", {"object": pod()}, {"patched": SPELLED_OUT}),
    )
    assert run("test", "suite.yaml", "--update").exit_code == 0
    cases = yaml.safe_load(Path("suite.yaml").read_text())["cases"]
    found = [each["expect"]["patched"] for each in cases]
    assert found == [PATCHED, PATCHED, SPELLED_OUT]


def test_whole_reviews_of_a_suite_are_as_recorded() -> None:
    whole = build_review(SERVICE)
    write_suite(
        case("review", {"review": whole}, DENIED),
        case("file", {"reviewFile": "review.json"}, DENIED),
    )
    assert run("test", "suite.yaml").exit_code == 0


PULLS = {"validations": [demand("object.spec.containers.all(c, c.imagePullPolicy != '')", "no")]}
SIDE = {"spec": {"containers": [{"name": "side", "image": "side"}]}}


def test_what_mutations_add_to_a_recorded_object_gets_defaults() -> None:
    """As the API server adds them again after each webhook that changes an object."""
    adding = policy("adds", mutations=[overlay(SIDE)], **PULLS)
    write("policies.yaml", adding)
    write("plain.yaml", policy("adds", **PULLS))
    whole = api.build_review(pod())
    assert whole["request"]["object"]["spec"]["containers"][0]["imagePullPolicy"]
    Path("review.jsonl").write_text(json.dumps(whole))
    write_suite(case("whole", {"review": whole}, ADMITTED))
    assert run("test", "suite.yaml").exit_code == 0
    assert run("test", "suite.yaml", "--no-defaults").exit_code == 1
    flags = ("-p", "policies.yaml", "--against", "plain.yaml", "--format", "json")
    changes = json.loads(run("replay", *flags, "review.jsonl").stdout)
    assert [each["change"] for each in changes] == ["other object"]


def test_patched_is_compared_with_or_without_defaults() -> None:
    other = {**PATCHED, "spec": {**PATCHED["spec"], "dnsPolicy": "Default"}}
    patch = [{"op": "add", "path": "/spec/securityContext", "value": {"runAsNonRoot": True}}]
    write_suite(
        case("without", {"object": POD}, {"patched": PATCHED, "patch": patch}),
        case("with", {"object": POD}, {"patched": SPELLED_OUT}),
        case("wrong", {"object": POD}, {"patched": other}),
    )
    result = run("test", "suite.yaml", "--format", "json")
    assert [each["passed"] for each in json.loads(result.stdout)] == [True, True, False]
