"""Constraints of templates with CEL become Policies that decide the same."""

from typing import Any

import pytest

import policyd
from policyd.importers.gatekeeper.templates import convert, parameters_of
from policyd.importers.model import Imported
from policyd.json_types import JSONObject
from tests.builders.objects import definition, pod
from tests.importers.converting import (
    BROKEN_DEFINITIONS,
    converted,
    document,
    messages,
    reason_of,
    spec_of,
)
from tests.importers.gatekeeper.builders import constraint, template

OWNED: JSONObject = {
    "variables": [
        {
            "name": "missing",
            "expression": "variables.params.labels.filter(l,"
            " !(l in variables.anyObject.metadata.?labels.orValue({})))",
        }
    ],
    "validations": [
        {
            "expression": "variables.missing.size() == 0",
            "messageExpression": "'missing: ' + variables.missing.join(', ')",
        }
    ],
}


def imported(source: JSONObject | None = OWNED, **spec: Any) -> Imported:
    return converted(convert, template(source), constraint(**spec))


def rules_of(found: Imported) -> list[JSONObject]:
    rules: list[JSONObject] = spec_of(found)["matchConstraints"]["resourceRules"]
    return rules


def denied(found: Imported, obj: JSONObject) -> bool:
    return messages(found, policyd.build_review(obj)) != []


def test_parameters_are_params_and_have_the_defaults_of_the_schema() -> None:
    found = imported()
    spec = spec_of(found)
    assert spec["params"] == {"labels": ["owner"]}
    assert spec["description"] == "Labels say who."
    assert "variables.params" not in str(spec)
    assert "anyObject" not in str(spec)
    assert messages(found, policyd.build_review(pod())) == ["missing: owner"]
    assert found.source.name == "owned"


def test_given_parameters_win() -> None:
    spec = spec_of(imported(parameters={"labels": ["team"], "nested": {}}))
    assert spec["params"] == {"labels": ["team"], "nested": {"a": 1}}


def test_each_constraint_becomes_a_policy() -> None:
    raw = [template(OWNED), constraint("a"), constraint("b")]
    documents = [document(each) for each in raw]
    found = convert(documents[0], documents)
    assert [each.documents[0].name for each in found] == ["a", "b"]


def kinds(*names: str, group: str = "") -> JSONObject:
    return {"kinds": [{"apiGroups": [group], "kinds": list(names)}]}


@pytest.mark.parametrize(
    ("match", "obj", "expected"),
    [
        ({}, pod(), True),
        (kinds("Pod"), pod(), True),
        (kinds("*"), pod(), True),
        (kinds("Service"), pod(), False),
        (kinds("Pod", group="apps"), pod(), False),
        ({"namespaces": ["shop"]}, pod(), True),
        ({"namespaces": ["sh*"]}, pod(), True),
        ({"namespaces": ["*-shop"]}, pod(), False),
        ({"excludedNamespaces": ["shop"]}, pod(), False),
        ({"excludedNamespaces": ["kube-*", "*-system"]}, pod(), True),
        ({"excludedNamespaces": ["*op"]}, pod(), False),
        ({"labelSelector": {"matchLabels": {"app": "web"}}}, pod(labels={"app": "web"}), True),
        ({"labelSelector": {"matchLabels": {"app": "web"}}}, pod(), False),
        ({"scope": "Namespaced"}, pod(), True),
        ({"scope": "Cluster"}, pod(), False),
        ({"scope": "*"}, pod(), True),
        ({"name": "web"}, pod(), True),
        ({"name": "we*"}, pod(), True),
        ({"name": "*b"}, pod(), True),
        ({"name": "db"}, pod(), False),
        ({"source": "Original"}, pod(), True),
    ],
)
def test_match(match: JSONObject, obj: JSONObject, expected: bool) -> None:
    assert denied(imported(match=match), obj) is expected


def test_a_new_object_may_have_the_beginning_of_its_name_only() -> None:
    generated = pod()
    generated["metadata"] = {"generateName": "web-", "namespace": "shop"}
    assert denied(imported(match={"name": "web-*"}), generated)
    assert not denied(imported(match={"name": "web-1"}), generated)


@pytest.mark.parametrize("match", [{"namespaces": ["shop"]}, {"excludedNamespaces": ["*"]}])
def test_cluster_scoped_objects_are_in_no_namespace(match: JSONObject) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert denied(imported(match=match), node)


@pytest.mark.parametrize(
    ("kind", "resources", "operations"),
    [
        ("Pod", ["pods", "pods/ephemeralcontainers"], ["CREATE", "UPDATE"]),
        ("PodExecOptions", ["pods/exec"], ["CONNECT"]),
    ],
)
def test_kinds_are_matched_where_they_are_sent(
    kind: str, resources: list[str], operations: list[str]
) -> None:
    [rule] = rules_of(imported(match=kinds(kind)))
    assert (rule["resources"], rule["operations"]) == (resources, operations)
    assert rule["apiVersions"] == ["*"]


def test_a_kind_that_nothing_defines_has_a_remark() -> None:
    match = {"kinds": [{"apiGroups": ["example.com"], "kinds": ["Ox", "*", "Pod"]}]}
    found = imported(match=match)
    assert [each.message.split(":")[0] for each in found.remarks] == [
        f"neither Kubernetes nor a CustomResourceDefinition of the sources has the kind {kind} in "
        "the groups example.com"
        for kind in ("Ox", "Pod")
    ]


def defined(kind: str, plural: str) -> JSONObject:
    return definition(kind, "example.com", {}, names={"kind": kind, "plural": plural})


