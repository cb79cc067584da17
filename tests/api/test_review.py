"""PolicySet.review, review_bytes and evaluate: the same decision in three forms."""

import base64
import copy
import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from types import MappingProxyType
from typing import Any

import pytest

from policyd import (
    PolicySet,
    PolicyViolation,
    ReviewError,
    ReviewResult,
    StaticAuthorizer,
    build_review,
)
from policyd.json_types import JSONObject
from tests.api.objects import POD, RULE, in_tree, labels, requiring
from tests.builders.policies import json_patch

REVIEW = build_review(POD)
ASKS = "authorizer.group('').resource('pods').check('create').allowed()"


def evaluated(*documents: JSONObject, review: Any = REVIEW, **given: Any) -> ReviewResult:
    return PolicySet.from_documents(*documents).evaluate(review, **given)


FORMS: dict[str, Any] = {
    "dict": REVIEW,
    "another mapping": MappingProxyType(REVIEW),
    "bytes": json.dumps(REVIEW).encode(),
}


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
@pytest.mark.parametrize("form", FORMS)
def test_answers_are_equal_whatever_the_form_of_the_review(form: str, webhook: Any) -> None:
    policies = PolicySet.from_documents(requiring("no", "false"), labels("team", team="a"))
    answer = policies.review(FORMS[form], webhook)
    assert answer == policies.review(REVIEW, webhook)
    assert answer["response"]["allowed"] is (webhook == "mutate")
    if form == "bytes":
        assert json.loads(policies.review_bytes(FORMS[form], webhook)) == answer


def test_an_answer_is_an_admission_review_that_json_can_hold() -> None:
    answer = PolicySet.from_documents(labels("team", team="a")).review(REVIEW, "mutate")
    assert json.loads(json.dumps(answer)) == answer
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"] == REVIEW["request"]["uid"]
    patch = json.loads(base64.b64decode(answer["response"]["patch"]))
    assert patch == [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]


def test_no_review_is_changed() -> None:
    review = copy.deepcopy(REVIEW)
    result = evaluated(labels("team", team="a"), review=review)
    assert result.patch
    assert review == REVIEW


@pytest.mark.parametrize(
    "review",
    [b"", b"{", b"[]", {}, {"apiVersion": "v1", "kind": "Pod"}, {**REVIEW, "request": None}],
)
def test_what_is_no_review_is_a_review_error(review: Any) -> None:
    policies = PolicySet.from_documents(requiring("no", "false"))
    for method in (policies.review, policies.evaluate):
        with pytest.raises(ReviewError):
            method(review)


@pytest.mark.parametrize("review", ["{}", None, 1, [REVIEW]])
def test_another_type_is_a_type_error(review: Any) -> None:
    with pytest.raises(TypeError, match="expected an AdmissionReview as bytes or dict, got "):
        PolicySet.from_documents().review(review)


@pytest.mark.parametrize("method", ["review", "evaluate", "review_bytes"])
def test_another_webhook_is_a_value_error(method: str) -> None:
    with pytest.raises(ValueError, match="webhook must be 'validate' or 'mutate', not 'both'"):
        getattr(PolicySet.from_documents(), method)(FORMS["bytes"], "both")


def test_nothing_to_say_is_allowed() -> None:
    result = evaluated(requiring("yes", "true"))
    assert (result.allowed, result.code, result.reason, result.message) == (True, 0, "", "")
    assert (result.warnings, result.patch, result.violations) == ((), [], ())
    assert result.object == REVIEW["request"]["object"]
    assert list(result.audit_annotations) == ["generation"]
    assert repr(result) == "<ReviewResult allowed>"


def test_a_denial_has_the_status_that_the_client_sees() -> None:
    documents = (requiring("a", "true", "false"), requiring("b", "false"))
    result = evaluated(*documents)
    status = PolicySet.from_documents(*documents).review(REVIEW)["response"]["status"]
    assert not result.allowed
    assert (result.code, result.reason) == (422, "Invalid") == (status["code"], status["reason"])
    lines = ["policy 'a' denied request: a 1", "policy 'b' denied request: b 0"]
    assert result.message.split("\n") == lines
    assert result.message == status["message"]
    assert result.violations == (
        PolicyViolation("a", "Policy", "", "a 1", "Invalid", ("Deny",), index=1),
        PolicyViolation("b", "Policy", "", "b 0", "Invalid", ("Deny",)),
    )
    assert repr(result) == (
        "<ReviewResult denied 422 Invalid: policy 'a' denied request: a 1, 2 violations>"
    )


def test_violations_of_kubernetes_policies_name_their_binding() -> None:
    result = evaluated(*in_tree("vap", "false"))
    (found,) = result.violations
    assert (found.kind, found.binding) == ("ValidatingAdmissionPolicy", "vap-binding")
    assert (found.policy, found.reason, result.code) == ("vap", "Forbidden", 403)
    assert result.message.startswith(
        "ValidatingAdmissionPolicy 'vap' with binding 'vap-binding' denied request: "
    )


def test_warnings_and_audits_are_violations_that_deny_nothing() -> None:
    result = evaluated(
        requiring("audit", "false", validationActions=["Audit"]),
        requiring("both", "false", validationActions=["Warn", "Audit"]),
    )
    assert result.allowed
    assert result.warnings == ("Validation failed for policy 'both': both 0",)
    assert [each.actions for each in result.violations] == [("Audit",), ("Warn", "Audit")]
    failures = json.loads(result.audit_annotations["validation_failure"])
    assert [each["policy"] for each in failures] == ["audit", "both"]
    assert repr(result) == "<ReviewResult allowed, 1 warning, 2 violations>"


