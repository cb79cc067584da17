"""Every expression of a policy is listed, with its place and its role; so is what is half broken."""

from policyd.json_types import JSONObject
from policyd.policy.model.expressions import expressions_of, mutations_of
from tests.builders.policies import map_, policy

OVERLAY: JSONObject = {
    "metadata": {"labels": {"+(a)": "x-${request.name}-${variables.v}"}},
    "(kind)": "${not.an.expression}",
    "$patch": "${nor.this}",
    "spec": {"hostname": "$${literal} and ${ unclosed"},
}
WHOLE = policy(
    matchConditions=[{"name": "c", "expression": "true"}],
    variables=[{"name": "v", "expression": "1"}],
    validations=[
        {"expression": "a", "messageExpression": "b"},
        {"pattern": {"kind": "Pod"}, "messageExpression": " "},
    ],
    auditAnnotations=[{"key": "k", "valueExpression": "d"}],
    mutations=[
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "e"}},
        {"patchType": "Overlay", "overlay": OVERLAY},
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "f"}},
    ],
)


def listed(document: JSONObject) -> list[tuple[str, str, str, str]]:
    return [(each.at, each.role.name, each.name, each.text) for each in expressions_of(document)]


def test_every_field_that_holds_cel_is_listed_once() -> None:
    label = "spec.mutations[1].overlay.metadata.labels[+(a)]"
    assert listed(WHOLE) == [
        ("spec.matchConditions[0].expression", "matchCondition", "c", "true"),
        ("spec.variables[0].expression", "variable", "v", "1"),
        ("spec.validations[0].expression", "validation", "", "a"),
        ("spec.validations[0].messageExpression", "messageExpression", "", "b"),
        ("spec.auditAnnotations[0].valueExpression", "auditAnnotation", "", "d"),
        ("spec.mutations[0].jsonPatch.expression", "JSONPatch", "", "e"),
        (label, "overlay template", "", "request.name"),
        (label, "overlay template", "", "variables.v"),
        ("spec.mutations[2].applyConfiguration.expression", "ApplyConfiguration", "", "f"),
    ]


def test_the_templates_of_a_string_are_told_apart_by_where_they_start() -> None:
    templates = [each for each in expressions_of(WHOLE) if each.role.name == "overlay template"]
    assert [each.start for each in templates] == [4, 20]


def test_what_is_of_the_wrong_form_is_passed_over() -> None:
    document = map_(
        variables=[{"expression": "no name"}, "no object", {"name": "v", "expression": 1}],
        validations={"no": "list"},
        mutations=[
            {"patchType": "JSONPatch", "jsonPatch": "no object"},
            {"jsonPatch": {"expression": "a"}, "applyConfiguration": {"expression": "b"}},
        ],
    )
    assert [text for *_, text in listed(document)] == ["no name", "a", "b"]
    assert [(each.index, each.kind.patch_type) for each in mutations_of(document)] == [
        (1, "JSONPatch"),
        (1, "ApplyConfiguration"),
    ]
    assert listed({"spec": None}) == listed({}) == []
