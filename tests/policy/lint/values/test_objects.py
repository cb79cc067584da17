"""Fields and values of objects that the API server would not accept: of suites, their files, and
among the policies.
"""

from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.objects import invalid_objects
from policyd.policy.source.loader import load, load_text
from tests.builders.objects import definition
from tests.policy_sets import loaded

SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}
policies: [policy.yaml]
cases:
- name: a
  request:
    object: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: b}]}}
  expect: {allowed: true}
"""
PLAIN = "spec: {containers: [{name: a, image: b}]}"
OBJECT = "{apiVersion: v1, kind: Pod, metadata: {name: web}, " + PLAIN + "}"

# What the suite has in place of what, and the path, message and hint.
WRONG = [
    ("containers:", "container:", "spec.container", 'unknown field "container"', "did you mean containers?"),
    ("metadata: {name: web}", "metadat: {name: web}", "metadat", 'unknown field "metadat"',
     "did you mean metadata?"),
    ("{name: web}", "{name: web, label: {a: b}}", "metadata.label", 'unknown field "label"',
     "did you mean labels?"),
    ("image: b", "imge: b", "spec.containers[0].imge", 'unknown field "imge"', "did you mean image?"),
    (PLAIN, "spec: {image: b, containers: []}", "spec.image", 'unknown field "image"',
     "write it below containers[]"),
    (PLAIN, "spec: {containers: {name: a}}", "spec.containers", "expected a list, got a map",
     "write a list: each item after '- '"),
    ("{name: web}", "{name: web, labels: {a: true}}", "metadata.labels.a",
     "expected a string, got true", "put it in quotes"),
    ("image: b", "image: b, tty: 'yes'", "spec.containers[0].tty",
     'expected true or false, got "yes"', "write true, without quotes"),
    (PLAIN, "spec: [{name: a}]", "spec", "expected a map, got a list", ""),
]  # fmt: skip


def advice(text: str) -> list[tuple[str, str, str]]:
    found = list(in_documents(LintRun(load_text(text, "s.yaml")), invalid_objects))
    assert all((each.rule, each.severity, each.file) == ("invalid-object", "advice", "s.yaml")
               for each in found)  # fmt: skip
    return [(each.path, each.message, each.hint) for each in found]


@pytest.mark.parametrize(("old", "new", "path", "message", "hint"), WRONG)
def test_an_object_of_a_case(old: str, new: str, path: str, message: str, hint: str) -> None:
    assert SUITE.count(old) == 1
    ((where, what, remedy),) = advice(SUITE.replace(old, new))
    assert (where, what) == (f"cases[0].request.object.{path}", message)
    assert hint in remedy


@pytest.mark.parametrize("object_", [
    OBJECT,
    # Custom kinds without a definition, and parts of any content.
    "{apiVersion: x.io/v1, kind: Pod, metadata: {name: web}, spec: {container: a}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {container: a}}, spec: null}",
    "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: "
    "{limits: {cpu: 1, memory: 1Gi}}, ports: [{containerPort: 80}, {containerPort: 80}], "
    "readinessProbe: {httpGet: {port: web}}}], nodeSelector: {a: b}}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: 2026-01-01T00:00:00Z}}",
    "{apiVersion: v1, kind: PodExecOptions, command: [sh]}",
])  # fmt: skip
def test_an_object_of_its_kind(object_: str) -> None:
    assert advice(SUITE.replace(OBJECT, object_)) == []


@pytest.mark.parametrize(("old", "new", "path"), [
    ("  expect:", "    oldObject: {apiVersion: v1, kind: Pod, metdata: {}}\n  expect:",
     "cases[0].request.oldObject.metdata"),
    ("  expect:", "  reads: [{apiVersion: v1, kind: Pod, metadata: {name: a}, sepc: {}}]\n  expect:",
     "cases[0].reads[0].sepc"),
    ("cases:", "params: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {}}]\ncases:",
     "params[0].dat"),
    ("{allowed: true}", "{patched: {apiVersion: v1, kind: Pod, spc: {}}}", "cases[0].expect.patched.spc"),
    ("  expect:", "  table:\n  - {name: b, set: {'spec.containers[+]': {nam: c}}}\n  expect:",
     "cases[0].table[0].set[spec.containers[+]].nam"),
    ("  expect:", "  table:\n  - {name: b, request: {object: {apiVersion: v1, kind: Pod, spc: {}}}}\n"
     "  expect:", "cases[0].table[0].request.object.spc"),
    (f"  request:\n    object: {OBJECT}", "  review: {request: {object: {apiVersion: v1, kind: Pod, spc: {}}}}",
     "cases[0].review.request.object.spc"),
    (f"    object: {OBJECT}", "    review: {object: {apiVersion: v1, kind: Pod, spc: {}}}",
     "cases[0].request.review.object.spc"),
])  # fmt: skip
def test_every_object_of_a_suite(old: str, new: str, path: str) -> None:
    assert SUITE.count(old) == 1
    assert [each[0] for each in advice(SUITE.replace(old, new))] == [path]


def test_objects_that_repeat_another_one_are_reported_where_they_are_written() -> None:
    text = SUITE.replace(OBJECT, "&pod {apiVersion: v1, kind: Pod, spc: {}}")
    text += "- name: b\n  request: {object: *pod}\n  expect: {allowed: true}\n"
    found = in_documents(LintRun(load_text(text, "s.yaml")), invalid_objects)
    assert [(each.path, each.line) for each in found] == [("cases[0].request.object.spc", 8)]


def test_params_among_the_policies() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {a: b}\n"
    assert advice(text) == [("dta", 'unknown field "dta"', "did you mean data?")]


def test_a_custom_resource_whose_definition_is_loaded() -> None:
    schema: JSONObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
    thing: JSONObject = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}}
    thing["spec"] = {"sise": 1}
    assert list(in_documents(LintRun(loaded(thing)), invalid_objects)) == []
    (found,) = in_documents(
        LintRun(loaded(definition("Thing", "x.io", schema), thing)), invalid_objects
    )
    assert (found.path, found.hint) == ("spec.sise", "did you mean size?")


def test_the_file_of_an_object_is_reported_once_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nspec:\n  contaners: []\n")
    again = "- name: b\n  request: {objectFile: pod.yaml}\n  expect: {allowed: true}\n"
    text = SUITE.replace(f"object: {OBJECT}", "objectFile: pod.yaml") + again
    (tmp_path / "suite.yaml").write_text(text)
    (found,) = in_documents(LintRun(load([tmp_path / "suite.yaml"])), invalid_objects)
    assert (found.file, found.line, found.column) == (str(tmp_path / "pod.yaml"), 4, 3)
    assert found.hint == "did you mean containers?"


def test_a_file_that_cannot_be_read_is_a_matter_of_its_case(tmp_path: Path) -> None:
    text = SUITE.replace(f"object: {OBJECT}", "objectFile: missing.yaml")
    (tmp_path / "suite.yaml").write_text(text)
    assert list(in_documents(LintRun(load([tmp_path / "suite.yaml"])), invalid_objects)) == []
