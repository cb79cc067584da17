"""Fields that are null are absent in an export, unless null is data."""

from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import policy
from tests.export.comparing import compare, part_of
from tests.export.template_requests import in_controllers


def test_nulls_in_patterns_are_compared() -> None:
    patterns: list[JSONObject] = [
        {"metadata": {"X(generateName)": None, "name": "?*"}},
        {"spec": {"hostPID": None}},
    ]
    for pattern in patterns:
        source = policy(validations=[{"pattern": pattern}], podControllers=True)
        request = build_review(pod(labels={"a": "b"}, hostPID=True))["request"]
        request["object"]["metadata"]["generateName"] = "w"
        compare([source], [request, *in_controllers(request)])


def test_nulls_in_params_are_values() -> None:
    source = policy(params={"a": None}, validations=[{"expression": "params.a == null"}])
    compare([source], [build_review(pod())["request"]])


def test_null_fields_are_absent_and_null_strings_empty() -> None:
    source = policy(
        match={
            "namespaceSelector": None,
            "objectSelector": {"matchLabels": {"a": None}},
            "resourceRules": [
                {
                    "apiGroups": [None],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                    "resourceNames": None,
                }
            ],
        },
        matchConditions=None,
        validations=[{"expression": "true", "message": None, "reason": None}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": None, "selector": {}, "parameterNotFoundAction": "Allow"},
    )
    first, binding = part_of(source).documents
    assert first["spec"]["matchConstraints"] == {
        "objectSelector": {"matchLabels": {"a": ""}},
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "*",
            }
        ],
        "matchPolicy": "Equivalent",
    }
    assert first["spec"]["validations"] == [{"expression": "true"}]
    assert binding["spec"]["paramRef"] == {"selector": {}, "parameterNotFoundAction": "Allow"}
