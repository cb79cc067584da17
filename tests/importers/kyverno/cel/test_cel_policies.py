"""ValidatingPolicy and MutatingPolicy of Kyverno become Policies that decide the same."""

from typing import Any

import pytest

import policyd
from policyd.importers.kyverno.cel.cel_policies import convert
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import namespace
from tests.builders.objects import config_map, container, deployment, metadata, pod
from tests.builders.policies import PODS, WORKLOADS, apply_configuration, document, rule
from tests.importers.converting import changed, converted, messages, reason_of, spec_of

NOT_LATEST = {
    "expression": "object.spec.containers.all(c, !c.image.endsWith(':latest'))",
    "message": "no latest",
}
LATEST = pod(container(image="web:latest"))


def source(kind: str = "ValidatingPolicy", within: str = "", **spec: Any) -> JSONObject:
    fields: JSONObject = {"matchConstraints": {"resourceRules": [PODS]}, **spec}
    if kind.endswith("ValidatingPolicy"):
        fields.setdefault("validations", [NOT_LATEST])
    found = document("policies.kyverno.io/v1", kind, "sample", fields)
    found["metadata"] = metadata("sample", within or None)
    return found


def exception(name: str = "legacy", kind: str = "ValidatingPolicy", **spec: Any) -> JSONObject:
    refs = [{"name": "sample", "kind": kind}]
    return document("policies.kyverno.io/v1", "PolicyException", name, {"policyRefs": refs, **spec})


def condition(expression: str) -> JSONObject:
    return {"name": "c", "expression": expression}


def test_a_policy_for_pods_is_one_for_their_controllers() -> None:
    found = converted(convert, source(validationActions=["Audit"]))
    assert spec_of(found)["podControllers"] is True
    assert spec_of(found)["validationActions"] == ["Audit"]
    sent = deployment(container(image="web:latest"))
    assert messages(found, policyd.build_review(sent)) == ["no latest"]
    assert messages(found, policyd.build_review(pod())) == []
    assert found.state == "imported"
    assert found.rules == {"": ("sample",)}


def test_metadata_is_kept_and_the_description_is_a_field() -> None:
    raw = source()
    raw["metadata"]["labels"] = {"team": "a"}
    raw["metadata"]["annotations"] = {
        "policies.kyverno.io/title": "No latest",
        "policies.kyverno.io/category": "Best Practices",
        "policies.kyverno.io/severity": "high",
        "policies.kyverno.io/description": "Two\n  lines.",
        "kyverno.io/kyverno-version": "1.15.0",
    }
    [result] = converted(convert, raw).documents
    assert result.raw["metadata"] == {
        "name": "sample",
        "labels": {"team": "a"},
        "annotations": {
            "policies.kyverno.io/title": "No latest",
            "policyd.dev/category": "Best Practices",
            "policyd.dev/severity": "high",
        },
    }
    assert result.raw["spec"]["description"] == "Two lines."


@pytest.mark.parametrize(
    ("controllers", "kinds"),
    [
        (["deployments"], ["request.kind.kind in ['Pod', 'Deployment']"]),
        (["cronjobs", "jobs"], ["request.kind.kind in ['Pod', 'Job', 'CronJob']"]),
        ([], []),
    ],
)
def test_other_controllers_are_left_out(controllers: list[str], kinds: list[str]) -> None:
    autogen = {"podControllers": {"controllers": controllers}}
    spec = spec_of(converted(convert, source(autogen=autogen)))
    assert spec.get("podControllers", False) is bool(kinds)
    assert [each["expression"] for each in spec.get("matchConditions", ())] == kinds


@pytest.mark.parametrize(
    ("constraints", "extended"),
    [
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, False),
        ({"objectSelector": {}}, True),
        ({"resourceRules": [PODS, WORKLOADS]}, False),
        ({"resourceRules": [rule("pods", "pods/ephemeralcontainers")]}, False),
    ],
)
def test_kyverno_extends_rules_for_pods_alone(constraints: JSONObject, extended: bool) -> None:
    given = {"resourceRules": [PODS], **constraints}
    spec = spec_of(converted(convert, source(matchConstraints=given)))
    assert bool(spec.get("podControllers")) is extended
    assert spec["matchConstraints"] == {key: value for key, value in given.items() if value}


def test_a_namespaced_policy_is_for_its_own_namespace() -> None:
    found = converted(convert, source("NamespacedValidatingPolicy", "shop"))
    [only] = spec_of(found)["matchConstraints"]["resourceRules"]
    assert only == {**PODS, "scope": "Namespaced"}  # no cluster-scoped objects
    assert messages(found, policyd.build_review(LATEST)) == ["no latest"]
    elsewhere = pod(container(image="web:latest"), namespace="bank")
    assert messages(found, policyd.build_review(elsewhere)) == []


