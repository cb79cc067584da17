"""``policyd test``: output, exit status, selection, suites with their own policies."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from policyd.cli import main
from policyd.cli.test.command import command
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import json_patch, labelling, policy, policy_exception, rule, suite

NO_X: JSONObject = policy(
    "no-x",
    validations=[{"expression": "object.metadata.name != 'x'", "message": "x is taken"}],
    mutations=[labelling("a", "'b'")],
)


def case(name: str, named: str, expect: JSONObject, **request: Any) -> JSONObject:
    return {"name": name, "request": {"object": pod(name=named), **request}, "expect": expect}


PATCHED = pod(name="y", labels={"a": "b"})
GOOD = [
    case("x is denied", "x", {"allowed": False, "code": 422, "message": "x is taken"}),
    case("y gets a label", "y", {"allowed": True, "patched": PATCHED}),
]
WRONG = [case("x is fine", "x", {"allowed": True}), case("y", "y", {"allowed": True})]


def write(folder: Path, **files: JSONObject) -> str:
    for name, value in files.items():
        (folder / f"{name}.json").write_bytes(orjson.dumps(value))
    return str(folder)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_cases_that_pass(tmp_path: Path) -> None:
    result = run(write(tmp_path, policy=NO_X, suite=suite(cases=GOOD)))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"ok    {tmp_path}/suite.json  2 cases")
    verbose = run(str(tmp_path), "-v")
    assert "--- PASS: s/x is denied" in verbose.stdout


def test_cases_that_fail_show_what_was_expected_and_found(tmp_path: Path) -> None:
    result = run(write(tmp_path, policy=NO_X, suite=suite(cases=WRONG)))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("--- FAIL: s/x is fine (")
    assert lines[1:4] == [
        f"    {tmp_path}/suite.json:1: allowed",
        "                 expected  found",
        "        allowed  true      false",
    ]
    assert lines[-1].startswith(f"FAIL  {tmp_path}/suite.json  1 of 2 cases failed")


def test_a_mutation_that_goes_on_changing_fails_and_shows_its_second_patch(tmp_path: Path) -> None:
    expression = (
        "[JSONPatch{op: 'add', path: '/metadata/annotations', "
        "value: {'n': object.metadata.?annotations.n.orValue('') + 'a'}}]"
    )
    growing = policy(mutations=[json_patch(expression)])
    cases = [case("y", "y", {"allowed": True})]
    folder = write(tmp_path, policy=growing, suite=suite(cases=cases))
    result = run(folder)
    assert result.exit_code == 1
    assert "idempotent" in result.stdout
    assert "  +- op: replace\n" in result.stdout
    assert "second run of the mutations:" in result.stdout
    assert '~ /metadata/annotations/n = "aa"' in result.stdout
    write(tmp_path, suite=suite(cases=[{**cases[0], "idempotent": False}]))
    assert run(folder).exit_code == 0


def test_json_has_one_object_a_case(tmp_path: Path) -> None:
    result = run(write(tmp_path, policy=NO_X, suite=suite(cases=WRONG)), "--format", "json")
    found = orjson.loads(result.stdout_bytes)
    assert [(each["name"], each["passed"]) for each in found] == [("x is fine", False), ("y", True)]
    assert found[0]["mismatches"] == [{"key": "allowed", "expected": True, "found": False}]


def test_run_selects_by_suite_and_case(tmp_path: Path) -> None:
    folder = write(tmp_path, policy=NO_X, suite=suite(cases=WRONG))
    assert run(folder, "--run", "^s/y$").exit_code == 0
    assert "matches no case" in str(run(folder, "--run", "z").exception)
    assert "--run" in run(folder, "--run", "(").output


def test_a_suite_may_name_its_policies(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path, other=policy("other", validations=[{"expression": "false"}]))
    write(tmp_path / "sub", policy=NO_X, suite=suite(cases=GOOD, policies=["policy.json"]))
    assert run(str(tmp_path)).exit_code == 0
    assert run(str(tmp_path / "sub" / "suite.json")).exit_code == 0


def test_labels_of_a_namespace(tmp_path: Path) -> None:
    match = {
        "resourceRules": [rule()],
        "namespaceSelector": {"matchLabels": {"team": "blue"}},
    }
    blue = policy(matchConstraints=match, validations=[{"expression": "false"}])
    cases = [
        case("blue", "a", {"allowed": False}, namespaceLabels={"team": "blue"}),
        case("red", "a", {"allowed": True}, namespaceLabels={"team": "red"}),
        case("unknown", "a", {"allowed": True}),
    ]
    assert run(write(tmp_path, policy=blue, suite=suite(cases=cases))).exit_code == 0


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"policy": NO_X}, "no suites (kind PolicyTest)"),
        ({"suite": suite(cases=GOOD)}, "the suite has no policies"),
        ({"policy": NO_X, "suite": suite(cases=[])}, "Required value"),
        (
            {"policy": policy(validations=[{"expression": "nowhere"}]), "suite": suite()},
            "undeclared reference to 'nowhere'",
        ),
        (
            {"policy": NO_X, "suite": suite(policies=["nowhere.yaml"])},
            'suite.json:1:294: policies[0]: Not found: "nowhere.yaml": no such file or directory',
        ),
        (
            {"policy": NO_X, "suite": suite(policies=["policy.json", "polcy.json"])},
            "did you mean policy.json?",
        ),
        ({"policy": NO_X, "suite": suite(policies=["a\0b"])}, "no such file or directory"),
        (
            {"policy": NO_X, "suite": suite(cases=[*GOOD, GOOD[0]])},
            "cases[2].name: Duplicate value",
        ),
    ],
)
def test_broken_sources_exit_with_2(
    tmp_path: Path, files: JSONObject, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, **files)
    with pytest.raises(SystemExit) as caught:
        main(["test", folder])
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "broken",
    [
        policy("q", validations=[{"expression": "nowhere"}]),
        policy("q", validation=[]),
        {**policy("q"), "kind": "Polcy"},
        {**policy("q"), "apiVersion": "policyd.dev/v1beta1"},
        policy_exception("e", "p", reason=None),
    ],
    ids=["expression", "field", "kind", "version", "exception"],
)
def test_no_case_fails_beside_a_broken_policy(
    broken: JSONObject, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"name": "a", "request": {"object": pod()}, "expect": {"allowed": False}}
    folder = write(tmp_path, policy=NO_X, broken=broken, suite=suite(cases=[wrong]))
    with pytest.raises(SystemExit) as caught:
        main(["test", folder, "--format", form])
    printed = capsys.readouterr()
    assert (caught.value.code, printed.out) == (2, "")
    assert "broken.json" in printed.err
    assert printed.err.endswith("\nno case was run\n")


def test_a_missing_fixture_fails_its_case(tmp_path: Path) -> None:
    absent = {"name": "a", "request": {"objectFile": "nope.yaml"}, "expect": {"allowed": True}}
    result = run(write(tmp_path, policy=NO_X, suite=suite(cases=[absent])))
    assert result.exit_code == 1
    assert "nope.yaml" in result.stdout
