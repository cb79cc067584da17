"""``policyd test``: a policy that errs has not tested what its validations deny."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli.test.command import command
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import demand, json_patch, policy, suite

ERRS = demand("object.spec.nowhere == 'a'", "not a")
DENIES = demand("object.metadata.name != 'x'", "x is taken")
NO_KEY = "p: expression 'object.spec.nowhere == 'a'' resulted in error: no such key: nowhere"
BAD_PATCH = json_patch("[JSONPatch{op: 'remove', path: '/nowhere'}]")
DENIED: JSONObject = {"allowed": False}


def run(folder: Path, expect: JSONObject, *arguments: str, **spec: object) -> tuple[int, str]:
    case = {"name": "c", "request": {"object": pod(name="x")}, "expect": expect}
    (folder / "policy.json").write_bytes(orjson.dumps(policy("p", **spec)))
    (folder / "suite.json").write_bytes(orjson.dumps(suite(cases=[case])))
    result = CliRunner().invoke(command, [str(folder), *arguments])
    return result.exit_code, result.stdout


ROWS: list[tuple[str, JSONObject, JSONObject, bool]] = [
    ("a denial by an error", DENIED, {"validations": [ERRS]}, False),
    ("its code only", {"code": 422}, {"validations": [ERRS]}, False),
    ("its policy only", {"message": "policy 'p'"}, {"validations": [ERRS]}, False),
    ("an error that is expected", {**DENIED, "error": True}, {"validations": [ERRS]}, True),
    ("an error that is named", {**DENIED, "message": "no such key"}, {"validations": [ERRS]}, True),
    ("a cause that is named", {"causes": "no such key"}, {"validations": [ERRS]}, True),
    ("an error that must not be", {"error": False}, {"validations": [ERRS]}, False),
    ("a violation", DENIED, {"validations": [DENIES]}, True),
    ("a violation and no error", {"error": False}, {"validations": [DENIES]}, True),
    ("no error where one is expected", {"error": True}, {"validations": [DENIES]}, False),
    ("a violation beside an error", DENIED, {"validations": [ERRS, DENIES]}, True),
    ("the error beside it", {"error": True}, {"validations": [ERRS, DENIES]}, True),
    ("an ignored error", {"allowed": True, "error": True},
     {"validations": [ERRS], "failurePolicy": "Ignore"}, True),
    ("no ignored error", {"error": False},
     {"validations": [ERRS], "failurePolicy": "Ignore"}, False),
    ("a warning by an error", {"allowed": True, "warnings": "no such key"},
     {"validations": [ERRS], "validationActions": ["Warn"]}, True),
    ("a patch that does not apply", DENIED, {"mutations": [BAD_PATCH]}, False),
    ("the same, expected", {"error": True}, {"mutations": [BAD_PATCH]}, True),
]  # fmt: skip


@pytest.mark.parametrize("arguments", [(), ("--coverage",)], ids=["plain", "coverage"])
@pytest.mark.parametrize(
    ("expect", "spec", "passes"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_errors_are_not_denials(
    tmp_path: Path, expect: JSONObject, spec: JSONObject, passes: bool, arguments: tuple[str, ...]
) -> None:
    status, output = run(tmp_path, expect, *arguments, **spec)
    assert (status == 0) is passes, output


def test_the_failure_names_the_expression_and_the_remedy(tmp_path: Path) -> None:
    _, output = run(tmp_path, DENIED, validations=[ERRS])
    assert output.splitlines()[1:6] == [
        f"    {tmp_path}/suite.json:1: error",
        "        error: the policy erred, and the case does not expect it",
        f"          {NO_KEY}",
        "          Guard the field with has(), .? or [?KEY] in the policy, or write error: true in the",
        "          case if the error is intended.",
    ]


@pytest.mark.parametrize("request_", [
    {"oldObject": pod(name="x")}, {"operation": "DELETE", "object": pod(name="x")}])  # fmt: skip
def test_a_policy_of_the_object_that_a_delete_has_not(tmp_path: Path, request_: JSONObject) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
    judge = policy("p", matchConstraints={"resourceRules": rules}, validations=[ERRS])
    cases = [{"name": "c", "request": request_, "expect": DENIED}]
    (tmp_path / "policy.json").write_bytes(orjson.dumps(judge))
    (tmp_path / "suite.json").write_bytes(orjson.dumps(suite(cases=cases)))
    output = CliRunner().invoke(command, [str(tmp_path)]).stdout
    assert "On DELETE object is null: read oldObject in the policy, or write error: true" in output


def test_error_true_without_an_error_says_so(tmp_path: Path) -> None:
    _, output = run(tmp_path, {"error": True}, validations=[DENIES])
    assert "error: no policy erred: remove error: true" in output


def test_json_has_the_errors(tmp_path: Path) -> None:
    _, output = run(tmp_path, DENIED, "--format", "json", validations=[ERRS])
    (case,) = orjson.loads(output)
    assert case["mismatches"] == [{"key": "error", "expected": False, "found": [NO_KEY]}]
