"""``policyd test``: tables of cases, each row a test of its own."""

import re
from pathlib import Path
from textwrap import indent
from xml.etree import ElementTree

import jsonschema
import orjson
import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.policy.model.editor_schema import schema_of
from tests.builders.policies import demand, policy

POLICY = policy(
    "tags",
    validations=[
        demand("object.spec.containers.all(c, !c.image.endsWith(':latest'))", "latest"),
        demand("object.?metadata.labels.team.orValue('') != ''", "team"),
        demand("request.userInfo.username != 'eve'", "eve"),
        demand("oldObject == null || oldObject.spec.containers == object.spec.containers", "same"),
    ],
)
BASE = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {team: blue, app.kubernetes.io/name: web}}
spec:
  containers:
  - {name: web, image: web:v1}
"""
HEAD = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: tags}
policies: [policy.json]
cases:
- name: images
  request:
    object:
"""
ROWS = """\
  expect: {allowed: true}
  table:
  - {name: as it is}
  - {name: in one line, set: {spec.containers.0.image: web:latest}, expect: {message: latest}}
  - name: latest
    set:
      spec.containers[0].image: web:latest
    expect: {allowed: false, message: latest}
  - name: a second container
    set:
      spec.containers[+]: {name: side, image: side:latest}
    expect: {allowed: false, message: latest}
  - name: no team
    set: {"metadata.labels['app.kubernetes.io/name']": x}
    remove: [metadata.labels.team]
    expect: {allowed: false, message: team}
  - name: eve
    request: {userInfo: {username: eve}}
    expect: {allowed: false, message: eve}
  - name: an update of the image
    request: {operation: UPDATE}
    set: {spec.containers.0.image: web:v2}
    expect: {allowed: false, message: same}
  - name: another object
    request: {objectFile: other.yaml}
    expect: {allowed: false, message: team}
"""
NAMES = [
    f"images/{name}"
    for name in (
        "as it is",
        "in one line",
        "latest",
        "a second container",
        "no team",
        "eve",
        "an update of the image",
        "another object",
    )
]


def run(folder: Path, suite: str, *arguments: str) -> tuple[int, str]:
    (folder / "policy.json").write_bytes(orjson.dumps(POLICY))
    (folder / "other.yaml").write_text(BASE.replace("team: blue, ", ""))
    (folder / "base.yaml").write_text(BASE)
    (folder / "suite.yaml").write_text(suite)
    result = CliRunner().invoke(policyd, ["test", str(folder), *arguments])
    return result.exit_code, result.output


def table(rows: str = ROWS) -> str:
    return HEAD + indent(BASE, "      ") + rows


def from_file(rows: str = ROWS) -> str:
    return HEAD.replace("    object:\n", "    objectFile: base.yaml\n") + rows


@pytest.mark.parametrize("suite", [table(), from_file()], ids=["inline", "file"])
def test_each_row_is_a_case(tmp_path: Path, suite: str) -> None:
    status, output = run(tmp_path, suite, "-v")
    assert status == 0, output
    assert re.findall(r"--- PASS: tags/(.*) \(", output) == NAMES


def test_rows_are_in_every_output(tmp_path: Path) -> None:
    found = orjson.loads(run(tmp_path, table(), "--format", "json")[1])
    assert [each["name"] for each in found] == NAMES
    assert [each["line"] for each in found][:3] == [17, 18, 19]
    xml = ElementTree.fromstring(run(tmp_path, table(), "--format", "junit")[1])
    assert [each.get("name") for each in xml[0]] == NAMES
    assert "8 cases" in run(tmp_path, table())[1]
    assert "1 case " in run(tmp_path, table(), "--run", "images/latest$")[1]
    assert "validations[0]" not in run(tmp_path, table(), "--coverage")[1]


