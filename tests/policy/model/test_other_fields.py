"""Fields and values of other kinds and tools: the hint says what to write instead."""

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import policy, suite, vap
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


REQUEST, EXPECT = {"object": pod()}, {"allowed": True}
CASE: JSONObject = {"name": "a", "request": REQUEST, "expect": EXPECT}
# Words of other test tools: what they stand for is not missing as well.
SUITES: list[tuple[JSONObject, str]] = [
    ({"name": "a", "input": REQUEST, "expect": EXPECT}, "write request"),
    ({"name": "a", "manifest": pod(), "expect": EXPECT}, "write request: {object: …}"),
    ({"name": "a", "resource": pod(), "expect": EXPECT}, "write request: {object: …}"),
    *(({"name": "a", "request": REQUEST, word: EXPECT}, "write expect")
      for word in ("want", "then", "assertions", "response")),
    ({"name": "a", "request": REQUEST, "result": "allow"}, "write expect: {allowed: …}"),
    ({**CASE, "namespace": "shop"}, "write request: {namespace: …}"),
    ({**CASE, "namespaceLabels": {"a": "b"}}, "write request: {namespaceLabels: …}"),
    ({**CASE, "user": "ann"}, "write request: {userInfo: {username: …}}"),
    ({**CASE, "table": [{"name": "b", "input": REQUEST}]}, "write request"),
    ({**CASE, "table": [{"name": "b", "namespace": "shop"}]}, "write request: {namespace: …}"),
    ({**CASE, "request": {**REQUEST, "verb": "create"}}, "write operation"),
    ({**CASE, "request": {**REQUEST, "params": []}}, "write it in the case, beside request"),
    ({**CASE, "request": {"newObject": pod()}}, "write object"),
    ({**CASE, "expect": {"deny": True}}, "write allowed: false"),
    ({**CASE, "expect": {"violations": ["a"]}}, "write message, or causes"),
    ({**CASE, "expect": {"statusCode": 403}}, "write code"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "hint"), SUITES)
def test_words_of_other_test_tools(case: JSONObject, hint: str) -> None:
    (found,) = loaded(suite(cases=[case])).problems
    assert found.hint == hint
    assert found.line > 0


def test_what_the_rows_of_a_table_lack_because_of_the_case_is_no_other_problem() -> None:
    case: JSONObject = {"name": "a", "request": REQUEST, "want": EXPECT, "table": [{"name": "b"}]}
    (found,) = loaded(suite(cases=[case])).problems
    assert found.hint == "write expect"


@pytest.mark.parametrize(("field", "hint"), [
    ("files", "write policies, a list of files"),
    ("crds", "write the file of the CustomResourceDefinition under policies"),
    ("namespace", "write namespaces: [{name: …}], or request: {namespace: …} in each of cases"),
])  # fmt: skip
def test_words_of_other_test_tools_beside_cases(field: str, hint: str) -> None:
    (found,) = loaded(suite(cases=[CASE], **{field: "a"})).problems
    assert found.hint == hint
