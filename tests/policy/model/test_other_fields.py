"""Fields and values of other kinds and tools: the hint says what to write instead."""

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import policy, vap
from tests.policy_sets import loaded

VALIDATION: JSONObject = {"expression": "true", "message": "m"}
FIELDS: list[tuple[JSONObject, str]] = [
    (vap(validationActions=["Deny"]), "move it to spec of the binding"),
    (vap(paramRef={"name": "a"}), "move it to spec of the binding"),
    (vap(params={"a": 1}), "only that kind has params"),
    (vap(podControllers=True), "only that kind has podControllers"),
    (vap(exceptions=[]), "only that kind has exceptions"),
    (vap(mutations=[]), "a MutatingAdmissionPolicy has mutations"),
    (vap(validations=[{**VALIDATION, "name": "a"}]), "only that kind has names of validations"),
    (policy(exclude={}), "write exceptions"),
    (policy(validate={}), "write validations"),
    (policy(enforcementAction="deny"), "write validationActions"),
    (policy(validationFailureAction="Enforce"), "write validationActions: [Deny]"),
    (policy(validations=[{**VALIDATION, "foreach": []}]), "object.spec.containers.all(c, …)"),
    (policy(exceptions=[{"name": "a", "expires": "2099-01-01"}]), "write until"),
    (policy(validationActions=["Warning"]), "write Warn"),
    (policy(validationActions=["Enforce"]), "write Deny"),
    (policy(matchConditions=["true"]), "write {name: NAME, expression: …}"),
    (policy(validations=["true"]), "write {expression: …}"),
]


@pytest.mark.parametrize(("document", "hint"), FIELDS)
def test_the_hint_says_what_to_write_instead(document: JSONObject, hint: str) -> None:
    assert any(hint in each.hint for each in loaded(document).problems)
