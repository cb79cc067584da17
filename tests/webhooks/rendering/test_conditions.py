"""The matchConditions of a webhook."""

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.policies import (
    CONFIG_MAPS,
    EVERYTHING,
    PODS,
    labelling,
    policy,
    rule,
)
from tests.webhooks.rendering.rendered import only

SERVICES = rule("services")
MUTATION = labelling("x", "'y'")


def test_reviews_and_node_leases_are_kept_out_of_wildcards() -> None:
    webhook = only(policy("p", EVERYTHING))
    assert webhook["matchConditions"] == [
        {
            "name": "no-access-reviews",
            "expression": "!(request.resource.group in "
            "['authentication.k8s.io', 'authorization.k8s.io'])",
        }
    ]
    (names,) = webhook["namespaceSelector"]["matchExpressions"]
    assert names["values"] == ["kube-node-lease", "kube-system", "policyd"]


def conditions(*documents: JSONObject) -> list[str]:
    """Return the expressions of the matchConditions of the only webhook."""
    return [each["expression"] for each in only(*documents).get("matchConditions", [])]


def named(*names: str, **fields: JSON) -> JSONObject:
    return rule("configmaps", resourceNames=list(names), **fields)


ABOUT_CONFIG_MAPS = (
    "!(request.resource.group == '' && request.resource.resource == 'configmaps') || "
)
HAS_NAME = ABOUT_CONFIG_MAPS + "has(request.name) && request.name in "
DERIVED: list[tuple[str, list[JSONObject], list[str]]] = [
    ("names", [policy("a", named("x", "y"))], [HAS_NAME + "['x', 'y']"]),
    ("names of all", [policy("a", named("x")), policy("b", named("y"))], [HAS_NAME + "['x', 'y']"]),
    ("one has no names", [policy("a", named("x")), policy("b", CONFIG_MAPS)], []),
    ("other resources", [policy("a", named("x")), policy("b", PODS)], [HAS_NAME + "['x']"]),
    (
        "excluded from a wildcard",
        [
            policy(
                "a",
                rule("*", operations=["*"]),
                match={"excludeResourceRules": [rule("secrets", operations=["CREATE", "DELETE"])]},
            )
        ],
        [
            "!(request.operation in ['CREATE', 'DELETE'] && request.resource.group == '' && "
            "request.resource.version == 'v1' && request.resource.resource == 'secrets' && "
            "!has(request.subResource))"
        ],
    ),
    (
        "excluded by one only",
        [
            policy(
                "a", rule("*"), match={"excludeResourceRules": [rule("secrets", operations=["*"])]}
            ),
            policy("b", rule("secrets")),
        ],
        [],
    ),
    (
        "excluded names",
        [policy("a", CONFIG_MAPS, match={"excludeResourceRules": [named("x", operations=["*"])]})],
        [
            "!(request.operation in ['CREATE', 'UPDATE'] && request.resource.group == '' && "
            "request.resource.version == 'v1' && request.resource.resource == 'configmaps' && "
            "!has(request.subResource) && has(request.name) && request.name in ['x'])"
        ],
    ),
]


@pytest.mark.parametrize(
    ("documents", "wanted"), [r[1:] for r in DERIVED], ids=[r[0] for r in DERIVED]
)
def test_conditions_of_rules(documents: list[JSONObject], wanted: list[str]) -> None:
    assert conditions(*documents) == wanted


def when(*expressions: str, name: str = "a", rule: JSONObject = PODS, **spec: JSON) -> JSONObject:
    """A policy with matchConditions."""
    listed = [{"name": f"c{i}", "expression": each} for i, each in enumerate(expressions)]
    return policy(name, rule, matchConditions=listed, **spec)


CHANGED = "oldObject == null || object.?spec != oldObject.?spec"  # cannot fail
NOT_ROBOT = "request.userInfo.username != 'robot'"  # fails without a username
LABELLED = "object.metadata.labels.a == 'b'"
ABOUT_PODS = "!(request.resource.group == '' && request.resource.resource == 'pods') || "
PASSED: list[tuple[str, list[JSONObject], list[str]]] = [
    ("one policy", [when(CHANGED)], [CHANGED]),
    ("each of its own", [when(CHANGED, NOT_ROBOT)], [CHANGED, NOT_ROBOT]),
    ("shared", [when(CHANGED), when(CHANGED, name="b")], [CHANGED]),
    ("either", [when(CHANGED), when("request.operation != 'DELETE'", name="b")], [
        f"({CHANGED}) || (request.operation != 'DELETE')"
    ]),
    ("one without", [when(CHANGED), policy("b")], []),
    ("for one resource", [when(CHANGED), policy("b", SERVICES)], [f"{ABOUT_PODS}({CHANGED})"]),
    ("can fail, denied by all", [when(LABELLED), when(LABELLED, name="b")], [LABELLED]),
    ("can fail, only warns", [when(LABELLED, validationActions=["Warn"])], []),
    ("cannot fail, only warns", [when(CHANGED, validationActions=["Warn"])], [CHANGED]),
    ("can fail, not called then", [when(LABELLED, failurePolicy="Ignore",
                                        validationActions=["Warn"])], [LABELLED]),
    ("can fail, for one resource", [when(LABELLED), policy("b", SERVICES)],
     [f"{ABOUT_PODS}({LABELLED})"]),
    ("can fail, not for all operations",
     [when(LABELLED), when(CHANGED, name="b", rule=rule(operations=["DELETE"]))], []),
    ("hidden by another condition", [when(LABELLED, "namespaceObject == null")], []),
    ("params", [when("params.x == true", params={"x": True})], []),
    ("namespaceObject", [when("namespaceObject == null")], []),
    (".namespaceObject", [when(".namespaceObject == null")], []),
    ("object of a template", [when(CHANGED, podControllers=True)], [f"{ABOUT_PODS}({CHANGED})"]),
    ("request of a template", [when("request.operation == 'CREATE'", podControllers=True)],
     ["request.operation == 'CREATE'"]),
    ("paramKind", [when(CHANGED, paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
                        paramRef={"name": "x", "parameterNotFoundAction": "Deny"})], []),
    ("other versions", [when(CHANGED), when(CHANGED, name="b", rule=rule(version="*"))], []),
    ("two that loop", [when("object.spec.containers.all(c, true)"),
                       when("object.spec.containers.all(c, false)", name="b")], []),
    ("wildcards", [when(CHANGED, rule=rule("*"))], [CHANGED]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "wanted"), [r[1:] for r in PASSED], ids=[r[0] for r in PASSED]
)
def test_conditions_of_policies(documents: list[JSONObject], wanted: list[str]) -> None:
    assert conditions(*documents) == wanted