def test_conditions_have_the_expressions_of_variables() -> None:
    variables = [
        {"name": "images", "expression": "object.spec.containers.map(c, c.image)"},
        {"name": "ours", "expression": "variables.images.exists(i, i.startsWith('web:'))"},
    ]
    given = [{"name": "Only our images!", "expression": "variables.ours"}]
    found = converted(convert, source(variables=variables, matchConditions=given))
    [only] = spec_of(found)["matchConditions"]
    assert only["name"] == "only-our-images"
    assert "variables." not in only["expression"]
    assert messages(found, policyd.build_review(LATEST)) == ["no latest"]
    assert messages(found, policyd.build_review(pod(container(image="db:latest")))) == []


def test_conditions_on_the_namespace_are_checked_with_the_validations() -> None:
    gold = "namespaceObject.metadata.?labels.?tier == optional.of('gold')"
    given = [
        condition(f"{gold} // ours"),
        {"name": "web", "expression": "object.metadata.name == 'web'"},
        condition("namespaceObject != null"),
    ]
    found = converted(convert, source(matchConditions=given))
    assert [each["name"] for each in spec_of(found)["matchConditions"]] == ["web"]
    review = policyd.build_review(LATEST)
    assert messages(found, review, namespace("shop", {"tier": "gold"})) == ["no latest"]
    assert messages(found, review, namespace("shop", {})) == []
    refused = converted(convert, source("MutatingPolicy", mutations=[], matchConditions=given))
    assert reason_of(refused).startswith("spec.matchConditions: a condition reads namespaceObject")


def test_an_object_that_is_got_becomes_a_parameter() -> None:
    variables = [
        {"name": "cm", "expression": "resource.Get('v1', 'configmaps', 'shop', 'settings')"}
    ]
    expression = "object.spec.containers.all(c, c.image in variables.cm.data.images)"
    checks = [{"expression": expression, "message": "unknown image"}]
    found = converted(convert, source(variables=variables, validations=checks))
    assert spec_of(found)["paramRef"] == {
        "name": "settings",
        "namespace": "shop",
        "parameterNotFoundAction": "Deny",
    }
    settings = config_map(data={"images": "web:latest"})
    review = policyd.build_review(pod(container(image="db:1")))
    assert len(messages(found, review, settings)) == 1


def test_two_objects_that_are_got_are_reads() -> None:
    variables = [
        {"name": name, "expression": f"resource.Get('v1', 'configmaps', 'shop', '{name}')"}
        for name in ("a", "b")
    ]
    validations = [{"expression": "variables.a.data == variables.b.data"}]
    spec = spec_of(converted(convert, source(variables=variables, validations=validations)))
    assert "paramRef" not in spec
    assert [each["name"] for each in spec["reads"]] == ["configMapsByName"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"evaluation": {"mode": "JSON"}}, "spec.evaluation.mode: policies of mode JSON"),
        ({"evaluation": {"admission": {"enabled": False}}}, "spec.evaluation.admission: it is not"),
        ({"surprise": 1}, "spec.surprise: the field surprise is not known"),
        ({"evaluation": {"other": {}}}, "spec.evaluation.other: the field other is not known"),
        ({"validationActions": ["Tell"]}, "spec.validationActions: the action Tell"),
        (
            {"validations": [{"expression": "object.spec. == 1"}]},
            "spec.validations[0].expression: the expression is no CEL",
        ),
        (
            {"validations": [{"expression": "true", "also": 1}]},
            "spec.validations[0].also: the field also is not known",
        ),
    ],
)
def test_what_is_not_understood_is_refused(fields: JSONObject, reason: str) -> None:
    found = converted(convert, source(**fields))
    assert reason_of(found).startswith(reason)
    assert found.documents == ()


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"evaluation": {"background": {"enabled": False}}}, "spec.evaluation.background"),
        ({"validationActions": ["Deny", "Warn"]}, "spec.validationActions"),
        (
            {"matchConstraints": {"resourceRules": [rule(operations=["CREATE", "DELETE"])]}},
            "spec.matchConstraints.resourceRules[0].operations",
        ),
        ({"validations": [{**NOT_LATEST, "message": "a\n b"}]}, "spec.validations[0].message"),
        ({"validations": [{**NOT_LATEST, "reason": "Unauthorized"}]}, "spec.validations[0].reason"),
    ],
)
def test_what_is_different_is_a_remark(fields: JSONObject, path: str) -> None:
    found = converted(convert, source(**fields))
    assert [each.path for each in found.remarks] == [path]
    assert messages(found, policyd.build_review(LATEST)) != []


