"""``policyd test --coverage`` and ``--require-tests``: what no case brought about is told."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from policyd.cli.test.command import command
from policyd.json_types import JSONObject
from tests.builders.policies import (
    labelling,
    map_,
    map_binding,
    overlay,
    policy,
    rule,
    suite,
    vap,
    vap_binding,
)
from tests.shared import ROOT

PODS = {"resourceRules": [rule()]}
LABEL = overlay({"metadata": {"labels": {"a": "b"}}})


def case(name: str, expect: JSONObject | None = None, **request: Any) -> JSONObject:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **request.pop("more", {})}}
    return {
        "name": name,
        "request": {"object": obj, **request},
        "expect": expect or {"allowed": True},
    }


DENIED: JSONObject = {"allowed": False}


def run(
    folder: Path, policies: list[JSONObject], cases: list[JSONObject], *arguments: str
) -> Result:
    for index, each in enumerate(policies):
        (folder / f"p{index}.json").write_bytes(orjson.dumps(each))
    (folder / "suite.json").write_bytes(orjson.dumps(suite(cases=cases)))
    return CliRunner().invoke(command, [str(folder), *arguments])


def missing(result: Result) -> list[tuple[str, list[str]]]:
    """The parts of all policies of which something never happened."""
    found = orjson.loads(result.stdout_bytes)["coverage"]["policies"]
    return [
        (part["path"], part["missing"])
        for each in found
        for part in each["parts"]
        if part["missing"]
    ]


NOT_X = {"expression": "object.metadata.name != 'x'"}
PATTERN = {"pattern": {"metadata": {"name": "!x"}}}
CONDITION = {"name": "not-y", "expression": "object.metadata.name != 'y'"}
NOTE = {"key": "k", "valueExpression": "object.metadata.name == 'z' ? 'seen' : ''"}
EXCEPTION = {"name": "old", "reason": "r", "names": ["x-*"]}
EXCLUDED = {**rule(), "resourceNames": ["out"]}
ERROR = {"expression": "object.spec.nowhere == 'a'"}
ROWS: list[tuple[str, JSONObject, list[JSONObject], list[tuple[str, list[str]]]]] = [
    ("nothing runs", {"validations": [NOT_X]}, [case("q", resource={"group": "", "version": "v1", "resource": "nodes"})],
     [("matchConstraints.resourceRules[0]", ["applied"]), ("validations[0]", ["true", "false"])]),
    ("only true", {"validations": [NOT_X]}, [case("a")], [("validations[0]", ["false"])]),
    ("only false", {"validations": [NOT_X]}, [case("x", DENIED)], [("validations[0]", ["true"])]),
    ("both", {"validations": [NOT_X]}, [case("a"), case("x", DENIED)], []),
    ("a warning is false, too", {"validations": [NOT_X], "validationActions": ["Warn"]},
     [case("a"), case("x")], []),
    ("an error is neither", {"validations": [ERROR]}, [case("a", {**DENIED, "error": True})],
     [("validations[0]", ["true", "false"])]),
    ("false can be nothing else", {"validations": [{"expression": "false"}]},
     [case("a", DENIED)], []),
    ("a pattern that fits", {"validations": [PATTERN]}, [case("a")],
     [("validations[0]", ["false"])]),
    ("a pattern both ways", {"validations": [PATTERN]}, [case("a"), case("x", DENIED)], []),
    ("patterns behind a condition", {"validations": [PATTERN], "matchConditions": [CONDITION]},
     [case("y")], [("matchConditions[0]", ["true"]), ("validations[0]", ["true", "false"])]),
    ("an annotation that is empty", {"auditAnnotations": [NOTE]}, [case("a")],
     [("auditAnnotations[0]", ["applied"])]),
    ("an annotation", {"auditAnnotations": [NOTE]}, [case("z")], []),
    ("an exception that lifts all", {"validations": [NOT_X], "exceptions": [EXCEPTION]},
     [case("x-1")], [("validations[0]", ["true", "false"])]),
    ("an exception that never applies", {"validations": [NOT_X], "exceptions": [EXCEPTION]},
     [case("a"), case("x", DENIED)], [("exceptions[0]", ["applied"])]),
    ("an overlay", {"mutations": [LABEL]}, [case("a")], []),
    ("an overlay that changes nothing", {"mutations": [LABEL]},
     [case("a", more={"labels": {"a": "b"}})], [("mutations[0]", ["applied"])]),
    ("two rules", {"matchConstraints": {"resourceRules": [rule(), rule(resources=["services"])]},
     "validations": [{"expression": "false"}]}, [case("a", DENIED)],
     [("matchConstraints.resourceRules[1]", ["applied"])]),
    ("a rule that excludes", {"matchConstraints": {**PODS, "excludeResourceRules": [EXCLUDED]},
     "validations": [{"expression": "false"}]}, [case("a", DENIED)],
     [("matchConstraints.excludeResourceRules[0]", ["applied"])]),
    ("a rule that excludes, used", {
        "matchConstraints": {**PODS, "excludeResourceRules": [EXCLUDED]},
        "validations": [{"expression": "false"}]}, [case("a", DENIED), case("out")], []),
    ("a selector", {"matchConstraints": {**PODS, "objectSelector": {"matchLabels": {"a": "b"}}},
     "validations": [{"expression": "false"}]},
     [case("a", DENIED, more={"labels": {"a": "b"}})],
     [("matchConstraints.objectSelector", ["false"])]),
    ("a selector both ways", {
        "matchConstraints": {**PODS, "objectSelector": {"matchLabels": {"a": "b"}}},
        "validations": [{"expression": "false"}]},
     [case("a", DENIED, more={"labels": {"a": "b"}}), case("b")], []),
    ("mutating asks no pattern", {"mutations": [LABEL], "validations": [PATTERN]},
     [{**case("a"), "webhook": "mutate"}], [("validations[0]", ["true", "false"])]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "cases", "expected"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_what_never_happened(
    tmp_path: Path, spec: JSONObject, cases: list[JSONObject], expected: list[tuple[str, list[str]]]
) -> None:
    made = policy("p", **{"matchConstraints": PODS, "validations": ..., **spec})
    result = run(tmp_path, [made], cases, "--coverage", "--format", "json")
    assert result.exit_code == 0, result.output
    assert missing(result) == expected


def test_a_mutating_policy_of_kubernetes(tmp_path: Path) -> None:
    made = map_("p", matchConditions=[CONDITION], mutations=[labelling("a", "'b'")])
    binding = map_binding("b", policyName="p")
    result = run(tmp_path, [made], [case("a")], "--require-tests")
    assert result.exit_code == 1  # not bound: no case concerns it
    options = ("--require-tests", "--coverage", "--format", "json")
    result = run(tmp_path, [made, binding], [case("a")], *options)
    assert missing(result) == [("matchConditions[0]", ["false"])]


def test_bindings_of_which_one_never_applies(tmp_path: Path) -> None:
    made = vap("p", validations=[{"expression": "false"}])
    elsewhere = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    bindings = [
        vap_binding(name, matchResources=rules)
        for name, rules in (("here", {}), ("prod", elsewhere))
    ]
    result = run(tmp_path, [made, *bindings], [case("a", DENIED)], "--coverage")
    assert [line.split() for line in result.stdout.splitlines()[-2:-1]] == [
        [f"{tmp_path}/p2.json:1", "p", "3/4", "binding", "prod:", "applied"]
    ]
    labels = {"namespaceLabels": {"env": "prod"}}
    cases = [case("a", DENIED), case("b", DENIED, **labels)]
    assert run(tmp_path, [made, *bindings], cases, "--coverage-min", "100").exit_code == 0


def test_the_table_names_places_and_a_percentage(tmp_path: Path) -> None:
    two = policy("two", matchConstraints=PODS, validations=[NOT_X, PATTERN])
    result = run(tmp_path, [two], [case("a")], "--coverage")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split() for line in lines[-4:-1]] == [
        ["PLACE", "POLICY", "COVERED", "NEVER"],
        [f"{tmp_path}/p0.json:1", "two", "3/5", "validations[0]:", "false"],
        [f"{tmp_path}/p0.json:1", "two", "3/5", "validations[1]:", "false"],
    ]
    assert lines[-1] == "coverage: 60.0 % (3 of 5 outcomes) of 1 policy"


def test_coverage_below_the_minimum_fails(tmp_path: Path) -> None:
    one = policy("one", matchConstraints=PODS, validations=[NOT_X])
    assert run(tmp_path, [one], [case("a")], "--coverage-min", "66.6").exit_code == 0
    result = run(tmp_path, [one], [case("a")], "--coverage-min", "66.7")
    assert result.exit_code == 1
    assert result.stdout.endswith("of 1 policy, less than 66.7 %\n")
    github = run(tmp_path, [one], [case("a")], "--coverage-min", "70", "--format", "github")
    assert "::error title=coverage::all policies: 66.7 %25 is less than 70.0 %25" in github.stdout


def test_a_policy_that_no_case_concerns_is_an_error(tmp_path: Path) -> None:
    services = {"resourceRules": [rule(resources=["services"])]}
    made = [
        policy("one", matchConstraints=PODS, validations=[NOT_X]),
        policy("two", matchConstraints=services, validations=[NOT_X]),
    ]
    result = run(tmp_path, made, [case("a")], "--require-tests")
    assert result.exit_code == 1
    place = f"{tmp_path}/p1.json:1:"
    assert f"error: no case of {tmp_path}/suite.json matches Policy two" in result.stdout
    assert place in result.stdout and "add a case" in result.stdout
    junit = run(tmp_path, made, [case("a")], "--require-tests", "--format", "junit")
    assert 'name="require-tests" tests="1" failures="1"' in junit.stdout


def test_a_policy_without_a_suite_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_bytes(orjson.dumps(policy("alone", validations=[NOT_X])))
    result = CliRunner().invoke(command, [str(tmp_path), "--require-tests"])
    assert result.exit_code == 1
    assert "error: Policy alone has no suite" in result.stdout
    assert "hint: write suite.yaml beside it" in result.stdout


def test_require_tests_asks_for_all_cases(tmp_path: Path) -> None:
    result = run(tmp_path, [policy("p")], [case("a")], "--require-tests", "--run", "a")
    assert result.exit_code == 2


def test_a_suite_with_an_authorizer_and_labels_of_a_namespace_is_covered_the_same(
    tmp_path: Path,
) -> None:
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    made = policy(
        "p",
        matchConstraints={**PODS, "namespaceSelector": {"matchLabels": {"team": "blue"}}},
        validations=[{"expression": check}],
    )
    cases = [
        case("a", userInfo={"username": "bob"}, namespaceLabels={"team": "blue"}),
        case("b", DENIED, userInfo={"username": "eve"}, namespaceLabels={"team": "blue"}),
        case("c", userInfo={"username": "eve"}, namespaceLabels={"team": "red"}),
    ]
    (tmp_path / "p.json").write_bytes(orjson.dumps(made))
    authorizer = [{"user": "bob", "verb": "get", "resource": "pods"}]
    (tmp_path / "suite.json").write_bytes(orjson.dumps(suite(cases=cases, authorizer=authorizer)))
    result = CliRunner().invoke(command, [str(tmp_path), "--coverage-min", "100"])
    assert result.exit_code == 0, result.output


def test_the_policies_that_come_with_policyd_are_tested_and_nearly_all_covered() -> None:
    arguments = [str(ROOT / "policies"), "--require-tests", "--coverage-min", "98"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output[-3000:]
