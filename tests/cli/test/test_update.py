"""``policyd test --update``: what was observed is written, and the rest of the file is kept."""

import re
import shutil
from pathlib import Path
from textwrap import dedent

import orjson
import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from tests.builders.objects import pod
from tests.builders.policies import demand, json_patch, overlay, policy, suite
from tests.cli.within import answered
from tests.sampling import sampled
from tests.shared import ROOT

POLICIES = [
    policy(
        "tags",
        validations=[
            demand("object.spec.containers.all(c, !c.image.endsWith(':latest'))", "latest, pin it"),
            demand("object.metadata.labels.team != 'red'", "red"),
        ],
    ),
    policy(
        "warns",
        validations=[demand("object.metadata.name != 'warned'", "mind: it")],
        validationActions=["Warn", "Audit"],
    ),
    policy("note", mutations=[overlay({"metadata": {"annotations": {"note": "on"}}})]),
]
HEAD = """\
# A suite.
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}   # its name
policies: [policies.json]
cases:
"""
OPPOSITE = {"true": "allowed: false", "false": "allowed: true"}
ONE_LINE = re.compile(r"  expect: \{.*\}")
META = "apiVersion: v1, kind: Pod, metadata: {name: NAME, labels: {team: TEAM}, annotations: {note: 'on'}}"


def a_pod(team: str = "x", image: str = "web:v1", name: str = "a") -> str:
    return (
        "{"
        + META.replace("TEAM", team).replace("NAME", name)
        + f", spec: {{containers: [{{image: '{image}'}}]}}}}"
    )


def run(folder: Path, text: str, *arguments: str) -> tuple[int, str]:
    (folder / "policies.json").write_bytes(b"\n".join(map(orjson.dumps, POLICIES)))
    (folder / "suite.yaml").write_bytes(text.encode())
    return answered("test", str(folder), *arguments)


def updated(folder: Path, text: str, *arguments: str) -> str:
    status, output = run(folder, text, "--update", *arguments)
    assert status == 0, output
    return (folder / "suite.yaml").read_bytes().decode()


