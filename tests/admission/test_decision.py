"""Findings to answers: texts, codes, reasons, warnings and audit annotations."""

import json
from typing import Any

import pytest

from policyd.admission.decision import (
    Finding,
    Verdict,
    annotation_key,
    limited,
    message_of,
    respond,
)
from policyd.admission.review import AdmissionRequest, Cause, ObjectDetails, to_dict
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import PolicyKind
from tests.admission.samples import REQUEST, compiled_policy
from tests.builders.reviews import request


def answer(*findings: Finding) -> Any:
    return respond(REQUEST, Verdict(list(findings)), "g1")


@pytest.mark.parametrize(
    ("kind", "binding", "text"),
    [
        ("Policy", None, "policy 'p' denied request: no"),
        (
            "ValidatingAdmissionPolicy",
            "b",
            "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        ),
        ("ValidatingAdmissionPolicy", None, "ValidatingAdmissionPolicy 'p' denied request: no"),
        ("MutatingAdmissionPolicy", "b", "policy 'p' with binding 'b' denied request: no"),
        ("MutatingAdmissionPolicy", None, 'policy "p" denied request: no'),
    ],
)
def test_denials_have_the_words_of_their_kind(
    kind: PolicyKind, binding: str | None, text: str
) -> None:
    response = answer(Finding(compiled_policy(kind), binding, "no"))
    assert (response.allowed, response.message, response.causes) == (
        False,
        text,
        (Cause(text),),
    )


@pytest.mark.parametrize(
    ("reason", "code"), [("Invalid", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)]
)
def test_the_reason_gives_the_code(reason: str, code: int) -> None:
    response = answer(Finding(compiled_policy(), None, "no", reason))
    assert (response.reason, response.code) == (reason, code)


def test_every_violation_is_told_and_the_first_speaks() -> None:
    response = answer(
        Finding(compiled_policy(name="a"), None, "one"),
        Finding(compiled_policy(name="b"), None, "two", "Forbidden"),
    )
    lines = ["policy 'a' denied request: one", "policy 'b' denied request: two"]
    assert response.message.split("\n") == lines
    assert response.code == 422
    assert response.causes == tuple(map(Cause, lines))


LONG = "x" * 900


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["a", "b", "c"], ["a", "b", "c"]),
        (["a\n  b", "c\n  d"], ["a", "  b", "c d"]),  # only the first is as Kubernetes words it
        (["a", "b", "a", "b"], ["a", "b"]),
        (["0" + LONG, "1" + LONG, "2" + LONG, "3"], ["0" + LONG, "1" + LONG, "… and 2 more"]),
        ([LONG * 9, "a"], [LONG * 9, "… and 1 more"]),
    ],
)
def test_the_message_has_a_line_for_each_denial(texts: list[str], lines: list[str]) -> None:
    assert message_of(texts).split("\n") == lines


PATTERN = "use a tag (spec.image: expected *:*, found 1)"


@pytest.mark.parametrize(
    ("finding", "cause"),
    [
        (
            Finding(compiled_policy(), None, PATTERN, field="spec.image"),
            {
                "field": "spec.image",
                "message": "policy 'p' denied request: use a tag (expected *:*, found 1)",
                "reason": "FieldValueInvalid",
            },
        ),
        (
            Finding(
                compiled_policy(), None, "spec.image: expected a", "Forbidden", field="spec.image"
            ),
            {"field": "spec.image", "message": "policy 'p' denied request: expected a"},
        ),
        (
            Finding(compiled_policy(), None, "no such key: a", error=True, field="spec"),
            {"field": "spec", "message": "policy 'p' denied request: no such key: a"},
        ),
        (
            Finding(compiled_policy("ValidatingAdmissionPolicy"), "b", "no", field="spec"),
            {
                "message": "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
            },
        ),
    ],
    ids=["one place of a pattern", "no message", "an error", "Kubernetes names no field"],
)
def test_causes_name_the_field_once(finding: Finding, cause: JSONObject) -> None:
    details = to_dict(answer(finding))["response"]["status"]["details"]
    assert details == {"name": "p", "kind": "pods", "causes": [cause]}


