"""``policyd explain``: what people read, what programs read, and the exit codes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policyd.policy.suite.reviews import build_review
from tests.builders.policies import add_label, demand, overlay, policy, rule
from tests.cli.folder import write
from tests.cli.terminal import run

CREATED = rule("pods", operations=["CREATE"])
POLICIES = [
    policy(
        "tagged",
        matchConditions=[
            {"name": "no-jobs", "expression": "!object.metadata.name.startsWith('job')"}
        ],
        variables=[{"name": "images", "expression": "object.spec.containers.map(c, c.image)"}],
        validations=[
            demand("variables.images.all(i, i.contains(':'))", "images need a tag"),
            {"expression": "size(variables.images) < 9"},
        ],
    ),
    policy(
        "labels",
        CREATED,
        match={"objectSelector": {"matchLabels": {"label": "me"}}},
        mutations=[add_label("'y'")],
    ),
    policy(
        "only-production",
        CREATED,
        match={"namespaceSelector": {"matchLabels": {"env": "prod"}}},
        validations=[demand("request.userInfo.username != 'bob'", "not by bob")],
    ),
]
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b"}]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(str(tmp_path / "policies.yaml"), *POLICIES)
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    return tmp_path


def explain(folder: Path, *arguments: str, pod: Any = None) -> subprocess.CompletedProcess[str]:
    text = json.dumps(POD if pod is None else pod)
    policies = str(folder / "policies.yaml")
    return run("explain", "-p", policies, *arguments, cwd=folder, text=text)


DENIED = """\
CREATE Pod web in namespace shop by policyd
DENIED 422 Invalid by the validating webhook
  spec.containers: policy 'tagged' denied request: images need a tag

-- validate --
denies: Policy tagged  policies.yaml:4
    match: resourceRules[0] matches
  + matchConditions[0] no-jobs = true  (cost 5)
  x validations[0] = false  (cost 13)
      message: spec.containers: images need a tag
      | variables.images.all(i, i.contains(':'))
    > [1] i = "b"
        i.contains(":") = false
      … 1 other iteration
      variables.images = ["a:1", "b"]
        | object.spec.containers.map(c, c.image)
        object.spec.containers = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b"}]
        [0] c = {"name": "a", "image": "a:1"}
          c.image = "a:1"
        [1] c = {"name": "b", "image": "b"}
          c.image = "b"
  + validations[1] = true  (cost 4)

- only-production: namespaceSelector does not match

