"""``policyd apply``: the fields of several findings, of changed objects, and in every format."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import (
    EVERYTHING,
    demand,
    json_patch,
    overlay,
    policy,
    vap,
    vap_binding,
)
from tests.cli.apply.placed import (
    BY_PATTERN,
    CONFIG_MAP,
    IMAGES,
    POD,
    PODS,
    cel,
    findings,
    rest,
    run,
)

pytestmark = pytest.mark.usefixtures("folder")
DELETE = ("--operation", "DELETE")
BOUND = vap("v", EVERYTHING, validations=[IMAGES])
SELECTED: JSONObject = {"selector": {}, "namespace": "shop", "parameterNotFoundAction": "Deny"}


def limits(name: str, container: str) -> JSONObject:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"c": container}}


BY_PARAM = vap(
    "v",
    PODS,
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    validations=[cel("object.spec.containers.all(c, c.name != params.data.c)")],
)
PREPENDS = policy(
    "prepends",
    PODS,
    mutations=[
        json_patch(
            "[JSONPatch{op: 'add', path: '/spec/containers/0', "
            "value: {'name': 'side', 'image': 'q/side'}}]"
        )
    ],
)
SETS = policy("sets", PODS, mutations=[overlay({"metadata": {"labels": {"team": "a"}}})])
FAILS = policy("fails", PODS, mutations=[json_patch("[JSONPatch{op: object.spec.absent}]")])
IS_FIRST = cel("object.spec.containers[1].image == 'q'")
AFTER_SIDE = cel("object.spec.containers.all(c, c.image.startsWith('q/'))")
LABELLED = cel("object.metadata.labels.all(k, v, v == 'web')")
SIDE_ONLY = cel("object.spec.containers.all(c, c.image.startsWith('x/') || c.name != 'side')")
# The policies, more options, and the outcome, field and text at its place of each finding.
Findings = list[tuple[str, str, str]]
SETS_OF_POLICIES: list[tuple[list[JSONObject], tuple[str, ...], Findings]] = [
    ([BOUND, vap_binding(policyName="v")], (),
     [("deny", "spec.containers[1].image", "y/log:latest")]),
    ([BOUND, vap_binding(policyName="v", validationActions=["Warn", "Audit"])], (),
     [("warn", "spec.containers[1].image", "y/log"), ("audit", "spec.containers[1].image", "y/log")]),
    # Each param has its own findings.
    ([BY_PARAM, vap_binding(policyName="v", paramRef=SELECTED), limits("a", "log"),
      limits("b", "web")], (),
     [("deny", "spec.containers[1].name", "log"), ("deny", "spec.containers[0].name", "web")]),
    # What policies change: the item of the manifest, or the list if they added the item.
    ([PREPENDS, policy("p", PODS, validations=[IS_FIRST])], (),
     [("deny", "spec.containers[0].image", "x/web:1")]),
    ([PREPENDS, policy("p", PODS, validations=[AFTER_SIDE])], (),
     [("deny", "spec.containers[0].image", "x/web:1")]),
    ([PREPENDS, policy("p", PODS, validations=[SIDE_ONLY])], (),
     [("deny", "spec.containers", "containers:")]),
    ([PREPENDS, policy("p", PODS, validations=[BY_PATTERN])], (),
     [("deny", "spec.containers", "containers:")]),
    ([SETS, policy("p", PODS, validations=[cel("object.metadata.labels.team == 'b'")])], (),
     [("deny", "metadata.labels.team", "labels: {app")]),
    ([FAILS], (), [("deny", "spec.absent", "spec:")]),
    # The old object.
    ([policy("p", PODS, validations=[cel("oldObject.spec.containers.all(c, c.name != 'log')")])],
     DELETE, [("deny", "spec.containers[1].name", "log")]),
    ([policy("p", PODS, validations=[BY_PATTERN])], DELETE,
     [("deny", "spec.containers[1].image", "y/log:latest")]),
    ([policy("p", PODS, validations=[cel("oldObject.spec.hostNetwork == false")])],
     ("--old", "old.yaml"), [("deny", "", "apiVersion: v1")]),
    ([policy("p", PODS, validations=[cel("oldObject.spec.priority == object.spec.priority")])],
     ("--old", "old.yaml"), [("deny", "spec.priority", "spec:")]),
    # Rollouts, exceptions, several validations and several policies.
    ([policy("p", PODS, validations=[IMAGES], rollout={"enforce": {}})], (),
     [("would_deny", "spec.containers[1].image", "y/log:latest")]),
    ([policy("p", PODS, validations=[IMAGES], rollout={"enforce": {}})], ("--enforce-all",),
     [("deny", "spec.containers[1].image", "y/log:latest")]),
    ([policy("p", PODS, validations=[cel("object.spec.hostNetwork == false"), IMAGES,
                                     cel("object.spec.absent == 1")]),
      policy("a", PODS, validations=[BY_PATTERN])], (),
     [("deny", "spec.containers[1].image", "y/log:latest"), ("deny", "spec.hostNetwork", "true"),
      ("deny", "spec.containers[1].image", "y/log:latest"), ("deny", "spec.absent", "spec:")]),
    # An expression that cannot be told, as the policy was not evaluated.
    ([vap("v", PODS, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[IMAGES]),
      vap_binding(policyName="v", paramRef=SELECTED)], (), [("deny", "", "apiVersion: v1")]),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "flags", "expected"), SETS_OF_POLICIES)
def test_each_finding_has_its_own_field(
    policies: list[JSONObject], flags: tuple[str, ...], expected: Findings
) -> None:
    old = POD.replace("hostNetwork: true", "priority: 5")
    Path("old.yaml").write_text(old)
    done = run(POD, *policies, flags=("--format", "json", *flags))
    found = findings(done)
    assert [(each["outcome"], each["field"]) for each in found] == [row[:2] for row in expected]
    for each, (_, _, text) in zip(found, expected, strict=True):
        assert rest(POD, each).startswith(text), rest(POD, each)[:60]


def test_ignored_errors_have_their_field() -> None:
    errs = policy("p", PODS, validations=[cel("object.spec.absent == 1")], failurePolicy="Ignore")
    (found,) = json.loads(run(POD, errs, flags=("--format", "json")).stdout)
    (ignored,) = found["ignored"]
    assert (ignored["field"], ignored["line"], ignored["column"]) == ("spec.absent", 8, 1)
    assert "m.yaml:8:1  p       spec.absent: expression " in run(POD, errs).stdout


PLACE, FIELD = "m.yaml:19:12", "spec.containers[1].image"


def test_every_format_has_the_field_and_the_place() -> None:
    images = policy("p", PODS, validations=[IMAGES])
    assert f"denied  Pod shop/web  {PLACE}  p       {FIELD}: m\n" in run(POD, images).stdout
    github = run(POD, images, flags=("--format", "github")).stdout
    assert github == f"::error file=m.yaml,line=19,col=12,title=p::Pod shop/web: {FIELD}: m\n"
    junit = ElementTree.fromstring(run(POD, images, flags=("--format", "junit")).stdout)
    (case,) = junit.iter("testcase")
    assert (case.get("file"), case.get("line")) == ("m.yaml", "19")
    assert case.findtext("failure") == f"{PLACE}: {FIELD}: m"
    log = json.loads(run(POD, images, flags=("--format", "sarif")).stdout)
    (result,) = log["runs"][0]["results"]
    assert result["message"]["text"] == f"Pod shop/web: {FIELD}: m"
    (location,) = result["locations"]
    region = location["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (19, 12)
    assert location["logicalLocations"] == [
        {"fullyQualifiedName": "Pod shop/web", "kind": "resource"},
        {"fullyQualifiedName": FIELD, "kind": "property"},
    ]


def test_a_message_of_a_pattern_names_the_field_once() -> None:
    done = run(POD, policy("p", PODS, validations=[BY_PATTERN]))
    assert f"{PLACE}  p       m ({FIELD}: expected" in done.stdout


def test_standard_input_has_the_field_and_no_line() -> None:
    images = policy("p", PODS, validations=[IMAGES])
    (found,) = json.loads(run(POD, images, flags=("-", "--format", "json")).stdout)
    assert (found["file"], found["findings"][0]["field"]) == ("-", FIELD)
    assert not {"line", "column"} & {*found, *found["findings"][0]}
    assert (
        f"denied  Pod shop/web  -      p       {FIELD}: m\n"
        in run(POD, images, flags=("-",)).stdout
    )
    github = run(POD, images, flags=("-", "--format", "github")).stdout
    assert github == f"::error title=p::Pod shop/web: {FIELD}: m\n"
    log = json.loads(run(POD, images, flags=("-", "--format", "sarif")).stdout)
    (location,) = log["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"]["region"]["startLine"] == 1


DESCRIPTIONS: list[tuple[JSONObject, str | None]] = [
    (policy("p", description="Only x.", validations=[IMAGES]), "Only x."),
    (policy("p", validations=[IMAGES, cel("object.spec.x == 1"), demand("1 == 1", "n")]), "m\nn"),
    (vap("p", validations=[{"expression": " 1 == 1 "}]), "failed expression: 1 == 1"),
    (policy("p", validations=[{"pattern": {"spec": {"x": 1}}}]), None),
    (SETS, None),
    ({**vap("p"), "metadata": {"name": "p", "annotations": {
        "policies.kyverno.io/description": "Of Kyverno."}}}, "Of Kyverno."),
]  # fmt: skip


@pytest.mark.parametrize(("document", "description"), DESCRIPTIONS)
def test_the_full_description_of_a_rule_is_what_its_policy_says(
    document: JSONObject, description: str | None
) -> None:
    log = json.loads(run(CONFIG_MAP, document, flags=("--format", "sarif")).stdout)
    (rule_,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule_.get("fullDescription", {}).get("text") == description


def test_policies_are_traced_only_for_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(sources: object) -> None:
        raise AssertionError("traced")

    monkeypatch.setattr("policyd.offline.tracing.TracedPolicies.of_sources", unwanted)
    fine = policy("p", PODS, validations=[cel("has(object.spec)"), BY_PATTERN])
    assert findings(run(POD, fine, flags=("--format", "json")))[0]["field"] == FIELD


def test_a_policy_without_a_binding_checks_nothing() -> None:
    checks = vap("v", EVERYTHING, validations=[cel("true")])
    assert "no policy matches it" in run(POD, checks, flags=("-v",)).output
    assert (
        "checked by v" in run(POD, checks, vap_binding("v", policyName="v"), flags=("-v",)).output
    )
