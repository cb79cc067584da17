"""Values that a test of Kyverno gives in place of objects that its policy reads, and objects."""

from pathlib import Path

import pytest

from policyd.importers.all import CONVERTERS
from policyd.importers.proof.imports import ImportedBefore, ImportIndex
from policyd.importers.proof.kyverno_tests import substituted
from policyd.importers.proof.proving import prove, rows_of
from policyd.importers.proof.rows import Proof
from policyd.importers.proof.suites import suite_of
from policyd.importers.reading import read_sources
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loader import load_built, require
from policyd.versions import NEWEST
from tests.builders.objects import config_map
from tests.importers.kyverno.classic import cluster_policy, condition, rule_of
from tests.importers.sources import imported, proved, small_pod, write

CALL = {"apiCall": {"urlPath": "/api/v1/namespaces/{{request.namespace}}/pods"}}


def entry(query: str, **more: JSON) -> JSONObject:
    return {"name": "found", "apiCall": {**CALL["apiCall"], "jmesPath": query, **more}}


def sources(folder: Path, fetched: JSONObject, held: JSONObject, result: str, **test: JSON) -> Path:
    deny = {"message": "no", "deny": {"conditions": {"any": [held]}}}
    kyverno_test = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "policies": ["policy.yaml"],
        "resources": ["pods.yaml"],
        "results": [
            {"policy": "p", "rule": "r", "kind": "Pod", "resources": ["good"], "result": result}
        ],
        **test,
    }
    policy = cluster_policy(rule_of(deny, context=[fetched]), name="p")
    files = {
        "policy.yaml": policy,
        "pods.yaml": small_pod("good"),
        "kyverno-test.yaml": kyverno_test,
    }
    return write(folder, files)


def values_of(**values: JSON) -> JSONObject:
    return {"policies": [{"name": "p", "rules": [{"name": "r", "values": values}]}]}


@pytest.mark.parametrize(
    ("query", "held", "value", "result"),
    [
        ("items[] | length(@)", condition("{{ found }}", "LessThan", 1), "1", "pass"),
        ("items[] | length(@)", condition("{{ found }}", "LessThan", 1), 0, "fail"),
        ("items[].metadata.name", condition("a", "AnyIn", "{{ found }}"), '["a", "b"]', "fail"),
        ("items[].metadata.name", condition("a", "AnyIn", "{{ found }}"), ["b"], "pass"),
        ("items[0].metadata.name", condition("{{ found }}", "Equals", "a"), "a", "fail"),
    ],
)
def test_a_value_stands_for_what_is_read(
    tmp_path: Path, query: str, held: JSONObject, value: JSON, result: str
) -> None:
    sources(tmp_path, entry(query), held, result, values=values_of(found=value))
    (proof,) = proved(tmp_path, CONVERTERS)
    assert (proof.state, proof.reason) == ("agrees", "")


def test_fields_of_a_value_are_given_one_by_one(tmp_path: Path) -> None:
    held = condition("{{ found.spec.type }}", "Equals", "a")
    context = {
        "name": "found",
        "apiCall": {"urlPath": "/api/v1/namespaces/{{request.namespace}}/services/x"},
    }
    given = values_of(**{"found.spec.type": "a", "found.spec.other": "b"})
    sources(tmp_path, context, held, "fail", values=given)
    (proof,) = proved(tmp_path, CONVERTERS)
    assert proof.state == "agrees"


def test_only_calls_and_references_are_replaced() -> None:
    names = [{"name": "found", "value": 1}, {"name": "found", "globalReference": {"name": "x"}}]
    assert substituted(names, {"found": "2", "found.x": 3, "other": 4})[0] == names[0]
    assert substituted(names[1], {"found": "x"}) == {"name": "found", "variable": {"value": "x"}}
    assert substituted(names[1], {"other": "x"}) == names[1]


def test_a_value_that_no_operator_takes_is_named(tmp_path: Path) -> None:
    held = condition("{{ found }}", "DurationLessThan", "1h")
    sources(tmp_path, entry("items[0].x"), held, "fail", values=values_of(found=[{"a": 1}]))
    (proof,) = proved(tmp_path, CONVERTERS)
    assert proof.state == "not run"
    assert "with the values of the test" in proof.reason


READING = condition("{{ found }}", "Equals", "b")
OBJECT = entry("data.a")
OBJECT["apiCall"]["urlPath"] = "/api/v1/namespaces/{{request.namespace}}/configmaps/c"
HELD = config_map("c", "default", {"a": "b"})


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("context", "Context", {"resources": [HELD]}),
        ("clusterResources", "ClusterResource", {"resources": [HELD]}),
        ("targetResources", "", HELD),
    ],
)
def test_objects_of_the_cluster_are_those_of_reads(
    tmp_path: Path, name: str, kind: str, content: JSONObject
) -> None:
    named: JSON = "cluster.yaml" if name == "context" else ["cluster.yaml"]
    raw = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": kind, "metadata": {"name": "x"}}
    write(tmp_path / "held", {"cluster.yaml": {**raw, "spec": content} if kind else content})
    held = f"held/{named}" if isinstance(named, str) else ["held/cluster.yaml"]
    sources(tmp_path, OBJECT, READING, "fail", **{name: held})
    (proof,) = proved(tmp_path, CONVERTERS)
    assert (proof.state, proof.found) == ("agrees", "fail")


def rows_and_suite(folder: Path) -> tuple[list[Proof], JSONObject]:
    read = read_sources([folder])
    imports = imported(read, CONVERTERS)
    rows = rows_of(imports, prove(read.tests, ImportIndex(imports, read.documents, NEWEST)))
    return [*rows[0]], suite_of(imports[0], rows[0], ["out.yaml"])


def test_a_case_has_the_objects_that_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"map.yaml": HELD})
    sources(tmp_path, OBJECT, READING, "fail", targetResources=["map.yaml"])
    _, found = rows_and_suite(tmp_path)
    [case] = found["cases"]
    assert case["reads"] == [HELD]
    assert case["expect"] == {"allowed": False, "message": "no"}
    assert "params" not in case


def test_a_row_with_values_is_no_case(tmp_path: Path) -> None:
    sources(tmp_path, OBJECT, READING, "fail", values=values_of(found="b"))
    [proof], found = rows_and_suite(tmp_path)
    assert (proof.state, found) == ("agrees", {})


def test_policies_that_were_imported_before_are_not_run_with_values(tmp_path: Path) -> None:
    folder = sources(tmp_path, OBJECT, READING, "fail", values=values_of(found="b"))
    read = read_sources([folder])
    (one,) = imported(read, CONVERTERS)
    before = ImportedBefore(
        require(load_built([each.raw for each in one.imported.documents], version=NEWEST))
    )
    (proof,) = prove(read.tests, before)
    assert proof.state == "not run"
    assert "its values stand for objects that the policy reads" in proof.reason