-- mutate --
- labels: objectSelector does not match
"""


def test_a_denial_is_told_from_the_decision_down_to_the_value(folder: Path) -> None:
    done = explain(folder, "pod.json", "--no-defaults")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: namespace shop: labels (read by only-production) are")
    found = done.stdout.replace(f"{folder}/", "")
    assert found == DENIED


FIELDS = [
    ("object.spec.containers.all(c, c.image.contains(':'))", "spec.containers[1].image"),
    ("'team' in object.metadata.?labels.orValue({})", "metadata.labels.team"),
    ("object.spec.containers[1].name == 'a'", "spec.containers[1].name"),
    ("object.spec.nodeName == 'a'", "spec.nodeName"),  # an error
    ("request.userInfo.username == 'a'", ""),
]


@pytest.mark.parametrize(("expression", "field"), FIELDS)
@pytest.mark.parametrize("action", ["Deny", "Warn"])
def test_a_finding_has_the_field_that_apply_shows(
    expression: str, field: str, action: str, folder: Path
) -> None:
    made = policy(
        validations=[{"expression": expression, "message": "no"}], validationActions=[action]
    )
    (folder / "policies.yaml").write_text(json.dumps(made))
    (folder / "pod.yaml").write_text(json.dumps(POD))
    given = ("-p", "policies.yaml", "pod.yaml", "--format", "json")
    (checked,) = json.loads(run("apply", *given, cwd=folder).stdout)
    assert [each["field"] for each in checked["findings"]] == [field]
    webhooks = json.loads(run("explain", *given, cwd=folder).stdout)["webhooks"]
    visits = [each for hook in webhooks for one in hook["policies"] for each in one["visits"]]
    assert [each["field"] for visit in visits for each in visit["findings"]] == [field]
    shown = run("explain", *given[:3], cwd=folder).stdout
    assert not field or "nodeName" in field or f"message: {field}: no\n" in shown


def test_one_policy_is_told_in_full(folder: Path) -> None:
    done = explain(folder, "--policy", "only-production", "pod.json")
    assert "labels of namespace 'shop': kubernetes.io/metadata.name=shop" in done.stdout
    assert "not env=prod" in done.stdout
    assert "labels: " not in done.stdout.partition("-- validate --")[0].splitlines()[-1]


def test_manifest_is_asked_about_as_the_options_say(folder: Path) -> None:
    done = explain(
        folder, "--namespace-labels", "env=prod,team=a", "--user", "bob", "--format", "json", "-"
    )
    answer = json.loads(done.stdout)
    outcomes = {p["name"]: p["outcome"] for w in answer["webhooks"] for p in w["policies"]}
    assert outcomes == {"labels": "not matched", "tagged": "denies", "only-production": "denies"}
    before = {**POD, "spec": {"containers": []}}
    (folder / "old.json").write_text(json.dumps(before))
    done = explain(folder, "--old", "old.json", "-")
    assert done.stdout.startswith("UPDATE Pod web")
    assert "operations [CREATE], the request is UPDATE" in done.stdout
    done = explain(folder, "--operation", "DELETE", "-")
    assert done.stdout.startswith("DELETE Pod web")
    assert "ALLOWED" in done.stdout


def test_what_the_mutation_made_is_validated(folder: Path) -> None:
    pod = {**POD, "metadata": {**POD["metadata"], "labels": {"label": "me"}}}
    pod["spec"] = {"containers": [{"name": "a", "image": "a:1"}]}
    done = explain(folder, pod=pod)
    assert "ALLOWED after mutation" in done.stdout
    assert '+ /metadata/labels/x = "y"' in done.stdout
    assert "+ tagged: admits" in done.stdout
    only = explain(folder, "--webhook", "validate", pod=pod)
    assert "mutate" not in only.stdout


def test_review_is_taken_as_it_is(folder: Path) -> None:
    job = {**POD, "metadata": {"name": "job-1", "namespace": "shop"}}
    review = build_review(job, user="ann")
    done = explain(folder, pod=review)
    assert "by ann" in done.stdout
    assert "matchConditions[0] no-jobs is false" in done.stdout
    done = explain(folder, "--user", "bob", pod=review)
    assert (done.returncode, done.stdout) == (2, "")
    assert "contains an AdmissionReview, which has them" in done.stderr


def test_json_has_every_part_with_value_type_and_cost(folder: Path) -> None:
    done = explain(folder, "--format", "json", "--policy", "tagged", "pod.json")
    answer = json.loads(done.stdout)
    assert answer["allowed"] is False
    policy = answer["webhooks"][-1]["policies"][0]
    assert policy["match"] == {
        "applies": True,
        "place": "resourceRules[0]",
        "text": "resourceRules[0] matches",
        "more": [],
    }
    expressions = {each["path"]: each for each in policy["visits"][0]["expressions"]}
    failed = expressions["spec.validations[0].expression"]
    assert (failed["value"], failed["type"], failed["cost"]) == (False, "bool", 13)
    assert failed["variables"]["images"]["value"] == ["a:1", "b"]
    deciding = [each for each in failed["children"] if each.get("deciding")]
    assert [(each["round"], each["value"]) for each in deciding] == [(1, "b")]


def test_errors_name_the_part_that_failed(folder: Path) -> None:
    pod = {**POD, "spec": {"containers": [{"name": "a"}]}}
    done = explain(folder, pod=pod)
    assert "! validations[0] = error: composited variable" in done.stdout
    assert "c.image = error: no such key: image" in done.stdout


PATTERN = policy(
    "pattern",
    CREATED,
    validations=[
        {"pattern": {"metadata": {"name": "?*"}}},
        {"pattern": {"spec": {"containers": [{"image": "*:*"}]}}, "message": "images need a tag"},
    ],
)


def test_patterns_are_told_by_the_places_that_do_not_fit(folder: Path) -> None:
    write(str(folder / "policies.yaml"), PATTERN)
    done = explain(folder)
    assert "+ validations[0]: the pattern matches" in done.stdout
    assert "x validations[1]: the pattern does not match" in done.stdout
    assert "message: images need a tag" in done.stdout
    assert "spec.containers[1].image" in done.stdout


def test_denials_of_policies_that_are_not_asked_about_are_counted(folder: Path) -> None:
    labels = ("--namespace-labels", "env=prod", "--user", "bob")
    done = explain(folder, *labels, "--policy", "tagged", "pod.json")
    assert "  and 1 denial by other policies" in done.stdout
    assert "not by bob" not in done.stdout
    # The message does not compute anew what the reader has seen.
    assert done.stdout.count("object.spec.containers = ") == 1


MAY = "authorizer.group('').resource('secrets').check('get').allowed()"


def test_authorizer_answers_from_a_file(folder: Path) -> None:
    allowed = policy("allowed", validations=[{"expression": MAY}])
    write(str(folder / "policies.yaml"), allowed)
    (folder / "rules.yaml").write_text("- {user: bob, resource: secrets, allowed: true}\n")
    arguments = ("--authorizer", "rules.yaml", "pod.json")
    assert "ALLOWED" in explain(folder, "--user", "bob", *arguments).stdout
    assert "DENIED" in explain(folder, "--user", "ann", *arguments).stdout


ERRORS = [
    (("--policy", "nothing", "pod.json"), "no such policy; there are: labels, only-production"),
    (("nowhere.json",), "nowhere.json"),
    (("--namespace-labels", "env", "pod.json"), "expected KEY=VALUE"),
    (("--select", "/a", "pod.json"), "expected Kind/name or Kind/namespace/name, got '/a'"),
    (
        ("--select", "api", "pod.json"),
        "--select api: expected Kind/name or Kind/namespace/name; there are: Pod/shop/web",
    ),
    (("--select", "Pod/api", "pod.json"), "no such object in pod.json; there are: Pod/shop/web"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS)
def test_bad_input_ends_with_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = explain(folder, *arguments)
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


def test_the_mutating_webhook_tells_nothing_of_patterns(folder: Path) -> None:
    mutated = {
        **PATTERN,
        "spec": {**PATTERN["spec"], "mutations": [overlay({"metadata": {"name": "web"}})]},
    }
    write(str(folder / "policies.yaml"), mutated)
    # A denial comes first, so what mutated before it stands below.
    validate, _, mutate = explain(folder).stdout.partition("-- mutate --")
    assert "mutations[0] Overlay" in mutate
    assert "the pattern" not in mutate
    assert "the pattern matches" in validate
