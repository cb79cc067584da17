"""``policyd eval``: values, errors with their stage, lines of JSON."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.eval.command import command, evaluate
from policyd.json_types import JSONObject
from tests.shared import ROOT

ROWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("1 + object.a", {"object": {"a": 2}}, {"value": 3, "type": "int", "cost": 3}),
    ("x + 'b'", {"x": "a"}, {"value": "ab", "type": "string", "cost": 2}),
    ("object.x", {"object": {}}, {"error": "no such key: x", "stage": "run", "cost": 2}),
    ("0.0 / 0.0", {}, {"value": "NaN", "type": "double", "cost": 1}),
    ("2u", {}, {"value": 2, "type": "uint", "cost": 0}),
    ("type(1)", {}, {"value": "int", "type": "type", "cost": 0}),
    ("duration('90m')", {}, {"value": "5400s", "type": "google.protobuf.Duration", "cost": 0}),
    ("optional.none()", {}, {"value": "optional.none()", "type": "optional_type", "cost": 1}),
    ("[b'a', b'\\xff']", {}, {"value": ["a", "/w=="], "type": "list", "cost": 0}),
    ("{1: 'a'}", {}, {"value": {"1": "a"}, "type": "map", "cost": 0}),
    ("{true: null}", {}, {"value": {"true": None}, "type": "map", "cost": 0}),
    ("JSONPatch{op: 'test'}", {}, {"value": {"op": "test"}, "type": "JSONPatch", "cost": 40}),
]


@pytest.mark.parametrize(("expression", "variables", "answer"), ROWS)
def test_values_types_and_costs(
    expression: str, variables: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert evaluate(expression, variables) == answer


WEB = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
CONTAINERS = "object.spec.containers"
# An expression, what is above the caret, and the hint.
ERRORS = [
    ("object.spec.contaners", "object.spec.", "did you mean containers?"),
    ("object.metadta.name.startsWith('a')", "object.", "did you mean metadata?"),
    ("object.metadata.labels.team == 'a'", "object.metadata.", "the keys are name"),
    (f"{CONTAINERS}.all(c, c.imge == 'x')", f"{CONTAINERS}.all(c, c.", "did you mean image?"),
    (f"{CONTAINERS}.all(i, c, c.imge == 'x')", f"{CONTAINERS}.all(i, c, c.", "did you mean image?"),
    (f"{CONTAINERS}.all(c, object.spec.foo == c.name)", f"{CONTAINERS}.all(c, object.spec.",
     "the keys are containers"),
    ("true && request.operation == 'CREATE'", "true && request.",
     "request is null: give it with --var 'request={…}'"),
    ("variables.images == []", "variables.", 
     "variables is null: eval reads no policy; policyd explain -p POLICIES FILE shows its variables"),
    ("object.containers == []", "object.", "did you mean object.spec.containers?"),
    (f"{CONTAINERS}[3].name", f"{CONTAINERS}[", "the list has 1 item; the first is [0]"),
    ("{}.a == 1", "{}.", ""),
    ("object.x / 0 > 1", "object.", "the keys are metadata, spec"),
    ("1 / (2 - int(object.metadata.name.size() - 1))", "1 /", ""),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "before", "hint"), ERRORS)
def test_a_run_time_error_has_a_caret_and_a_hint(expression: str, before: str, hint: str) -> None:
    result = CliRunner().invoke(command, [expression, "-"], input=orjson.dumps(WEB))
    error, *lines = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (1, "")
    assert error == f"error: {evaluate(expression, {'object': WEB})['error']}"
    caret = " | " + "." * (len(before) - 1) + "^"
    assert lines == [f" | {expression}", caret, *([f"  hint: {hint}"] if hint else [])]


def test_bytes_of_arguments_that_are_not_utf8_are_replaced_as_in_go() -> None:
    ran = CliRunner().invoke(command, ["'\udcff'.find('.') + 'a'"])
    assert (ran.exit_code, ran.output) == (0, '"\ufffda"\n')


def test_an_expression_that_does_not_compile_is_told_as_cel_does() -> None:
    answer = evaluate("foo + 1", {})
    assert answer["stage"] == "compile"
    assert answer["error"] == (
        "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo + 1\n | ^"
    )


def test_a_result_deeper_than_orjson_writes_comes_out_whole() -> None:
    result = CliRunner().invoke(
        policyd,
        ["eval", "--jsonl"],
        input=b'{"expression": "x", "variables": {"x": ' + b"[" * 600 + b"1" + b"]" * 600 + b"}}\n",
    )
    assert b"[" * 600 + b"1" in result.stdout_bytes


def test_the_cost_and_its_estimate() -> None:
    def told(expression: str, given: str) -> tuple[str, str]:
        result = CliRunner().invoke(command, ["--cost", expression, "-"], input=given)
        return result.stdout, result.stderr

    names = '{"names": ["a", "bb", "ccc"]}'
    assert told("object.names.all(n, n != '')", names) == (
        "true\n",
        "cost: 15 of 1,000,000 units; estimated 12 to 15\n",
    )
    assert told("object.names.map(n, n + 'x')[0].size()", names)[1] == (
        "cost: 48 of 1,000,000 units; estimated 57\n"
    )
    assert (
        "cost: 2 of 1,000,000 units; estimated 2\nerror: no such key"
        in (told("object.other", names)[1])
    )
    assert "estimated" not in told("nothing", names)[1]


def test_lines_have_the_estimate_too() -> None:
    line = b'{"expression": "1 + n", "variables": {"n": 2}}'
    result = CliRunner().invoke(command, ["--jsonl", "--cost"], input=line)
    assert orjson.loads(result.stdout_bytes)["estimate"] == {"min": 2, "max": 2}


def test_a_file_is_the_object(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("metadata: {name: web}\n")
    result = CliRunner().invoke(command, ["object.metadata.name", str(file)])
    assert (result.exit_code, result.output) == (0, '"web"\n')
    piped = CliRunner().invoke(command, ["object.a + n", "-", "--var", "n=1"], input='{"a": 1}')
    assert (piped.exit_code, piped.output) == (0, "2\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a", "--var", "a='\udcff'"], 2, "not valid UTF-8"),
        (
            ["1 +"],
            2,
            "error: 1:3: the expression ends after +\n | 1 +\n | ..^\n  hint: write what follows +",
        ),
        (["1 / 0"], 1, "error: division by zero"),
        ([], 2, "Missing argument 'EXPRESSION'"),
        (["1", "--var", "a"], 2, "expected NAME=JSON"),
        (["1", "--var", "a=[1"], 2, "did not find expected"),
        (["1", "/nowhere"], 2, "No such file"),
    ],
)
def test_exit_status_and_message(arguments: list[str], code: int, message: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == code
    assert message in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nope", "not JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"expression": 1}', "expected expression to be a string"),
        (b'{"variables": {}}', "expected expression to be a string"),
    ],
)
def test_a_line_that_is_no_question_is_answered_too(line: bytes, message: str) -> None:
    result = CliRunner().invoke(command, ["--jsonl"], input=line + b"\n")
    answer = orjson.loads(result.stdout_bytes)
    assert answer["stage"] == "question"
    assert message in answer["error"]


def test_each_line_is_answered_before_the_next_is_sent() -> None:
    code = "import sys; from policyd.cli.eval.command import command; command(['--jsonl'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            question = {"expression": "x + 1", "variables": {"x": number}}
            process.stdin.write(orjson.dumps(question) + b"\n\n")
            process.stdin.flush()
            assert orjson.loads(process.stdout.readline())["value"] == number + 1
        process.stdin.close()
    assert process.returncode == 0


MODES = [
    ("map", "Object{a: 1}.a", None),
    ("vap", "Object{a: 1}.a", "compile"),
    ("vap", "request.nothing", "compile"),
    ("", "request.nothing", "run"),
    ("other", "1", "question"),
]


@pytest.mark.parametrize("mode, expression, stage", MODES)
def test_lines_may_ask_for_what_policies_see(mode: str, expression: str, stage: str | None) -> None:
    question = {"expression": expression, "mode": mode, "variables": {"request": {}}}
    line = orjson.dumps(question)
    result = CliRunner().invoke(command, ["--jsonl"], input=line)
    assert orjson.loads(result.stdout).get("stage") == stage


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "web"}}}
KEY, IN_1_36, IN_1_37 = "[1] == 'a'", "no such key: 1", "unsupported map key type: types.Int"
TYPED = [
    ("object", POD, IN_1_37),
    ("oldObject.metadata.labels", POD, IN_1_37),
    ("params", {**POD, "kind": "ConfigMap"}, IN_1_37),
    ("namespaceObject", {"metadata": {}}, IN_1_37),
    ("request", {}, IN_1_37),
    ("object", {**POD, "apiVersion": "example.com/v1"}, IN_1_36),
    ("object", {}, IN_1_36),
    ("pod", POD, IN_1_36),
]


@pytest.mark.parametrize(("place", "value", "error"), TYPED)
def test_values_of_built_in_kinds_are_those_of_go_since_1_37(
    place: str, value: JSONObject, error: str
) -> None:
    line = {"expression": place + KEY, "variables": {place.partition(".")[0]: value}}
    lines = [orjson.dumps(line), orjson.dumps({**line, "version": "1.36"})]
    found = CliRunner().invoke(command, ["--jsonl"], input=b"\n".join(lines)).stdout.splitlines()
    assert [orjson.loads(each)["error"] for each in found] == [error, IN_1_36]


def test_the_content_of_a_file_is_of_the_kind_that_it_names() -> None:
    found = CliRunner().invoke(command, ["object[1]", "-"], input=orjson.dumps(POD))
    assert found.stderr.startswith(f"error: {IN_1_37}\n | object[1]\n")


def test_jsonl_keeps_the_text_of_kubernetes_and_people_get_a_hint() -> None:
    line = orjson.dumps({"expression": "1 = 1"}) + b"\n"
    answer = orjson.loads(CliRunner().invoke(command, ["--jsonl"], input=line).stdout_bytes)
    assert answer["error"].startswith(
        "ERROR: <input>:1:3: Syntax error: token recognition error at: '= '\n | 1 = 1\n | ..^\nERROR: "
    )
    shown = CliRunner().invoke(command, ["1 = 1"])
    assert shown.exit_code == 2
    assert shown.stderr.splitlines() == [
        "error: 1:3: an expression cannot contain '='",
        " | 1 = 1",
        " | ..^",
        "  hint: write == to compare",
        "  parser: Syntax error: token recognition error at: '= '",
    ]
