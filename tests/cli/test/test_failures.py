"""What ``policyd test`` shows of a case that fails: differences, and what the policies did."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli.test.command import command
from policyd.cli.test.failure import compared
from policyd.json_types import JSONObject
from policyd.policy.suite.expectations import Mismatch
from tests.builders.policies import demand, labelling, policy, suite

ADMITTED: JSONObject = {"allowed": True}
NO_X = policy(
    "no-x",
    validations=[demand("object.metadata.name != 'x'", "x is taken")],
    mutations=[labelling("a", "'b'")],
)


def case(name: str, expect: JSONObject, kind: str = "Pod", **more: Any) -> JSONObject:
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    return {"name": name, "request": {"object": obj}, "expect": expect, **more}


def ran(folder: Path, cases: list[JSONObject], *arguments: str, judge: JSONObject = NO_X) -> str:
    (folder / "policy.json").write_bytes(orjson.dumps(judge))
    (folder / "suite.json").write_bytes(orjson.dumps(suite(cases=cases)))
    result = CliRunner().invoke(command, [str(folder), *arguments])
    assert result.exit_code == 1, result.output
    return result.stdout


def labelled(value: str) -> JSONObject:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "y", "labels": {"a": value}}}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("code", 403, 422), ["      expected  found", "code  403       422"]),
        (
            ("message", ["a" * 40], ["b" * 40]),
            [
                "message",
                f'  expected: ["{"a" * 40}"]',
                f'  found:    ["{"b" * 40}"]',
            ],
        ),
        (
            ("patched", {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 4, "c": 2}, "a": 1}),
            [
                "patched: - expected, + found",
                "  @@ -1,4 +1,4 @@",
                "   a: 1",
                "   b:",
                "     c: 2",
                "  -  d: 3",
                "  +  d: 4",
            ],
        ),
        (
            ("patch", [], [{"op": "remove", "path": "/a"}]),
            [
                "patch: - expected, + found",
                "  @@ -1 +1,2 @@",
                "  -[]",
                "  +- op: remove",
                "  +  path: /a",
            ],
        ),
        (
            ("message", ["a.*b"], ["axb"]),
            [
                "         expected  found",
                'message  ["a.*b"]  ["axb"]',
                "  message: each string is a part of a text, not a pattern",
            ],
        ),
        (
            ("patched", {"a": {"b": [1]}}, {"a": {"b": [1, 2]}}),
            [
                "patched: - expected, + found",
                "  @@ -1,3 +1,4 @@",
                "   a:",
                "     b:",
                "     - 1",
                "  +  - 2",
                "  patched is the whole object: policyd test --update writes it; or expect patch",
            ],
        ),
        (("patched", {"a": 1}, None), ["         expected  found", 'patched  {"a":1}   null']),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_differences(
    given: tuple[str, Any, Any], shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert list(compared([Mismatch(*given)], 80)) == shown


def test_of_a_large_object_only_what_differs_is_shown() -> None:
    large = {f"key{index}": "value" for index in range(300)}
    lines = list(compared([Mismatch("patched", large, {**large, "key150": "other"})], 80))
    assert len(lines) < 12


def test_a_denial_that_was_not_expected_is_explained(tmp_path: Path) -> None:
    text = ran(tmp_path, [case("x", {"allowed": True})])
    assert "denies: Policy no-x" in text
    assert "object.metadata.name" in text
    assert "changes it" not in text


def test_an_admission_that_was_not_expected_shows_what_held(tmp_path: Path) -> None:
    text = ran(tmp_path, [case("y", {"allowed": False})])
    assert "admits: Policy no-x" in text
    assert 'object.metadata.name = "y"' in text


def test_a_policy_that_was_not_asked_says_why_once(tmp_path: Path) -> None:
    text = ran(tmp_path, [case("y", {"allowed": False}, kind="Service")])
    assert text.count("no-x: resourceRules[0]") == 1


def test_a_policy_whose_condition_is_false_says_which(tmp_path: Path) -> None:
    conditions = [{"name": "never", "expression": "request.operation == 'DELETE'"}]
    judge = {**NO_X, "spec": {**NO_X["spec"], "matchConditions": conditions}}
    text = ran(tmp_path, [case("x", {"allowed": False})], judge=judge)
    assert "no-x: matchConditions[0] never is false" in text


def test_another_object_than_expected_shows_who_changed_it(tmp_path: Path) -> None:
    text = ran(tmp_path, [case("y", {"patched": labelled("c")})])
    assert "  -    a: c\n" in text and "  +    a: b\n" in text
    assert "changes it: Policy no-x" in text


def test_explanations_can_be_left_out(tmp_path: Path) -> None:
    text = ran(tmp_path, [case("x", {"allowed": True})], "--no-explain")
    assert "allowed  true      false" in text
    assert "denies:" not in text


def test_several_suites_end_with_a_line_of_all(tmp_path: Path) -> None:
    (tmp_path / "more.json").write_bytes(orjson.dumps(suite("t", cases=[case("y", ADMITTED)])))
    text = ran(tmp_path, [case("x", {"allowed": True}), case("y", ADMITTED)])
    assert text.splitlines()[-1].startswith("FAIL  1 of 2 suites  1 of 3 cases failed  ")


def test_junit(tmp_path: Path) -> None:
    root = ElementTree.fromstring(
        ran(tmp_path, [case("x", {"allowed": True}), case("y", ADMITTED)], "--format", "junit")
    )
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    failed, passed = root[0]
    assert (failed.get("name"), failed.get("file")) == ("x", f"{tmp_path}/suite.json")
    failure = failed.find("failure")
    assert failure is not None and failure.get("message") == "not as expected: allowed"
    assert failure.text is not None and "denies: Policy no-x" in failure.text
    assert passed.get("name") == "y" and not list(passed)


def test_github_and_sarif_name_the_place(tmp_path: Path) -> None:
    cases = [case("x", {"allowed": True}), case("y", ADMITTED)]
    lines = ran(tmp_path, cases, "--format", "github").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"::error file={tmp_path}/suite.json,line=1,title=case::s/x: not as")
    (result,) = orjson.loads(ran(tmp_path, cases, "--format", "sarif"))["runs"][0]["results"]
    assert result["ruleId"] == "case"


def test_reports_have_no_colours(tmp_path: Path) -> None:
    for form in ("junit", "github", "sarif", "json"):
        assert "\x1b" not in ran(tmp_path, [case("x", {"allowed": True})], "--format", form)