def test_audit_annotations_are_those_of_the_answer() -> None:
    annotations = [{"key": "image", "valueExpression": "string(object.spec.containers[0].image)"}]
    result = evaluated(requiring("a", "true", auditAnnotations=annotations))
    assert result.audit_annotations["a.image"] == "app:1"


@pytest.mark.parametrize(
    ("failure_policy", "allowed", "errors"), [("Fail", False, [True]), ("Ignore", True, [])]
)
def test_an_error_is_a_violation_unless_failure_policy_ignores_it(
    failure_policy: str, allowed: bool, errors: list[bool]
) -> None:
    result = evaluated(requiring("broken", "object.spec.nothing > 1", failurePolicy=failure_policy))
    assert result.allowed is allowed
    assert [each.error for each in result.violations] == errors


def test_mutations_come_before_validations() -> None:
    result = evaluated(
        labels("team", team="a"), requiring("has-team", "object.metadata.labels.team == 'a'")
    )
    assert result.allowed
    assert result.patch == [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]
    assert result.object is not None
    assert result.object["metadata"]["labels"] == {"team": "a"}
    assert repr(result) == "<ReviewResult allowed, 1 patch operation>"


def test_one_webhook_alone() -> None:
    documents = (labels("team", team="a"), requiring("has-team", "has(object.metadata.labels)"))
    assert not evaluated(*documents, webhook="validate").allowed
    mutated = evaluated(*documents, webhook="mutate")
    assert mutated.allowed and len(mutated.patch) == 1


def test_a_mutation_that_fails_is_the_last_word() -> None:
    mutation = json_patch("[JSONPatch{op: 'add', path: '/a', value: object.nothing}]")
    result = evaluated(requiring("broken", mutations=[mutation]), requiring("no", "false"))
    assert (result.allowed, result.code, result.patch) == (False, 403, [])
    assert [each.policy for each in result.violations] == ["broken"]
    assert result.object == REVIEW["request"]["object"]


def test_a_violation_names_its_field() -> None:
    named = {"pattern": {"spec": {"containers": [{"image": "*:v*"}]}}, "message": "no"}
    policies = PolicySet.from_documents(requiring("named", validations=[named]))
    result = policies.evaluate(REVIEW)
    (cause,) = policies.review(REVIEW)["response"]["status"]["details"]["causes"]
    assert [each.field for each in result.violations] == [cause["field"]]
    assert cause["field"] == "spec.containers[0].image"
    assert [each.field for each in evaluated(requiring("none", "false")).violations] == [""]


def test_what_mutations_add_has_defaults_when_it_is_validated() -> None:
    added = json_patch(
        "[JSONPatch{op: 'add', path: '/spec/containers/-',"
        " value: Object.spec.containers{name: 'side', image: 'side:1'}}]"
    )
    pulled = "object.spec.containers.all(c, has(c.imagePullPolicy))"
    documents = (requiring("adds", mutations=[added]), requiring("pulled", pulled))
    result = evaluated(*documents)
    assert result.allowed
    # The patch is the policy's own.
    assert [each["value"] for each in result.patch] == [{"name": "side", "image": "side:1"}]
    plain = build_review(POD, defaults=False)
    assert not evaluated(*documents, review=plain, defaults=False).allowed


def test_delete_has_no_object_after_it() -> None:
    result = evaluated(labels("team", team="a"), review=build_review(POD, operation="DELETE"))
    assert (result.allowed, result.object, result.patch) == (True, None, [])


def test_a_result_is_frozen() -> None:
    result = evaluated(requiring("no", "false"))
    for frozen in (result, result.violations[0]):
        with pytest.raises(FrozenInstanceError):
            frozen.message = ""  # type: ignore[misc]
    assert result == evaluated(requiring("no", "false"))


def test_a_long_message_is_cut_in_the_representation_only() -> None:
    long = requiring("no", "false")
    long["spec"]["validations"][0]["message"] = "x" * 500
    result = evaluated(long)
    assert len(result.message) > 500 and len(repr(result)) < 200


def test_who_is_too_late_follows_its_failure_policy() -> None:
    documents = (requiring("fail", "true"), requiring("ignore", "true", failurePolicy="Ignore"))
    result = evaluated(*documents, timeout=1e-9)
    assert [each.policy for each in result.violations] == ["fail"]
    assert evaluated(*documents, timeout=10).allowed


BOB = StaticAuthorizer([{"user": "bob", "verb": "create", "resource": "pods"}])


@pytest.mark.parametrize(("user", "allowed"), [("bob", True), ("ann", False)])
def test_the_authorizer_of_the_set_or_of_the_call_answers(user: str, allowed: bool) -> None:
    review = build_review(POD, user=user)
    asks = requiring("asks", ASKS)
    assert PolicySet.from_documents(asks, authorizer=BOB).evaluate(review).allowed is allowed
    without = PolicySet.from_documents(asks)
    assert without.evaluate(review, authorizer=BOB).allowed is allowed
    assert without.review(review, authorizer=BOB)["response"]["allowed"] is allowed
    body = json.dumps(review).encode()
    answer = json.loads(without.review_bytes(body, authorizer=BOB))
    assert answer["response"]["allowed"] is allowed
    (error,) = without.evaluate(review).violations
    assert error.error


@pytest.mark.parametrize("rule", [{"usr": "bob"}, {"allowed": "yes"}, {"path": "/", "name": "a"}])
def test_a_rule_of_another_form_is_a_value_error(rule: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="AuthorizerRule"):
        StaticAuthorizer([rule])


def test_policies_that_a_request_does_not_match_find_nothing() -> None:
    rule = {**RULE, "operations": ["DELETE"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}}
    assert evaluated(requiring("no", "false", **spec)).violations == ()
