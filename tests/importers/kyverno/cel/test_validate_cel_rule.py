"""Rules of ClusterPolicy with ``validate.cel`` contribute the fields of a ValidatingAdmissionPolicy."""

from typing import Any

import pytest

from policyd.importers.kyverno.cel.validations import parts
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.reads import PolicyReads
from policyd.json_types import JSONObject

CHECK = {"expression": "object.spec.replicas > 1", "message": "two replicas"}


def of(preconditions: list[JSONObject] | None = None, message: str = "", **cel: Any) -> JSONObject:
    validate: JSONObject = {"cel": {"expressions": [CHECK], **cel}}
    if message:
        validate["message"] = message
    rule: JSONObject = {"name": "r", "validate": validate}
    if preconditions:
        rule["celPreconditions"] = preconditions
    return parts(rule, "spec.rules[0]", PolicyReads(), ImportNotes())


def test_the_fields_of_an_admission_policy_are_kept() -> None:
    assert of() == {"validations": [CHECK]}
    variables = [{"name": "n", "expression": "object.spec.replicas"}]
    condition = {"name": "has", "expression": "has(object.spec.replicas)"}
    annotation = {"key": "n", "valueExpression": "string(variables.n)"}
    kept: JSONObject = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "paramRef": {"name": "settings", "parameterNotFoundAction": "Deny"},
        "variables": variables,
        "auditAnnotations": [annotation],
    }
    spec = of([condition], generate=True, **kept)
    assert spec == {**kept, "matchConditions": [condition], "validations": [CHECK]}


def test_an_expression_without_a_message_has_that_of_the_rule() -> None:
    spec = of(message="the rule says no", expressions=[CHECK, {"expression": "true"}])
    assert [each["message"] for each in spec["validations"]] == ["two replicas", "the rule says no"]


@pytest.mark.parametrize(
    ("cel", "reason"),
    [
        ({"expressions": []}, "spec.rules[0].validate.cel"),
        ({"other": 1}, "spec.rules[0].validate.cel.other"),
        ({"expressions": "x"}, "spec.rules[0].validate.cel.expressions"),
    ],
)
def test_what_is_not_understood_is_refused(cel: JSONObject, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        of(**cel)
    assert refused.value.finding.path == reason
