"""Mutators of Gatekeeper become Policies that make the same changes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.importers.gatekeeper.locations import LocationStep, steps
from policyd.importers.gatekeeper.mutators import convert
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject
from tests.builders.objects import container, pod
from tests.importers.converting import changed, converted, reason_of, spec_of
from tests.importers.gatekeeper.builders import mutator

PULL = "spec.containers[name:*].imagePullPolicy"
IMAGE = "spec.containers[name: *].image"
ARGS = "spec.containers[name:*].args"
NEVER_THERE = [{"subPath": ARGS, "condition": "MustNotExist"}]
PRUNED = {"operation": "prune", "values": {"fromList": ["a"]}}


def assigned(value: JSON, *tests: tuple[str, str]) -> JSONObject:
    found: JSONObject = {"assign": {"value": value}}
    if tests:
        found["pathTests"] = [{"subPath": path, "condition": name} for path, name in tests]
    return found


def spec_after(
    kind: str, location: str, parameters: JSONObject, *containers: JSONObject, **spec: Any
) -> JSONObject:
    found = changed(
        converted(convert, mutator(kind, location, parameters)), pod(*containers, **spec)
    )
    after: JSONObject = found["spec"]
    return after


NEVER = {"imagePullPolicy": "Never"}
A, B = container("a"), container("b", **NEVER)


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([], ["Always", "Always"]),
        ([(PULL, "MustNotExist")], ["Always", "Never"]),
        ([(PULL, "MustExist")], [None, "Always"]),
        ([("spec.containers[name:*]", "MustExist")], ["Always", "Always"]),
    ],
)
def test_every_item(tests: list[tuple[str, str]], expected: list[str | None]) -> None:
    after = spec_after("Assign", PULL, assigned("Always", *tests), A, B)
    assert [each.get("imagePullPolicy") for each in after["containers"]] == expected


def test_an_item_that_is_missing_is_added() -> None:
    location = "spec.containers[name: proxy].image"
    after = spec_after("Assign", location, assigned("proxy:1"), A)
    assert after["containers"] == [A, {"name": "proxy", "image": "proxy:1"}]
    tests = ("spec.containers[name: proxy]", "MustExist")
    assert spec_after("Assign", location, assigned("proxy:1", tests), A)["containers"] == [A]


def test_missing_parents_are_made() -> None:
    location = "spec.containers[name: a].securityContext.privileged"
    [after] = spec_after("Assign", location, assigned(False), A)["containers"]
    assert after["securityContext"] == {"privileged": False}


def test_a_map_is_replaced() -> None:
    parameters = assigned({"runAsNonRoot": True})
    context = {"runAsUser": 0}
    after = spec_after("Assign", "spec.securityContext", parameters, securityContext=context)
    assert after["securityContext"] == {"runAsNonRoot": True}


def test_a_map_is_set_only_where_there_is_none() -> None:
    parameters = assigned({"runAsNonRoot": True}, ("spec.securityContext", "MustNotExist"))
    after = spec_after(
        "Assign", "spec.securityContext", parameters, securityContext={"runAsUser": 0}
    )
    assert after["securityContext"] == {"runAsUser": 0}
    assert spec_after("Assign", "spec.securityContext", parameters)["securityContext"] == {
        "runAsNonRoot": True
    }


def test_a_list_is_replaced() -> None:
    tolerations = [{"key": "a", "operator": "Exists"}]
    parameters = assigned([{"key": "b", "operator": "Exists"}])
    after = spec_after("Assign", "spec.tolerations", parameters, tolerations=tolerations)
    assert after["tolerations"] == [{"key": "b", "operator": "Exists"}]


def test_a_dollar_is_no_expression() -> None:
    after = spec_after("Assign", "spec.hostname", assigned("${a}"))
    assert after["hostname"] == "${a}"


@pytest.mark.parametrize(
    ("assign", "expected"),
    [
        ({"value": "ann"}, "ann"),
        ({"fromMetadata": {"field": "name"}}, "web"),
        ({"fromMetadata": {"field": "namespace"}}, "shop"),
    ],
)
def test_metadata_is_set_only_where_there_is_none(assign: JSONObject, expected: str) -> None:
    location = 'metadata.labels."example.com/owner"'
    found = converted(convert, mutator("AssignMetadata", location, {"assign": assign}))
    assert changed(found, pod())["metadata"]["labels"] == {"example.com/owner": expected}
    labels = {"example.com/owner": "bob"}
    assert changed(found, pod(labels=labels))["metadata"]["labels"] == labels


@pytest.mark.parametrize(
    ("operation", "before", "expected"),
    [
        ("merge", ["--a"], ["--a", "--b"]),
        ("merge", ["--b", "--a"], ["--b", "--a"]),
        ("merge", None, ["--b"]),
        ("prune", ["--b", "--a", "--b"], ["--a"]),
        ("prune", ["--a"], ["--a"]),
        ("prune", None, None),
    ],
)
def test_values_of_a_set(
    operation: str, before: list[str] | None, expected: list[str] | None
) -> None:
    given = container() if before is None else container(args=before)
    parameters = {"operation": operation, "values": {"fromList": ["--b"]}}
    [after] = spec_after("ModifySet", ARGS, parameters, given)["containers"]
    assert after.get("args") == expected


def test_new_items_of_a_list_with_keys_are_added() -> None:
    parameters = {"operation": "merge", "values": {"fromList": [{"name": "b"}]}}
    before = [{"name": "a"}]
    after = spec_after("ModifySet", "spec.imagePullSecrets", parameters, imagePullSecrets=before)
    assert after["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("parameters", "before", "after"),
    [
        ({"assignDomain": "r.example.com"}, "nginx:1", "r.example.com/nginx:1"),
        ({"assignDomain": "r.example.com"}, "quay.io/a/b:1", "r.example.com/a/b:1"),
        ({"assignDomain": "r.example.com"}, "localhost/a", "r.example.com/a"),
        ({"assignPath": "p/q"}, "quay.io/a/b:1", "quay.io/p/q:1"),
        ({"assignPath": "p/q"}, "a@sha256:0f", "p/q@sha256:0f"),
        ({"assignTag": ":v2"}, "registry:5000/a", "registry:5000/a:v2"),
        ({"assignTag": ":v2"}, "a@sha256:0f", "a:v2"),
        (
            {"assignDomain": "r.example.com", "assignPath": "p", "assignTag": ":1"},
            "a",
            "r.example.com/p:1",
        ),
    ],
)
def test_parts_of_images(parameters: JSONObject, before: str, after: str) -> None:
    [found] = spec_after("AssignImage", IMAGE, parameters, container(image=before))["containers"]
    assert found["image"] == after


def test_one_image() -> None:
    location = "spec.containers[name: b].image"
    found = spec_after("AssignImage", location, {"assignTag": ":2"}, A, B)["containers"]
    assert [each["image"] for each in found] == ["app:1", "app:2"]


def test_kinds_are_those_of_both_lists() -> None:
    raw = mutator("Assign", "spec.hostname", assigned("a"), {"kinds": [{"kinds": ["Pod", "Job"]}]})
    raw["spec"]["applyTo"][0]["kinds"] = ["Pod", "PodTemplate"]
    [rule] = spec_of(converted(convert, raw))["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["pods"], ["CREATE", "UPDATE"])
    raw["spec"]["match"] = {"kinds": [{"kinds": ["Service"]}]}
    assert reason_of(converted(convert, raw)).startswith("spec.applyTo: no kind is both")


@pytest.mark.parametrize(
    ("kind", "location", "parameters", "path"),
    [
        ("Assign", "spec.", assigned(1), "spec.location"),
        ("Assign", "spec[name:", assigned(1), "spec.location"),
        ("Assign", PULL, {"assign": {"externalData": {"provider": "p"}}}, "externalData"),
        ("Assign", PULL, assigned(1, ("spec.other", "MustExist")), "subPath"),
        ("Assign", PULL, assigned(1, (PULL, "MayExist")), "condition"),
        ("Assign", PULL, {**assigned(1), "assignIf": {"in": [1]}}, "assignIf"),
        (
            "Assign",
            "spec.securityContext",
            assigned({"runAsUser": 1}, ("spec.securityContext", "MustExist")),
            "pathTests",
        ),
        (
            "AssignMetadata",
            "metadata.labels.a",
            {"assign": {"fromMetadata": {"field": "uid"}}},
            "field",
        ),
        ("ModifySet", ARGS, {"operation": "sort", "values": {"fromList": [1]}}, "operation"),
        ("ModifySet", ARGS, {"operation": "merge", "values": {"fromList": []}}, "fromList"),
        ("AssignImage", IMAGE, {}, "spec.parameters"),
        ("AssignImage", "spec.a[b:*].c[d:*].e", {"assignTag": ":1"}, "spec.location"),
        ("AssignImage", "spec.containers[name:*]", {"assignTag": ":1"}, "spec.location"),
        ("Assign", PULL, assigned(1, ("spec.containers[name:*]", "MustNotExist")), "location"),
        ("Assign", 'spec."(a)"', assigned("a"), "spec.location"),
        ("Assign", "", assigned("a"), "spec.location"),
        ("ModifySet", ARGS, {**PRUNED, "pathTests": NEVER_THERE}, "spec.parameters.pathTests"),
    ],
)
def test_what_cannot_be_said_is_refused(
    kind: str, location: str, parameters: JSONObject, path: str
) -> None:
    found = converted(convert, mutator(kind, location, parameters))
    assert path in reason_of(found).partition(": ")[0]


NAMES = st.text("ab./~-_ '\"", min_size=1, max_size=6)


@given(NAMES, NAMES, st.one_of(st.none(), st.integers(0, 9), NAMES))
def test_names_in_quotes_may_hold_anything(name: str, key: str, value: str | int | None) -> None:
    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    last = "*" if value is None else value if isinstance(value, int) else quoted(value)
    found = steps(f"{quoted(name)}[{quoted(key)}: {last}].x", "")
    assert found == (LocationStep(name), LocationStep(key=key, value=value), LocationStep("x"))


@given(st.text("ab.[]:* '\"\\", max_size=12))
def test_any_text_is_a_location_or_refused(text: str) -> None:
    try:
        assert steps(text, "spec.location")
    except Refused as refused:
        assert refused.finding.path == "spec.location"


def test_values_of_a_list_outside_of_lists() -> None:
    parameters = {"operation": "prune", "values": {"fromList": [{"name": "b"}]}}
    location = "spec.imagePullSecrets"
    before = [{"name": "a"}, {"name": "b"}]
    after = spec_after("ModifySet", location, parameters, imagePullSecrets=before)
    assert after["imagePullSecrets"] == [{"name": "a"}]
    assert "imagePullSecrets" not in spec_after("ModifySet", location, parameters)


def test_a_whole_item_is_added() -> None:
    item = {"name": "proxy", "image": "proxy:1"}
    found = converted(convert, mutator("Assign", "spec.containers[name: proxy]", assigned(item)))
    assert changed(found, pod(A))["spec"]["containers"] == [A, item]
    assert [each.path for each in found.remarks] == ["spec.location"]


def test_labels_and_annotations_of_a_mutator_are_kept() -> None:
    raw = mutator("Assign", "spec.hostname", assigned("a"))
    stored = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    raw["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d", **stored}}
    [result] = converted(convert, raw).documents
    assert result.raw["metadata"] == {
        "name": "sample",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }


def test_lists_with_keys_in_some_kinds_only_are_refused() -> None:
    parameters = {"operation": "merge", "values": {"fromList": [{"name": "a"}]}}
    raw = mutator("ModifySet", "spec.imagePullSecrets", parameters)
    raw["spec"]["applyTo"][0]["kinds"] = ["Pod", "Service"]
    assert "has keys in some of the kinds" in reason_of(converted(convert, raw))
