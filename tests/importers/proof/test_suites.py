"""The suite beside an imported policy: what its tests expect, as policyd runs it."""

from pathlib import Path

from policyd.cli.test.run import RunOptions, run
from policyd.importers.proof.imports import ImportIndex
from policyd.importers.proof.proving import prove, rows_of
from policyd.importers.proof.suites import suite_of
from policyd.importers.reading import read_sources
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loader import load, require
from policyd.versions import NEWEST
from tests.builders.objects import metadata
from tests.builders.policies import json_patch
from tests.importers.sources import PODS, denying, imported, small_pod, source, write

COUNT = "{'count': object.metadata.?labels.?count.orValue('') + 'x'}"
PREPENDED = {
    "matchConstraints": PODS,
    "mutations": [
        json_patch(f"[JSONPatch{{op: 'add', path: '/metadata/labels', value: {COUNT}}}]")
    ],
}


def made(folder: Path, rules: JSONObject, *results: JSONObject, **more: JSON) -> JSONObject:
    """The suite of a policy with these rules and expected results."""
    test = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "policies": ["p.yaml"],
        "resources": ["pods.yaml"],
        "results": [{"policy": "p", "kind": "Pod", **each} for each in results],
        **more,
    }
    pods = [small_pod("good"), small_pod("bad"), small_pod("far", "away")]
    write(folder, {"p.yaml": source(rules=rules), "pods.yaml": pods, "kyverno-test.yaml": test})
    read = read_sources([folder])
    imports = imported(read)
    (rows,) = rows_of(imports, prove(read.tests, ImportIndex(imports, read.documents, NEWEST)))
    return suite_of(imports[0], rows, ["out.yaml"])


def runs(folder: Path, suite: JSONObject) -> bool:
    """Whether all cases of a suite pass with the policy of the folder."""
    (one,) = imported(read_sources([folder / "p.yaml"]))
    out = folder / "out"
    write(out, {"out.yaml": [each.raw for each in one.imported.documents], "suite.yaml": suite})
    sources = require(load([out / "suite.yaml"]))
    return run(sources, sources.of_kind("PolicyTest"), RunOptions()).passed


def test_a_case_expects_what_is_observed(tmp_path: Path) -> None:
    suite = made(
        tmp_path,
        {"r": denying()},
        {"rule": "r", "resources": ["good"], "result": "pass"},
        {"rule": "r", "resources": ["bad"], "result": "fail"},
    )
    assert [(each["name"], each["expect"]) for each in suite["cases"]] == [
        ("Pod good passes", {"allowed": True}),
        ("Pod bad fails", {"allowed": False, "message": "no"}),
    ]
    assert runs(tmp_path, suite)


def test_rows_about_one_request_are_one_case(tmp_path: Path) -> None:
    suite = made(
        tmp_path,
        {"r": denying(), "s": denying("true")},
        {"rule": "r", "resources": ["bad"], "result": "fail"},
        {"rule": "s", "resources": ["bad"], "result": "pass"},
    )
    assert [each["name"] for each in suite["cases"]] == ["Pod bad: r fail, s pass"]
    assert runs(tmp_path, suite)


def test_rows_that_disagree_are_left_out(tmp_path: Path) -> None:
    suite = made(tmp_path, {"r": denying()}, {"rule": "r", "resources": ["bad"], "result": "pass"})
    assert suite == {}


def test_user_operation_and_namespace_are_those_of_the_test(tmp_path: Path) -> None:
    rule = denying(
        "request.operation == 'UPDATE' && namespaceObject.metadata.annotations.team == 'a'"
    )
    values = {
        "globalValues": {"request.operation": "UPDATE", "request.userInfo": {"username": "ann"}},
        "namespaces": [{"metadata": metadata("away", annotations={"team": "a"})}],
    }
    row = {"rule": "r", "resources": ["far"], "result": "pass"}
    suite = made(tmp_path, {"r": rule}, row, values=values)
    (case,) = suite["cases"]
    assert case["request"]["operation"] == "UPDATE"
    assert case["request"]["userInfo"] == {"username": "ann"}
    assert case["namespaces"] == [{"name": "away", "annotations": {"team": "a"}}]
    assert runs(tmp_path, suite)


def test_a_mutation_that_changes_its_own_result_is_not_idempotent(tmp_path: Path) -> None:
    suite = made(tmp_path, {"r": PREPENDED}, {"rule": "r", "resources": ["good"], "result": "pass"})
    (case,) = suite["cases"]
    assert case["idempotent"] is False
    assert case["expect"]["patched"]["metadata"]["labels"] == {"count": "x"}
    assert runs(tmp_path, suite)
