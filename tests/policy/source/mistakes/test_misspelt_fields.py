"""A misspelt field is one problem: not also the absence of the field that is meant."""

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.policies import CONFIG_MAPS, PODS, demand, document, overlay, suite
from tests.policy_sets import loaded

RULES: JSONObject = {"resourceRules": [PODS]}
VALIDATIONS: JSON = [demand("true", "m")]


def of_policy(*without: str, **fields: JSON) -> JSONObject:
    """A Policy whose spec has other fields in place of some."""
    spec: JSONObject = {"matchConstraints": RULES, "validations": VALIDATIONS}
    kept = {name: value for name, value in spec.items() if name not in without}
    return document("policyd.dev/v1", "Policy", "p", {**kept, **fields})


MISSPELT = [
    (of_policy("matchConstraints", matchConstraint=RULES), ["spec.matchConstraint"]),
    (of_policy("matchConstraints", match=RULES), ["spec.match"]),
    (of_policy("validations", validation=VALIDATIONS), ["spec.validation"]),
    (of_policy("validations", mutation=[overlay({"metadata": {"labels": {"a": "b"}}})]), ["spec.mutation"]),
    (of_policy("validations", "matchConstraints", rules=[]), ["spec.rules"]),
    (of_policy("matchConstraints", matchConstraints={"resourceRule": [PODS]}),
     ["spec.matchConstraints.resourceRule"]),
    (of_policy("matchConstraints", matchConstraints={"resourceRules": [
        {"apiGroup": [""], "apiVersion": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}),
     ["spec.matchConstraints.resourceRules[0].apiGroup", "spec.matchConstraints.resourceRules[0].apiVersion"]),
    (of_policy("validations", validations=[{"expresion": "true", "message": "m"}]), ["spec.validations[0].expresion"]),
    (of_policy(paramKind={"apiVersions": "v1", "kind": "ConfigMap"},
               paramRef={"names": "x", "parameterNotFoundActions": "Deny"}),
     ["spec.paramKind.apiVersions", "spec.paramRef.names", "spec.paramRef.parameterNotFoundActions"]),
    ({key: value for key, value in suite("s").items() if key != "cases"} | {"case": []}, ["case"]),
    # What is missing besides is reported.
    (of_policy("matchConstraints", "validations", matchConstraint=RULES), ["spec.matchConstraint", "spec.validations"]),
    (of_policy("matchConstraints", foo=RULES), ["spec.foo", "spec.matchConstraints"]),
    (of_policy("matchConstraints", matchConstraints={"resourceRules": [{**CONFIG_MAPS, "operations": []}],
                                                     "resourceRule": []}),
     ["spec.matchConstraints.resourceRule", "spec.matchConstraints.resourceRules[0].operations"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "paths"), MISSPELT)
def test_one_problem_for_each_name(written: JSONObject, paths: list[str]) -> None:
    found = loaded(written).problems
    assert sorted(each.path for each in found) == paths