def test_mutations_change_pods_and_templates() -> None:
    expression = "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"
    mutations = [apply_configuration(expression)]
    found = converted(convert, source("MutatingPolicy", mutations=mutations))
    assert changed(found, pod())["metadata"]["labels"] == {"team": "a"}
    template = changed(found, deployment())["spec"]["template"]
    assert template["metadata"]["labels"]["team"] == "a"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"targetMatchConstraints": {"resourceRules": [PODS]}}, "spec.targetMatchConstraints"),
        ({"evaluation": {"mutateExisting": {"enabled": True}}}, "spec.evaluation.mutateExisting"),
    ],
)
def test_mutations_of_other_objects_are_refused(fields: JSONObject, path: str) -> None:
    found = converted(convert, source("MutatingPolicy", mutations=[], **fields))
    assert reason_of(found).startswith(path)


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (["object.metadata.name == 'web'"], {"names": ["web"]}),
        (["request.namespace in ['a', 'b'] && object.metadata.name == 'web'"], None),
        (["object.metadata.namespace == 'shop'"], {"namespaces": ["shop"]}),
    ],
)
def test_exceptions_by_name_are_exceptions(
    tests: list[str], expected: dict[str, list[str]] | None
) -> None:
    given = exception(matchConditions=[condition(each) for each in tests])
    [found] = spec_of(converted(convert, source(), given))["exceptions"]
    wanted = expected or {"namespaces": ["a", "b"], "names": ["web"]}
    assert found == {"name": "legacy", **wanted}


def test_other_exceptions_are_conditions() -> None:
    given = exception(matchConditions=[condition("object.metadata.name.startsWith('old-')")])
    found = converted(convert, source(), given)
    assert spec_of(found)["matchConditions"] == [
        {"name": "exception-legacy", "expression": "!(object.metadata.name.startsWith('old-'))"}
    ]
    old = pod(container(image="web:latest"), name="old-web")
    assert messages(found, policyd.build_review(old)) == []
    assert messages(found, policyd.build_review(LATEST)) == ["no latest"]


def test_exceptions_from_other_policies_are_not_taken() -> None:
    given = exception(kind="MutatingPolicy")
    assert "exceptions" not in spec_of(converted(convert, source(), given))


def test_an_exception_expires_with_the_day() -> None:
    tests = [condition("object.metadata.name == 'web'")]
    given = exception(matchConditions=tests, expiresAt="2999-12-31T12:00:00Z")
    found = converted(convert, source(), given)
    assert spec_of(found)["exceptions"][0]["until"] == "2999-12-31"
    assert len(found.remarks) == 1


@pytest.mark.parametrize(
    "spec",
    [
        {"matchConditions": [condition("object.metadata.name.startsWith('a')")]},
        {"allowedValues": ["a"]},
    ],
)
def test_an_exception_that_could_not_expire_is_refused(spec: JSONObject) -> None:
    given = exception(expiresAt="2999-12-31T12:00:00Z", **spec)
    assert "expiresAt" in reason_of(converted(convert, source(), given))


def test_what_exceptions_allow_is_a_variable() -> None:
    checks = [
        {
            "expression": "object.spec.containers.all(c, !c.image.endsWith(':latest')"
            " || c.image in exceptions.allowedImages)",
            "message": "no latest",
        }
    ]
    alone = converted(convert, source(validations=checks))
    assert messages(alone, policyd.build_review(LATEST)) == ["no latest"]
    given = exception(
        images=["web:latest"], matchConditions=[condition("object.metadata.name == 'web'")]
    )
    found = converted(convert, source(validations=checks), given)
    assert [each["name"] for each in spec_of(found)["variables"]] == ["allowedImages"]
    assert messages(found, policyd.build_review(LATEST)) == []
    other = pod(container(image="web:latest"), name="db")
    assert messages(found, policyd.build_review(other)) == ["no latest"]


def test_names_of_conditions_are_unique_and_short() -> None:
    name = "Check that " + "every " * 20 + "Pod has an owner"
    given = [{"name": each, "expression": "true"} for each in (name, name, "!", "")]
    result = converted(convert, source(matchConditions=given))
    found = [each["name"] for each in spec_of(result)["matchConditions"]]
    assert len(set(found)) == 4
    assert max(map(len, found)) <= 63
    assert messages(result, policyd.build_review(LATEST))


@pytest.mark.parametrize("spec", ["x", {"matchConstraints": "x"}, {"variables": {"a": "b"}}])
def test_a_spec_of_another_form_is_refused(spec: Any) -> None:
    raw = {**source(), "spec": spec}
    assert "expected" in reason_of(converted(convert, raw))