def test_a_failing_row_shows_its_line(tmp_path: Path) -> None:
    status, output = run(
        tmp_path, table().replace("{name: as it is}", "{name: x, expect: {code: 1}}")
    )
    assert status == 1
    assert "--- FAIL: tags/images/x (" in output
    assert f"{tmp_path}/suite.yaml:17: code" in output


def row(text: str) -> str:
    return f"  expect: {{allowed: true}}\n  table:\n  - name: a\n    {text}\n"


WRONG: list[tuple[str, str, str]] = [
    ("set: {spec.contaners.0.image: a}",
     ':18:11: error: cases[0].table[0].set[spec.contaners.0.image]: Invalid value: '
     '"spec.contaners.0.image": contaners: Pod has no such field there', "did you mean containers?"),
    ("set: {'spec.containers[3].image': a}", "[3]: the list has 1 item", "spec.containers[+]: {…} adds an item"),
    ("set: {spec.containers.1.image: a}", "[1]: the list has 1 item",
     "they count from 0; spec.containers[+]: {…} adds an item"),
    ("set: {'spec.volumes[0].name': a}", "[0]: the object has no such list",
     "spec.volumes[+]: {…} adds an item"),
    ("remove: ['spec.containers[1]']", "[1]: the list has 1 item", "they count from 0"),
    ("set: {'spec..a': 1}", ':18:12: error: cases[0].table[0].set[spec..a]: Invalid value: '
     '"spec..a": is not a path', "write it as in spec.containers[0].image"),
    ("remove: [metadata.name, spec.volumes]", ":18:29: error: cases[0].table[0].remove[1]: Invalid "
     'value: "spec.volumes": volumes: the object has no such field', "it has containers"),
    ("sets: {a: b}", 'unknown field "sets"', "did you mean set?"),
    ("expect: {alowed: true}", 'unknown field "alowed"', "did you mean allowed?"),
    ("request: {objectFile: a.yaml, object: {}}", "object and objectFile are mutually exclusive", ""),
    ("request: {reviewFile: a.json}", "review and reviewFile exclude all other fields", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), WRONG, ids=[r[0] for r in WRONG])
def test_mistakes_are_placed(
    tmp_path: Path, text: str, message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite.yaml").write_text(table(row(text)))
    status = CliRunner().invoke(policyd, ["lint", str(tmp_path)])
    assert status.exit_code == 1
    assert message in status.output
    assert hint in status.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set: {spec.containers.4.image: a}",
         "suite.yaml:12: spec.containers.4.image: [4]: the list has 1 item"),
        ("remove: [spec.volumes]", "suite.yaml:12: spec.volumes: volumes: the object has no such"),
    ],
)  # fmt: skip
def test_a_wrong_path_into_a_file_fails_the_row(tmp_path: Path, text: str, message: str) -> None:
    status, output = run(tmp_path, from_file(row(text)))
    assert status == 1
    assert message in output


def test_a_row_needs_a_name_of_its_own(tmp_path: Path) -> None:
    twice = "  expect: {allowed: true}\n  table: [{name: a}, {name: a}, {set: {a: b}}]\n"
    (tmp_path / "suite.yaml").write_text(
        table(twice) + "- {name: images/a, request: {object: {}}}\n"
    )
    output = CliRunner().invoke(policyd, ["lint", str(tmp_path)]).output
    assert 'table[1].name: Duplicate value: "a"' in output
    assert "table[2].name: Required value" in output
    assert 'table[0].name: Duplicate value: "images/a"' in output
    assert "cases[1].expect: Required value: at least allowed: true or false" in output


def test_tables_fit_the_schema_of_editors() -> None:
    validator = jsonschema.Draft7Validator(schema_of("PolicyTest"))
    assert [each.message for each in validator.iter_errors(yaml.safe_load(table()))] == []
    wrong = yaml.safe_load(table(row("sets: {a: b}")))
    assert not validator.is_valid(wrong)
    neither = {**wrong, "cases": [{"name": "a"}]}
    assert not validator.is_valid(neither)
