"""`foreach` and `deny` of Kyverno decide the same after the import."""

import pytest

from policyd.json_types import JSON, JSONObject
from tests.importers.kyverno.classic import (
    CONTAINER,
    allows,
    cluster_policy,
    condition,
    equals,
    imported,
    pod_of,
    reason,
    rule_of,
    spec_of,
    workload,
)

TAGGED = {"image": "*:*"}
UNTAGGED = {**CONTAINER, "image": "nginx"}
ALL = "request.object.spec.[ephemeralContainers, initContainers, containers][]"


def foreach(*loops: JSONObject, **fields: JSON) -> JSONObject:
    return cluster_policy(rule_of({"message": "no", "foreach": list(loops)}, **fields))


def denied(key: str, operator: str, value: JSON) -> JSONObject:
    return {"deny": {"conditions": [condition(key, operator, value)]}}


def test_patterns_on_plain_lists_become_one_pattern() -> None:
    names = ("containers", "initContainers", "ephemeralContainers")
    loops = [{"list": f"request.object.spec.{name}", "pattern": TAGGED} for name in names]
    [validation] = spec_of(foreach(*loops))["validations"]
    assert validation == {
        "pattern": {
            "spec": {
                "containers": [TAGGED],
                "=(initContainers)": [TAGGED],
                "=(ephemeralContainers)": [TAGGED],
            }
        },
        "message": "no",
    }
    for listed in (ALL, f"{{{{ {ALL} }}}}"):
        [joined] = spec_of(foreach({"list": listed, "pattern": TAGGED}))["validations"]
        assert joined["pattern"] == validation["pattern"]


def test_several_patterns_for_the_same_list_stay_apart() -> None:
    loop = {"list": "request.object.spec.containers", "pattern": TAGGED}
    found = spec_of(foreach(loop, {**loop, "pattern": {"name": "app"}}))["validations"]
    assert [each["pattern"] for each in found] == [
        {"spec": {"containers": [TAGGED]}},
        {"spec": {"containers": [{"name": "app"}]}},
    ]


LOOPS: list[JSONObject] = [
    {"list": ALL, "pattern": TAGGED},
    {"list": ALL, **denied("{{ contains(element.image, ':') }}", "Equals", False)},
    {"list": ALL, **denied("{{ element.image }}", "NotEquals", "*:*")},
    {"list": ALL, "anyPattern": [{"image": "*:1*"}, {"image": "*:2*"}]},
    {
        "list": ALL,
        "preconditions": {"all": [condition("{{ element.name }}", "NotEquals", "skipped")]},
        "pattern": TAGGED,
    },
    {
        "list": ALL,
        "foreach": [
            {"list": "[element0.image]", **denied("{{ contains(element1, ':') }}", "Equals", False)}
        ],
    },
]


@pytest.mark.parametrize("loop", LOOPS)
def test_every_item_is_checked(loop: JSONObject) -> None:
    policy = foreach(loop)
    assert allows(policy, pod_of())
    assert not allows(policy, pod_of(containers=[CONTAINER, UNTAGGED]))
    assert not allows(policy, pod_of(initContainers=[UNTAGGED]))
    assert not allows(policy, workload(containers=[UNTAGGED]))


def test_items_that_do_not_meet_the_preconditions_are_not_checked() -> None:
    skipped = {**UNTAGGED, "name": "skipped"}
    assert allows(foreach(LOOPS[4]), pod_of(containers=[CONTAINER, skipped]))


def test_a_missing_list_is_not_checked() -> None:
    loop = {"list": "request.object.spec.volumes", **denied("{{ element.name }}", "Equals", "x")}
    assert allows(foreach(loop), pod_of())
    assert not allows(foreach(loop), pod_of(volumes=[{"name": "x"}]))


def test_deny_without_conditions_denies() -> None:
    policy = cluster_policy(rule_of({"message": "no", "deny": {}}))
    assert spec_of(policy)["validations"] == [{"expression": "false", "message": "no"}]
    assert not allows(policy, pod_of())


def test_preconditions_become_a_match_condition() -> None:
    only = equals("{{ request.object.metadata.name }}", "a")
    policy = cluster_policy(rule_of({"message": "no", "deny": {}}, preconditions=only))
    assert allows(policy, pod_of("b"))
    assert not allows(policy, pod_of("a"))
    assert [each["name"] for each in spec_of(policy)["matchConditions"]] == ["preconditions"]


def test_preconditions_do_not_see_variables() -> None:
    context = [{"name": "who", "variable": {"jmesPath": "request.object.metadata.name"}}]
    only = equals("{{ who }}", "a")
    validate = {"message": "no", "pattern": {"spec": {"hostNetwork": True}}}
    policy = cluster_policy(rule_of(validate, preconditions=only, context=context))
    assert "variables" not in spec_of(policy)
    assert allows(policy, pod_of("b"))
    assert not allows(policy, pod_of("a"))


def test_a_message_with_variables_is_computed() -> None:
    message = "{{ request.object.metadata.name }} is not allowed"
    [validation] = spec_of(cluster_policy(rule_of({"message": message, "deny": {}})))["validations"]
    assert validation.keys() == {"expression", "messageExpression"}


def test_line_breaks_of_a_message_become_spaces() -> None:
    found = spec_of(cluster_policy(rule_of({"message": "two\n  lines\n", "deny": {}})))
    assert found["validations"][0]["message"] == "two lines"


def test_a_message_that_cel_cannot_say_is_a_remark() -> None:
    found = imported(cluster_policy(rule_of({"message": "at {{ time_now() }}", "deny": {}})))
    [remark] = found.remarks
    assert remark.path == "spec.rules[0].validate.message"


@pytest.mark.parametrize(
    ("validate", "why"),
    [
        ({"foreach": [{"list": ALL}]}, "foreach[0]: the loop checks nothing"),
        ({"foreach": [{"list": ALL, "order": "Descending", "pattern": {}}]}, "foreach[0].order"),
        ({"deny": {"conditions": equals("{{ time_now() }}", "a")}}, "time_now"),
        ({"manifests": {}}, "validate.manifests"),
        ({"assert": {}}, "validate.assert"),
        ({"message": "nothing"}, "validates nothing"),
        ({"color": "red"}, "validate.color"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(validate: JSONObject, why: str) -> None:
    assert why in reason(cluster_policy(rule_of(validate)))