@pytest.mark.parametrize(
    ("kind", "group", "custom", "expected"),
    [
        ("Ox", "example.com", defined("Ox", "oxen"), ["oxen"]),
        *(("Bus", "example.com", defined("Bus", "b") | {"spec": each}, ["buses"]) for each in BROKEN_DEFINITIONS),
        ("Service", "*", defined("Service", "knsvcs"), ["services", "services/status", "knsvcs"]),
        ("Service", "", defined("Service", "knsvcs"), ["services", "services/status"]),
        ("Service", "example.com", defined("Service", "knsvcs"), ["knsvcs"]),
    ],
)  # fmt: skip
def test_custom_resources_have_the_plural_of_their_definition_if_it_is_valid(
    kind: str, group: str, custom: JSONObject, expected: list[str]
) -> None:
    made = constraint(match=kinds(kind, group=group))
    [rule] = rules_of(converted(convert, template(OWNED), made, custom))
    assert rule["resources"] == expected


def scoped(*given: tuple[str, str]) -> JSONObject:
    return {
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [
            {"action": action, "enforcementPoints": [{"name": point}]} for action, point in given
        ],
    }


@pytest.mark.parametrize(
    ("spec", "expected", "remarks"),
    [
        ({}, "Deny", 0),
        ({"enforcementAction": "warn"}, "Warn", 0),
        ({"enforcementAction": "dryrun"}, "Audit", 0),
        (scoped(("deny", "validation.gatekeeper.sh"), ("warn", "gator.gatekeeper.sh")), "Deny", 0),
        (scoped(("warn", "*")), "Warn", 0),
        (scoped(("deny", "vap.k8s.io"), ("warn", "*")), "Deny", 1),
        (scoped(("deny", "audit.gatekeeper.sh")), "Audit", 1),
    ],
)
def test_actions(spec: JSONObject, expected: str, remarks: int) -> None:
    found = imported(**spec)
    assert spec_of(found)["validationActions"] == [expected]
    assert len(found.remarks) == remarks


def test_deletes_have_the_old_object() -> None:
    review = policyd.build_review(None, old=pod(), operation="DELETE")
    for name, expected in (("web", ["missing: owner"]), ("db", [])):
        named = constraint(match={"name": name})
        found = converted(convert, template(OWNED, operations=["DELETE"]), named)
        assert messages(found, review) == expected


def test_conditions_and_the_failure_policy_are_kept() -> None:
    condition = {"name": "pods", "expression": "variables.anyObject.kind == 'Pod'"}
    spec = spec_of(imported({**OWNED, "matchCondition": [condition], "failurePolicy": "Ignore"}))
    assert spec["matchConditions"] == [{"name": "pods", "expression": "object.kind == 'Pod'"}]
    assert spec["failurePolicy"] == "Ignore"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("has(variables.params) && variables.params.a == 1", "true && params.a == 1"),
        ("has(variables.params.a)", "has(params.a)"),
        ("params.spec.parameters.a == 1", "params.a == 1"),
        ("variables.anyObject.spec == null", "object.spec == null"),
    ],
)
def test_names_of_templates(expression: str, expected: str) -> None:
    [check] = spec_of(imported({"validations": [{"expression": expression}]}))["validations"]
    assert check["expression"] == expected


@pytest.mark.parametrize(
    ("source", "spec", "reason"),
    [
        (OWNED, {"match": {"source": "Generated"}}, "spec.match.source"),
        (OWNED, {"match": {"scope": "Everywhere"}}, "spec.match.scope"),
        (OWNED, {"match": {"other": 1}}, "spec.match.other"),
        (OWNED, {"enforcementAction": "shout"}, "spec.enforcementAction"),
        (OWNED, {"other": 1}, "spec.other"),
        (
            {"validations": [{"expression": "params.metadata.name == 'a'"}]},
            {},
            "spec.targets[0].code[0].source.validations[0].expression",
        ),
        ({"validations": [], "other": 1}, {}, "spec.targets[0].code[0].source.other"),
        *(
            (
                {"validations": [{"expression": each}]},
                {},
                "spec.targets[0].code[0].source.validations[0].expression",
            )
            for each in (
                "object.spec. == 1",
                "variables.anyObject[?'a'",
                ".params.a",
                "params == null",
            )
        ),
    ],
)
def test_what_is_not_understood_is_refused(
    source: JSONObject, spec: JSONObject, reason: str
) -> None:
    assert reason_of(imported(source, **spec)).startswith(f"{reason}: ")


def test_rego_is_refused() -> None:
    found = imported(None)
    assert reason_of(found) == (
        "spec.targets[0]: it is written in Rego only, which is not translated"
    )
    assert (found.source.kind, found.kind_of_rule) == ("ConstraintTemplate", ("Rego",))


def test_a_template_without_constraints_is_refused() -> None:
    assert "no K8sOwned is in the sources" in reason_of(converted(convert, template(OWNED)))


def test_defaults_of_items_are_set() -> None:
    schema = {"properties": {"l": {"items": {"properties": {"a": {"default": 1}, "b": {}}}}}}
    given = {"spec": {"parameters": {"l": [{"b": 2}, 3]}}}
    assert parameters_of(given, schema) == {"l": [{"b": 2, "a": 1}, 3]}
    assert parameters_of(given, {"properties": 3}) == {"l": [{"b": 2}, 3]}
    assert given == {"spec": {"parameters": {"l": [{"b": 2}, 3]}}}