@pytest.mark.parametrize(
    ("fields", "details"),
    [
        ({"name": "web"}, ("web", "apps", "deployments")),
        (
            {"name": "", "object": {"metadata": {"generateName": "web-"}}},
            ("web-", "apps", "deployments"),
        ),
        ({"name": "", "object": {"metadata": {"name": "a"}}}, ("a", "apps", "deployments")),
        (
            {"name": "", "object": None, "oldObject": {"metadata": {"name": "old"}}},
            ("old", "apps", "deployments"),
        ),
        ({"name": "", "object": None}, ("Unknown", "apps", "deployments")),
        ({"name": "", "object": {"metadata": {"name": 1}}}, ("Unknown", "apps", "deployments")),
        (
            {"name": "a", "requestResource": {"group": "", "version": "v1", "resource": "old"}},
            ("a", "", "old"),
        ),
    ],
)
def test_details_describe_the_object_as_kubernetes_does(
    fields: JSONObject, details: tuple[str, str, str]
) -> None:
    sent = request("apps/v1/deployments", "Deployment", uid="u", **fields)
    response = respond(
        AdmissionRequest(sent), Verdict([Finding(compiled_policy(), None, "no")]), "g"
    )
    assert response.details == ObjectDetails(*details)


def test_only_deny_denies() -> None:
    vap = compiled_policy("ValidatingAdmissionPolicy")
    response = answer(Finding(vap, "b", "no way", actions=("Warn",)))
    assert response.allowed
    assert response.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no way",
    )


def test_a_warning_that_the_api_server_would_drop_is_not_sent() -> None:
    vap = compiled_policy("ValidatingAdmissionPolicy")
    assert answer(Finding(vap, "b", "no\nway", actions=("Warn",))).warnings == ()


def test_warnings_of_a_policy_are_one_line() -> None:
    response = answer(Finding(compiled_policy(), None, "no\nway\t!", actions=("Warn",)))
    assert response.warnings == ("Validation failed for policy 'p': no way !",)


def test_audit_is_the_list_of_kubernetes_with_all_failures() -> None:
    vap = compiled_policy("ValidatingAdmissionPolicy")
    response = answer(
        Finding(vap, "b", "a < b", actions=("Audit",)),
        Finding(compiled_policy(name="q"), None, "two", index=3, actions=("Audit", "Warn")),
    )
    text = response.audit_annotations["validation_failure"]
    assert "a \\u003c b" in text
    assert json.loads(text) == [
        {
            "message": "a < b",
            "policy": "p",
            "binding": "b",
            "expressionIndex": 0,
            "validationActions": ["Audit"],
        },
        {
            "message": "two",
            "policy": "q",
            "expressionIndex": 3,
            "validationActions": ["Audit", "Warn"],
        },
    ]
    assert response.audit_annotations["generation"] == "g1"


def test_annotations_of_several_bindings_are_joined() -> None:
    verdict = Verdict()
    for value in ("a", "b", "a"):
        verdict.annotate("p", "k", value)
    assert verdict.annotations == {"p.k": "a, b"}


def test_annotation_keys_fit_the_api_server() -> None:
    long = annotation_key("x" * 80)
    assert len(long) == 63
    assert long != annotation_key("x" * 81)
    assert annotation_key("short.key") == "short.key"


@pytest.mark.parametrize(
    ("lengths", "want"),
    [
        ([1000], [1000]),
        ([2000, 2096], [2000, 2096]),
        ([3000, 2000, 300], [256, 256, 256]),
        ([94] * 100, [94] * 44),
    ],
)
def test_warnings_are_cut_as_the_api_server_would(lengths: list[int], want: list[int]) -> None:
    lines = [f"{i:02d}" + "x" * (length - 2) for i, length in enumerate(lengths)]
    assert [len(line) for line in limited(lines)] == want