ROWS: list[tuple[str, str, str]] = [
    ("a case without expectation",
     f"- name: a\n  request: {{object: {a_pod()}}}  # kept\n\n# the end\n",
     f"- name: a\n  request: {{object: {a_pod()}}}  # kept\n  expect: {{allowed: true}}\n\n# the end\n"),
    ("without a last line break",
     f"- name: a\n  request: {{object: {a_pod()}}}",
     f"- name: a\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}}"),
    ("a denial",
     f"- name: a\n  request:\n    object: {a_pod(team='red')}\n- name: b\n"
     f"  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n",
     f"- name: a\n  request:\n    object: {a_pod(team='red')}\n"
     "  expect: {allowed: false, message: red}\n- name: b\n"
     f"  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n"),
    ("two denials", f"- {{name: a, request: {{object: {a_pod('red', 'a:latest')}}}}}\n",
     f"- {{name: a, request: {{object: {a_pod('red', 'a:latest')}}}, "
     'expect: {allowed: false, causes: ["latest, pin it", red]}}\n'),
    ("an empty expectation", f"- name: a\n  expect: {{}}  # to do\n  request: {{object: {a_pod()}}}\n",
     f"- name: a\n  expect: {{allowed: true}}  # to do\n  request: {{object: {a_pod()}}}\n"),
    ("a key without a value", f"- name: a\n  expect:\n  request: {{object: {a_pod()}}}\n",
     f"- name: a\n  expect: {{allowed: true}}\n  request: {{object: {a_pod()}}}\n"),
    ("only what differs",
     f"- name: a\n  request: {{object: {a_pod(team='red')}}}\n  expect:\n    # first\n"
     "    allowed: false  # yes\n    message: 'blue'  # no\n    warnings: []\n",
     f"- name: a\n  request: {{object: {a_pod(team='red')}}}\n  expect:\n    # first\n"
     "    allowed: false  # yes\n    message: red  # no\n    warnings: []\n"),
    ("an admission that was a denial",
     f"- name: a\n  request: {{object: {a_pod()}}}\n  expect:\n    allowed: false  # no\n"
     "    message: >-\n      red\n    # after\n- name: b\n"
     f"  request: {{object: {a_pod()}}}\n  expect: {{warnings: []}}\n",
     f"- name: a\n  request: {{object: {a_pod()}}}\n  expect:\n    allowed: true  # no\n"
     f"    # after\n- name: b\n  request: {{object: {a_pod()}}}\n  expect: {{warnings: []}}\n"),
    ("the same in one line",
     f"- {{name: a, expect: {{message: red, allowed: false}}, request: {{object: {a_pod()}}}}}\n",
     f"- {{name: a, expect: {{allowed: true}}, request: {{object: {a_pod()}}}}}\n"),
    ("the last key goes",
     f"- name: a\n  expect: {{allowed: true, message: red}}\n  request: {{object: {a_pod()}}}\n",
     f"- name: a\n  expect: {{allowed: true}}\n  request: {{object: {a_pod()}}}\n"),
    ("nothing is left", f"- name: a\n  expect: {{message: red}}\n  request: {{object: {a_pod()}}}\n",
     f"- name: a\n  expect: {{allowed: true}}\n  request: {{object: {a_pod()}}}\n"),
    ("a list becomes one text",
     f"- name: a\n  expect:\n    message:\n    - blue\n    - red  # c\n    allowed: false\n"
     f"  request: {{object: {a_pod(team='red')}}}\n",
     f"- name: a\n  expect:\n    message: red  # c\n    allowed: false\n"
     f"  request: {{object: {a_pod(team='red')}}}\n"),
    ("an alias before it",
     f"- name: a\n  request: &it {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n"
     "- name: b\n  request: *it\n\n- name: c\n  request: *it\n  expect: {allowed: false}\n",
     f"- name: a\n  request: &it {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n"
     "- name: b\n  request: *it\n  expect: {allowed: true}\n\n"
     "- name: c\n  request: *it\n  expect: {allowed: true}\n"),
    ("rows",
     f"- name: t\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n  table:\n"
     "  - {name: a, set: {metadata.labels.team: red}}\n  - name: b  # row\n"
     "    set: {metadata.labels.team: red}\n    expect: {message: blue}\n  - name: c\n",
     f"- name: t\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}}\n  table:\n"
     "  - {name: a, set: {metadata.labels.team: red}, expect: {allowed: false, message: red}}\n"
     "  - name: b  # row\n    set: {metadata.labels.team: red}\n    expect: {message: red}\n"
     "  - name: c\n"),
    ("an alias at its end",
     f"- name: a\n  request:\n    operation: UPDATE\n    object: &it {a_pod()}\n"
     "    oldObject: *it\n\n# next\n- name: b\n  request:\n    options: {a: [1, &x {b: c}, *x]}\n"
     "    object: *it  # last\n  # still\n",
     f"- name: a\n  request:\n    operation: UPDATE\n    object: &it {a_pod()}\n"
     "    oldObject: *it\n  expect: {allowed: true}\n\n# next\n- name: b\n  request:\n"
     "    options: {a: [1, &x {b: c}, *x]}\n    object: *it  # last\n"
     "  expect: {allowed: true}\n  # still\n"),
    ("a denial whose message is right",
     f"- name: a\n  request: {{object: {a_pod('red')}}}\n  expect: {{message: re, allowed: true}}\n",
     f"- name: a\n  request: {{object: {a_pod('red')}}}\n  expect: {{message: re, allowed: false}}\n"),
    ("rows without any",
     f"- name: t\n  request: {{object: {a_pod()}}}\n  table: [{{name: a}}]\n",
     f"- name: t\n  request: {{object: {a_pod()}}}\n"
     "  table: [{name: a, expect: {allowed: true}}]\n"),
    ("wide characters",
     f"- name: ä€😀  # ü\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: false}} # 😀\n",
     f"- name: ä€😀  # ü\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: true}} # 😀\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_only_expectations_change(tmp_path: Path, before: str, after: str) -> None:
    assert updated(tmp_path, HEAD + before) == HEAD + after
    assert "nothing to update" in run(tmp_path, HEAD + after, "--update")[1]


@pytest.mark.parametrize("before", [r[1] for r in ROWS], ids=[r[0] for r in ROWS])
@pytest.mark.parametrize(("bom", "line_break"), [("\ufeff", "\n"), ("", "\r\n")])
def test_line_breaks_and_marks_stay(tmp_path: Path, before: str, bom: str, line_break: str) -> None:
    unix = updated(tmp_path, HEAD + before)
    text = bom + (HEAD + before).replace("\n", line_break)
    assert updated(tmp_path, text) == bom + unix.replace("\n", line_break)


def test_a_mutated_object_is_written_whole(tmp_path: Path) -> None:
    bare = a_pod().replace(", annotations: {note: 'on'}", "")
    text = updated(tmp_path, f"{HEAD}- name: a\n  request: {{object: {bare}}}\n# end\n")
    assert text.partition("  expect:\n")[2] == dedent(
        """\
            allowed: true
            patched:
              apiVersion: v1
              kind: Pod
              metadata:
                name: a
                labels: {team: x}
                annotations: {note: "on"}
              spec:
                containers:
                - image: web:v1
        # end
        """
    )


def test_warnings_and_annotations(tmp_path: Path) -> None:
    text = updated(tmp_path, f"{HEAD}- name: a\n  request: {{object: {a_pod(name='warned')}}}\n")
    (case,) = yaml.safe_load(text)["cases"]
    assert case["expect"]["allowed"] is True
    assert case["expect"]["warnings"] == ["Validation failed for policy 'warns': mind: it"]
    assert set(case["expect"]["auditAnnotations"]) == {"validation_failure"}


def test_an_error_is_written_as_such_with_a_warning(tmp_path: Path) -> None:
    bare = a_pod().replace("labels: {team: x}, ", "")
    cases = f"- {{name: new, request: {{object: {bare}}}}}\n"
    cases += f"- {{name: old, request: {{object: {bare}}}, expect: {{allowed: false}}}}\n"
    status, output = run(tmp_path, HEAD + cases, "--update")
    assert status == 0
    for line, name in ((7, "new"), (8, "old")):
        assert (
            f"warning: {tmp_path}/suite.yaml:{line}: s/{name}: wrote error: true, because a policy "
            "errs: tags: expression 'object.metadata.labels.team != 'red'' resulted in error: "
            "no such key: labels" in output
        )
    new, old = yaml.safe_load((tmp_path / "suite.yaml").read_text())["cases"]
    assert new["expect"]["error"] is True
    assert "no such key: labels" in new["expect"]["message"]
    assert old["expect"] == {"allowed": False, "error": True}


def test_an_error_that_is_gone(tmp_path: Path) -> None:
    case = (
        f"- {{name: a, request: {{object: {a_pod()}}}, expect: {{error: true, allowed: true}}}}\n"
    )
    assert "expect: {allowed: true}}" in updated(tmp_path, HEAD + case)


def test_the_differences_are_shown(tmp_path: Path) -> None:
    case = f"- name: a\n  request: {{object: {a_pod()}}}\n  expect: {{allowed: false}}\n"
    _, output = run(tmp_path, HEAD + case, "--update")
    assert "\n-  expect: {allowed: false}\n+  expect: {allowed: true}\n" in output
    assert f"wrote 1 expectation to {tmp_path}/suite.yaml\n" in output
    assert f"ok    {tmp_path}/suite.yaml  1 case" in output


REFUSED: list[tuple[str, str, str]] = [
    ("a case that cannot run",
     "- {name: a, request: {objectFile: nowhere.yaml}, expect: {allowed: true}}\n",
     "s/a: not updated: "),
    ("an expectation that cases share",
     f"- {{name: a, request: {{object: {a_pod()}}}, expect: &no {{allowed: false}}}}\n"
     f"- {{name: b, request: {{object: {a_pod('red')}}}, expect: *no}}\n"
     f"- {{name: c, request: {{object: {a_pod()}}}, expect: *no}}\n",
     "s/c: not updated: expect: comes from an alias; write it out"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_cannot_be_updated_still_fails(tmp_path: Path, case: str, message: str) -> None:
    status, output = run(tmp_path, HEAD + case, "--update")
    assert status == 1
    assert message in output


def test_mutations_that_are_not_idempotent_are_not_made_so(tmp_path: Path) -> None:
    expression = (
        "[JSONPatch{op: 'add', path: '/metadata/annotations', "
        "value: {'n': object.metadata.?annotations.n.orValue('') + 'a'}}]"
    )
    (tmp_path / "growing.json").write_bytes(
        orjson.dumps(policy("growing", mutations=[json_patch(expression)]))
    )
    text = HEAD.replace("policies.json", "growing.json")
    text += f"- {{name: a, request: {{object: {a_pod()}}}, expect: {{allowed: true}}}}\n"
    status, output = run(tmp_path, text, "--update")
    assert status == 1
    assert "s/a: not updated: the mutations change their own result" in output
    assert (tmp_path / "suite.yaml").read_text() == text


def test_only_selected_cases_are_updated(tmp_path: Path) -> None:
    cases = "".join(
        f"- {{name: {name}, request: {{object: {a_pod()}}}, expect: {{allowed: false}}}}\n"
        for name in ("one", "two")
    )
    text = updated(tmp_path, HEAD + cases, "--run", "two")
    assert text == HEAD + cases[: cases.index("- {name: two")] + cases[
        cases.index("- {name: two") :
    ].replace("false", "true")


def test_several_suites_of_a_file(tmp_path: Path) -> None:
    one = HEAD + f"- name: a\n  request: {{object: {a_pod()}}}\n"
    two = one.replace("name: s}", "name: t}")
    expected = "".join(f"{each}  expect: {{allowed: true}}\n---\n" for each in (one, two))
    assert updated(tmp_path, f"{one}---\n{two}---\n") == expected


def test_a_list_of_suites(tmp_path: Path) -> None:
    items = "".join(
        f"- apiVersion: policyd.dev/v1\n  kind: PolicyTest\n  metadata: {{name: {name}}}\n"
        f"  policies: [policies.json]\n  cases:\n  - name: a\n    request: {{object: {a_pod()}}}\n"
        "    expect: {allowed: false}\n"
        for name in ("s", "t")
    )
    text = updated(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert text.count("    expect: {allowed: true}\n") == 2


@pytest.mark.parametrize("option", [None, orjson.OPT_INDENT_2])
def test_json_stays_json(tmp_path: Path, option: int | None) -> None:
    (tmp_path / "policies.json").write_bytes(b"\n".join(map(orjson.dumps, POLICIES)))
    obj = pod(labels={"team": "red"}, annotations={"note": "on"})
    cases = [
        {"name": "a", "request": {"object": obj}},
        {"name": "b", "request": {"object": obj}, "expect": {"allowed": True, "warnings": []}},
    ]
    file = tmp_path / "suite.json"
    file.write_bytes(orjson.dumps(suite(cases=cases, policies=["policies.json"]), option=option))
    result = CliRunner().invoke(policyd, ["test", str(tmp_path), "--update"])
    assert result.exit_code == 0, result.output
    found = orjson.loads(file.read_bytes())["cases"]
    denied = {"allowed": False, "message": "red"}
    assert [each["expect"] for each in found] == [denied, {**denied, "warnings": []}]


def test_a_link_and_the_mode_of_its_file_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    case = f"- {{name: a, request: {{object: {a_pod()}}}, expect: {{allowed: false}}}}\n"
    file = tmp_path / "real" / "suite.txt"
    file.write_text(HEAD + case)
    file.chmod(0o640)
    (tmp_path / "policies.json").write_bytes(b"\n".join(map(orjson.dumps, POLICIES)))
    (tmp_path / "suite.yaml").symlink_to("real/suite.txt")
    result = CliRunner().invoke(policyd, ["test", str(tmp_path / "suite.yaml"), "--update"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "suite.yaml").is_symlink()
    assert "allowed: true" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    assert list((tmp_path / "real").iterdir()) == [file]


@pytest.mark.parametrize("option", ["--watch", "--format=json"])
def test_options_that_exclude_it(tmp_path: Path, option: str) -> None:
    status, output = run(tmp_path, f"{HEAD}- {{}}\n", "--update", option)
    assert status == 2
    assert "cannot be combined" in output


def test_other_errors_of_a_suite_are_reported(tmp_path: Path) -> None:
    text = f"{HEAD}- {{nam: a, request: {{object: {a_pod()}}}}}\n"
    _, output = run(tmp_path, text, "--update")
    assert "did you mean name?" in output
    assert (tmp_path / "suite.yaml").read_text() == text


def library(below: Path) -> Path:
    """A sample of the policies that come with policyd, with their suites."""
    suites = sorted((ROOT / "policies").rglob("suite.yaml"))
    # What a case with a table expects is written into its rows.
    for file in sampled([each for each in suites if "table:" not in each.read_text()]):
        shutil.copytree(file.parent, below / file.parent.relative_to(ROOT))
    return below / "policies"


def test_the_suites_of_the_library_are_restored(tmp_path: Path) -> None:
    folder = library(tmp_path)
    suites = {file: file.read_text() for file in folder.rglob("suite.yaml")}
    for file, text in suites.items():
        wrong = re.sub("allowed: (true|false)", lambda match: OPPOSITE[match[1]], text)
        assert wrong != text
        file.write_text(wrong)
    result = CliRunner().invoke(policyd, ["test", str(folder), "--update"])
    assert result.exit_code == 0, result.output
    assert {file: file.read_text() for file in suites} == suites


def test_expectations_of_the_library_can_be_written_again(tmp_path: Path) -> None:
    folder = library(tmp_path)
    for file in folder.rglob("suite.yaml"):
        kept = [line for line in file.read_text().split("\n") if not ONE_LINE.fullmatch(line)]
        file.write_text("\n".join(kept))
    result = CliRunner().invoke(policyd, ["test", str(folder), "--update"])
    assert result.exit_code == 0, result.output
    assert "warning" not in result.output
