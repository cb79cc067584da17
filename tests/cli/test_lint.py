"""``policyd lint``: all problems with places, advice, formats, exit status."""

import os
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
from click.testing import CliRunner

from policyd.cli.lint import command
from policyd.json_types import JSONObject
from policyd.policy.lint.lint_rules import RULES
from tests.builders.policies import (
    VALIDATION,
    add_label,
    json_patch,
    overlay,
    policy,
    rule,
    suite,
    vap,
)

TOLD = {**VALIDATION, "message": "no"}
BAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: bad}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  variables: [{name: unused, expression: "1"}]
  validations:
  - message: "no"
    expression: |
      object.metadata.name ==
        nowhere
---
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: worse}
spec: {}
"""


def sound(name: str = "own", **spec: Any) -> JSONObject:
    """A policy about which there is nothing to say."""
    return policy(name, **{"validations": [TOLD], **spec})


def write(folder: Path, *documents: JSONObject) -> str:
    file = folder / "policy.yaml"
    file.write_text("\n---\n".join(orjson.dumps(each).decode() for each in documents))
    return str(file)


def test_a_good_policy_is_silent(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [write(tmp_path, sound())])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "1 document: 0 errors, 0 advice" in result.stderr


# A policy, how the messages about it begin, and their hints.
ONCE = {
    "operands that do not fit": (
        sound(validations=[{**VALIDATION, "messageExpression": "object.metadata.name + 1"}]),
        ["must evaluate to string but got int", "v1 Pod: found no matching overload"],
        ["", "write object.metadata.name + string(1)"],
    ),
    "a condition whose operands do not fit": (
        sound(validations=[{"expression": "object.metadata.name + 1", "message": "no"}]),
        ["must evaluate to bool but got int", "v1 Pod: found no matching overload"],
        ["", "write object.metadata.name + string(1)"],
    ),
    "a type and a field": (
        sound(validations=[{**VALIDATION, "messageExpression": "object.metadata.nam"}]),
        ["must evaluate to string but got dyn", "v1 Pod: undefined field 'nam'"],
        ["the checker cannot know the type: convert it with string(...)", "did you mean name?"],
    ),
}


@pytest.mark.parametrize(("document", "messages", "hints"), ONCE.values(), ids=ONCE)
def test_hints_do_not_contradict_each_other(
    document: JSONObject, messages: list[str], hints: list[str], tmp_path: Path
) -> None:
    arguments = [write(tmp_path, document), "--format", "json", "--disable", "missing-message"]
    found = orjson.loads(CliRunner().invoke(command, arguments).stdout)
    assert [each["hint"] for each in found] == hints
    assert all(map(str.startswith, (each["message"] for each in found), messages))


@pytest.mark.parametrize("value", ["yes", "on", "off", "true", "1", "0x1"])
def test_a_value_that_has_to_be_in_quotes_is_one_finding(value: str, tmp_path: Path) -> None:
    overlay = f"metadata: {{labels: {{a: {value}}}}}"
    file = tmp_path / "policy.yaml"
    mutations = f"  mutations: [{{patchType: Overlay, overlay: {{{overlay}}}}}]\n"
    file.write_text(BAD[: BAD.index("  variables:")] + mutations)
    (found,) = orjson.loads(CliRunner().invoke(command, [str(file), "--format", "json"]).stdout)
    assert found["path"] == "spec.mutations[0].overlay.metadata.labels.a"
    assert found["hint"].endswith("put it in quotes")


def test_all_errors_and_advice_are_told_with_places_and_carets(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(BAD)
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert result.exit_code == 1
    assert f"{file}:8:22: advice: spec.variables[0].name: variable 'unused'" in result.stdout
    assert f"{file}:13:9: error: spec.validations[0].expression" in result.stdout
    assert "undeclared reference to 'nowhere'" in result.stdout
    assert f"{file}:18:7: error: spec.matchConstraints: Required value" in result.stdout
    assert "2 documents: 3 errors, 1 advice" in result.stderr


def test_json_is_a_list_of_problems(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(BAD)
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    found = orjson.loads(result.stdout_bytes)
    assert [(each["line"], each["severity"]) for each in found] == [
        (8, "advice"),
        (13, "error"),
        (18, "error"),
        (18, "error"),
    ]
    assert set(found[0]) == {
        "message",
        "summary",
        "file",
        "line",
        "column",
        "path",
        "hint",
        "excerpt",
        "rule",
        "severity",
        "fix",
        "related",
    }


def test_a_mistake_is_shown_in_plain_words_before_those_of_the_parser(tmp_path: Path) -> None:
    validation = {"expression": "object.spec.hostNetwork = true", "message": "x"}
    result = CliRunner().invoke(command, [write(tmp_path, policy(validations=[validation]))])
    lines = click.unstyle(result.stdout).splitlines()
    assert lines[0].endswith(
        ": error: spec.validations[0].expression: an expression cannot contain '='"
    )
    assert lines[1:] == [
        " | object.spec.hostNetwork = true",
        " | ........................^",
        "  hint: write == to compare",
        "  parser: Syntax error: token recognition error at: '= '",
    ]


def test_advice_is_no_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [write(tmp_path, vap())])
    assert result.exit_code == 0
    assert "the policy has no effect [no-binding]\n" in result.stdout


def test_strict_proves_that_mutations_are_idempotent(tmp_path: Path) -> None:
    value = "object.spec.?activeDeadlineSeconds.orValue(0) + 1"
    expression = f"[JSONPatch{{op: 'add', path: '/spec/activeDeadlineSeconds', value: {value}}}]"
    growing = sound(mutations=[json_patch(expression)])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"activeDeadlineSeconds": 1}}
    cases: list[JSONObject] = [
        {"name": "grows", "request": {"object": pod}},
        {"name": "may grow", "request": {"object": pod}, "idempotent": False},
        {"name": "no file", "request": {"objectFile": "nope.json"}},
    ]
    expected = {"expect": {"allowed": True}}
    file = write(tmp_path, growing, suite(cases=[{**case, **expected} for case in cases]))
    assert CliRunner().invoke(command, [file]).exit_code == 0
    result = CliRunner().invoke(command, [file, "--strict", "--format", "json"])
    assert result.exit_code == 1
    first, second = orjson.loads(result.stdout_bytes)
    assert (first["rule"], first["severity"], first["line"]) == ("not-idempotent", "error", 3)
    assert first["message"] == (
        "case 'grows': a second run of the mutations returns "
        '[{"op":"replace","path":"/spec/activeDeadlineSeconds","value":3}]'
    )
    assert second["message"].startswith("case 'no file' cannot be run: ")


def test_expressions_are_checked_against_schemas_and_estimated(tmp_path: Path) -> None:
    mistaken = "object.spec.containers.all(c, c.imgae != '')"
    costly = "object.a.all(x, object.b.all(y, object.c.all(z, x != y + z)))"
    rules = [{"expression": text, "message": "no"} for text in (mistaken, costly)]
    anything = {"resourceRules": [rule(apiVersions=["*"])]}
    file = write(
        tmp_path,
        sound(validations=rules[:1]),
        sound("other", validations=rules[1:], matchConstraints=anything),
    )
    result = CliRunner().invoke(command, [file, "--format", "json"])
    first, second = orjson.loads(result.stdout_bytes)
    assert first["rule"] == "type-check"
    assert first["message"] == "v1 Pod: undefined field 'imgae'"
    assert first["excerpt"].startswith(f" | {mistaken}\n | ...")
    assert (second["rule"], second["path"]) == (
        "expensive-expression",
        "spec.validations[0].expression",
    )
    assert result.exit_code == 0


def test_standard_input_and_absent_files() -> None:
    piped = CliRunner().invoke(command, ["-"], input=orjson.dumps(sound()))
    assert piped.exit_code == 0
    absent = CliRunner().invoke(command, ["/nowhere.yaml"])
    assert absent.exit_code == 1
    assert "/nowhere.yaml: error: no such file or directory" in absent.stdout


@pytest.mark.parametrize(("variable", "coloured"), [("", True), ("1", False)])
def test_no_color_is_honoured(tmp_path: Path, variable: str, coloured: bool) -> None:
    environment = {**os.environ, "NO_COLOR": variable}
    file = write(tmp_path, vap())
    result = CliRunner().invoke(command, [file], env=environment, color=True)
    assert ("\x1b[" in result.stdout) is coloured


def test_colours_are_left_out_in_a_pipe(tmp_path: Path) -> None:
    assert "\x1b[" not in CliRunner().invoke(command, [write(tmp_path, vap())]).output


def unbound(folder: Path, comment: str = "") -> str:
    file = folder / "policy.yaml"
    document = vap(validations=[TOLD])
    file.write_text(f"{comment}\n{orjson.dumps(document).decode()}\n")
    return str(file)


@pytest.mark.parametrize(
    "options", [["--disable", "no-binding"], ["--disable", "wildcard, no-binding"]]
)
def test_rules_are_disabled_for_a_run(tmp_path: Path, options: list[str]) -> None:
    result = CliRunner().invoke(command, [unbound(tmp_path), *options])
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-bindin", "there is no rule 'no-bindin'; did you mean no-binding?"),
        ("cel", "cel is an error: only advice can be disabled"),
    ],
)
def test_unknown_rules_cannot_be_disabled(tmp_path: Path, name: str, told: str) -> None:
    result = CliRunner().invoke(command, [unbound(tmp_path), "--disable", name])
    assert result.exit_code == 2
    assert told in result.stderr.replace("\n", " ")


def test_comments_disable_advice(tmp_path: Path) -> None:
    file = unbound(tmp_path, "# policyd-lint: disable=no-binding bound elsewhere")
    for options in ([], ["--strict"]):
        result = CliRunner().invoke(command, [file, *options])
        assert (result.exit_code, result.stdout) == (0, "")
        assert "0 errors, 0 advice" in result.stderr


def test_comments_that_are_wrong_are_errors(tmp_path: Path) -> None:
    file = unbound(tmp_path, "# policyd-lint: disable=no-bindings")
    result = CliRunner().invoke(command, [file])
    assert result.exit_code == 1
    assert f"{file}:1:1: error: there is no rule 'no-bindings'" in result.stdout
    assert "did you mean no-binding?" in result.stdout
    assert "no-binding:" not in result.stdout


def test_comments_that_disable_nothing_are_told_with_strict(tmp_path: Path) -> None:
    file = unbound(
        tmp_path, "# policyd-lint: disable=no-binding,wildcard\n# policyd-lint: disable=type-check"
    )
    assert CliRunner().invoke(command, [file]).stdout == ""
    strict = CliRunner().invoke(command, [file, "--strict"])
    assert strict.exit_code == 0
    assert (
        f"{file}:2:1: advice: the comment disables nothing: there is no type-check" in strict.stdout
    )


def test_sarif_names_the_rules(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [unbound(tmp_path), "--format", "sarif"])
    assert result.exit_code == 0
    (run,) = orjson.loads(result.stdout_bytes)["runs"]
    (found,) = run["results"]
    assert (found["ruleId"], found["level"]) == ("no-binding", "warning")
    assert found["message"]["text"].startswith("metadata.name: no binding: ")
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    rules = run["tool"]["driver"]["rules"]
    assert rules[found["ruleIndex"]]["shortDescription"]["text"] == RULES["no-binding"].about
    assert {each["id"] for each in rules} == set(RULES)


def test_sarif_lists_the_places_of_the_other_policies(tmp_path: Path) -> None:
    labels = [overlay({"metadata": {"labels": {"team": name}}}) for name in "abc"]
    documents = [policy(name, mutations=[each]) for name, each in zip("abc", labels, strict=True)]
    result = CliRunner().invoke(command, [write(tmp_path, *documents), "--format", "sarif"])
    (found,) = orjson.loads(result.stdout_bytes)["runs"][0]["results"]
    assert "2 policies before it do not" in found["message"]["text"]
    texts = [each["message"]["text"] for each in found["relatedLocations"]]
    assert texts == ["policy 'a' sets it to \"a\"", "policy 'b' sets it to \"b\""]
    lines = [each["physicalLocation"]["region"]["startLine"] for each in found["relatedLocations"]]
    assert lines[0] < lines[1] < found["locations"][0]["physicalLocation"]["region"]["startLine"]


def test_github_annotations(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(BAD)
    result = CliRunner().invoke(command, [str(file), "--format", "github"])
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"::warning file={file},line=8,col=22,title=unused-variable::")
    assert any(line.startswith(f"::error file={file},line=13,col=9,title=cel::") for line in lines)
    good = CliRunner().invoke(command, [write(tmp_path, sound()), "--format", "github"])
    assert (good.exit_code, good.output) == (0, "")


def test_all_rules_are_listed() -> None:
    result = CliRunner().invoke(command, ["--rules"])
    assert result.exit_code == 0
    listed = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert {name: (severity, about) for name, severity, about in listed} == {
        name: (rule.severity, rule.about) for name, rule in RULES.items()
    }


def test_a_suite_that_names_no_file_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, suite(policies=["nowhere"]))
    result = CliRunner().invoke(command, [file])
    assert result.exit_code == 1
    assert 'error: policies[0]: Not found: "nowhere": no such file or directory' in result.stdout
    assert f"hint: names are relative to {tmp_path}" in result.stdout


def test_mutations_that_fail_are_errors(tmp_path: Path) -> None:
    wrong = "[JSONPatch{op: 'Add', path: '/metadata/labels', value: {}}]"
    file = write(tmp_path, policy("m", mutations=[json_patch(wrong)]))
    result = CliRunner().invoke(command, [file])
    assert result.exit_code == 1
    assert "error: spec.mutations[0].jsonPatch.expression: there is no op 'Add'" in result.stdout
    assert "hint: write 'add'" in result.stdout
    refused = CliRunner().invoke(command, ["--disable", "failing-mutation", file])
    assert refused.exit_code == 2
    assert "failing-mutation is an error: only advice can be disabled" in refused.stderr


def test_paths_that_may_be_missing_are_advice(tmp_path: Path) -> None:
    file = write(tmp_path, policy("m", mutations=[add_label("'b'")]))
    result = CliRunner().invoke(command, ["--format", "json", file])
    assert result.exit_code == 0
    (found,) = orjson.loads(result.stdout)
    assert (found["rule"], found["severity"]) == ("fragile-mutation", "advice")
    assert CliRunner().invoke(command, ["--disable", "fragile-mutation", file]).stdout == ""
