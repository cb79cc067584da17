"""PolicySet: what can be loaded from where and means what in which Kubernetes version, and what
PolicyError says of what cannot.
"""

import gzip
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from policyd import KubernetesVersion, PolicyError, PolicySet, Problem
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import SPAN
from tests.api.objects import in_tree, requiring
from tests.builders.objects import pod
from tests.builders.policies import demand, policy, suite

A, B = requiring("a", "true"), requiring("b", "true")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(json.dumps(A))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.json.gz").write_bytes(gzip.compress(json.dumps(B).encode()))
    (tmp_path / ".hidden.yaml").write_text(json.dumps(requiring("hidden", "true")))
    return tmp_path


def test_a_string_is_one_path_and_not_its_characters(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert PolicySet.load("more").names == ("b",)
    with pytest.raises(PolicyError) as raised:
        PolicySet.load("pol")
    assert [problem.file for problem in raised.value.problems] == ["pol"]


def test_paths_may_be_strings_paths_or_any_iterable_of_them(folder: Path) -> None:
    file, inner = folder / "a.yaml", str(folder / "more")
    assert PolicySet.load(folder).names == ("a", "b")
    assert PolicySet.load(str(file)).names == ("a",)
    assert PolicySet.load([file, inner]).names == ("a", "b")
    assert PolicySet.load(iter([file])).names == ("a",)
    assert PolicySet.load({inner}).names == ("b",)


def test_text_holds_many_documents_and_names_them_in_problems() -> None:
    text = f"{json.dumps(A)}\n---\n{json.dumps(B)}"
    assert PolicySet.from_text(text).names == ("a", "b")
    with pytest.raises(PolicyError) as raised:
        PolicySet.from_text("kind: [", "policies.yaml")
    assert {problem.file for problem in raised.value.problems} == {"policies.yaml"}


def test_documents_are_not_kept() -> None:
    document = requiring("a", "false")
    policies = PolicySet.from_documents(document, *in_tree("vap", "true"))
    document["spec"]["validations"].clear()
    document["metadata"]["name"] = "other"
    assert policies.names == ("a", "vap")


def test_documents_may_hold_what_yaml_decoders_make_of_dates() -> None:
    dated = requiring("a", "params.since == '2026-01-02'", params={"since": date(2026, 1, 2)})
    assert PolicySet.from_documents(dated).names == ("a",)


def test_documents_may_be_iterables() -> None:
    whole = PolicySet.from_documents(A, B)
    forms: list[Any] = [(A, [B]), ([A, B],), ((A, B),), (iter([A, B]),), ([A], [B]), ([], A, B)]
    for given in forms:
        assert PolicySet.from_documents(*given).generation == whole.generation
    assert PolicySet.from_documents([]).names == ()
    with pytest.raises(PolicyError) as raised:
        PolicySet.from_documents([A], {**B, "spec": 1})
    assert [each.file for each in raised.value.problems] == ["documents[1]"]


@pytest.mark.parametrize("given", ["a.yaml", b"{}", 3, None, [A, "b"], [[A]], Path("policies")])
def test_what_is_no_document(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^expected (objects|an iterable)"):
        PolicySet.from_documents(given)


def test_equal_sources_have_equal_generations(folder: Path) -> None:
    assert PolicySet.from_documents(A).generation == PolicySet.from_documents(A).generation
    assert PolicySet.from_documents(A).generation != PolicySet.from_documents(B).generation
    assert PolicySet.load(folder).generation == PolicySet.load([folder]).generation


@pytest.mark.parametrize("version", ["1.36", "v1.36.4", KubernetesVersion(1, 36)])
def test_the_kubernetes_version_is_a_string_or_the_type(version: Any, folder: Path) -> None:
    for policies in (
        PolicySet.load(folder, kubernetes_version=version),
        PolicySet.from_text(json.dumps(A), kubernetes_version=version),
        PolicySet.from_documents(A, kubernetes_version=version),
    ):
        assert policies.kubernetes_version == "1.36"


@pytest.mark.parametrize("version", ["1.29", "new", ""])
def test_other_versions_are_refused(version: str) -> None:
    wrong = re.escape(f"unsupported Kubernetes version {version!r}: expected {SPAN}")
    with pytest.raises(ValueError, match=f"^{wrong}$"):
        PolicySet.from_documents(A, kubernetes_version=version)


def test_a_set_shows_what_it_holds() -> None:
    assert repr(PolicySet.from_text("")).startswith("<PolicySet of 0 policies; generation ")
    shown = repr(PolicySet.from_documents(A))
    assert shown.startswith("<PolicySet of 1 policy: a; generation ")
    assert shown.endswith(", Kubernetes 1.37>")
    many = PolicySet.from_documents(*(requiring(f"p{i}", "true") for i in range(7)))
    assert "p4, … 2 more;" in repr(many)


TEXT = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata:
  name: broken
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expresion: "true"
  - expression: object.metadata.nam +
"""


def problems_of(*sources: Any, **given: Any) -> tuple[Problem, ...]:
    with pytest.raises(PolicyError) as raised:
        PolicySet.from_text(*sources, **given)
    return raised.value.problems


def test_a_problem_has_its_place_and_a_hint() -> None:
    misspelt = problems_of(TEXT, "policy.yaml")[0]
    assert (misspelt.file, misspelt.line, misspelt.column) == ("policy.yaml", 10, 5)
    assert misspelt.path == "spec.validations[0].expresion"
    assert misspelt.message == 'unknown field "expresion"'
    assert misspelt.hint == "did you mean expression?"
    assert misspelt.severity == "error"
    assert str(misspelt).startswith("policy.yaml:10:5: spec.validations[0].expresion: unknown")


def test_an_expression_that_does_not_compile_is_shown_with_a_caret() -> None:
    (syntax,) = problems_of(TEXT.replace("expresion", "expression"), "policy.yaml")
    assert (syntax.line, syntax.column) == (11, 37)
    assert syntax.path == "spec.validations[1].expression"
    assert syntax.message.startswith("Syntax error: mismatched input '<EOF>'")
    assert " | object.metadata.nam +\n" in syntax.excerpt


def test_every_problem_of_every_document_is_reported() -> None:
    found = problems_of(f"{TEXT}---\nkind: Nothing\n---\n{json.dumps(A)}\n---\n{json.dumps(A)}")
    assert [(each.line, each.rule) for each in found] == [
        (10, "unknown-field"),
        (13, "not-an-object"),
        (17, "duplicate-name"),
        (11, "cel"),
    ]


def test_the_error_says_all_of_its_problems() -> None:
    with pytest.raises(PolicyError) as raised:
        PolicySet.from_text(TEXT, "policy.yaml")
    assert len(raised.value.problems) == 2
    assert str(raised.value) == "\n".join(map(str, raised.value.problems))


def test_problems_of_documents_name_the_document_and_no_line() -> None:
    broken = requiring("broken", "object.spec.a ==")
    with pytest.raises(PolicyError) as raised:
        PolicySet.from_documents(A, A, broken)
    found = [(each.file, each.line, each.column, each.path) for each in raised.value.problems]
    assert found == [
        ("documents[1]", 0, 0, "metadata.name"),
        ("documents[2]", 0, 0, "spec.validations[0].expression"),
    ]
    twice, _ = raised.value.problems
    assert twice.message == "Policy a is defined twice: first in documents[0]"
    assert str(twice).startswith("documents[1]: metadata.name: ")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "no such file or directory"),
        ("folder/nowhere.yaml", "no such file or directory"),
    ],
)
def test_a_missing_file_is_a_problem(
    path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError) as raised:
        PolicySet.load([path])
    (problem,) = raised.value.problems
    assert (problem.file, problem.line, problem.message) == (path, 0, message)


def test_a_file_with_a_problem_hides_no_other(folder: Path) -> None:
    (folder / "broken.yaml").write_text(TEXT)
    with pytest.raises(PolicyError) as raised:
        PolicySet.load([folder, "nowhere"])
    found = {Path(each.file).name for each in raised.value.problems}
    assert found == {"broken.yaml", "nowhere"}


def nested(kind: type, levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value} if kind is dict else kind([value])
    return value


DEEP = [nested(kind, levels) for kind in (dict, list, tuple) for levels in (5_000, 100_000)]


@pytest.mark.parametrize("value", [object(), {1, 2}, 2**70, *DEEP], ids=type)
def test_a_value_that_json_cannot_hold_is_a_type_error(value: object) -> None:
    document: JSONObject = requiring("a", "true", params={"value": value})
    with pytest.raises(TypeError, match=r"documents\[0\]: "):
        PolicySet.from_documents(document)


@pytest.mark.parametrize("kind", [dict, list, tuple])
def test_documents_may_be_as_deep_as_objects(kind: type) -> None:
    document: JSONObject = requiring("a", "true", params={"value": nested(kind, 900)})
    assert PolicySet.from_documents(document).names == ("a",)


def write(folder: Path, expression: str) -> Path:
    file = folder / "policy.json"
    file.write_text(json.dumps(policy("named", validations=[demand(expression, "denied")])))
    return file


def test_what_a_version_does_not_know_does_not_load(tmp_path: Path) -> None:
    file = write(tmp_path, "['a'].includes(object.metadata.name)")
    policies = PolicySet.load([file])
    assert policies.kubernetes_version == "1.37"
    assert policies.review(build_review(pod(name="a")))["response"]["allowed"]
    with pytest.raises(PolicyError, match="undeclared reference to 'includes'"):
        PolicySet.load([file], kubernetes_version="1.36")
    with pytest.raises(ValueError, match=r"1\.30 to 1\.38"):
        PolicySet.load([file], kubernetes_version="1.29")


def test_what_a_version_answers_otherwise(tmp_path: Path) -> None:
    file = write(tmp_path, "lists.range(object.metadata.name == 'a' ? -1 : 1) == []")
    allowed = {
        version: PolicySet.load([file], kubernetes_version=version).review(
            build_review(pod(name="a"))
        )["response"]
        for version in ("1.36", "1.37")
    }
    assert allowed["1.36"]["allowed"]
    denial = allowed["1.37"]["status"]["message"]
    assert "lists.range: size must be non-negative, got -1" in denial


def test_suites_and_reloads_follow_the_version_of_the_server(tmp_path: Path) -> None:
    write(tmp_path, "lists.range(object.metadata.name == 'a' ? -1 : 1) == []")
    case = {"name": "a", "request": {"object": pod(name="a")}, "expect": {"allowed": True}}
    whole = suite(policies=["policy.json"], cases=[case])
    (tmp_path / "suite.json").write_text(json.dumps(whole))
    versions = [KubernetesVersion(1, 36), KubernetesVersion(1, 37)]
    serving = PolicyLoader()
    old = serving.load([tmp_path], version=lambda: versions[0])
    assert old.failures == ()
    new = serving.load([tmp_path], version=lambda: versions[1])
    assert len(new.failures) == 1
    assert (old.policies.version, new.policies.version) == tuple(versions)
    # The same text means something else: the compiled policy is not used again.
    assert old.policies.policies[0] is not new.policies.policies[0]
    again = serving.load([tmp_path], version=lambda: versions[1])
    assert again.policies.policies[0] is new.policies.policies[0]
