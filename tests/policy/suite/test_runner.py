"""Suites: the reviews that are built, both webhooks in turn, and what is compared."""

import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest

from policyd.admission.review import AdmissionRequest, AdmissionResponse, Cause
from policyd.errors import PolicyError, ReviewError
from policyd.json_types import JSONObject
from policyd.offline.admitting import in_turn
from policyd.offline.suite_policies import together
from policyd.policy.kinds.plural import plural
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loader import load, load_text
from policyd.policy.suite import runner as suites
from policyd.policy.suite.expectations import CaseAnswer, same
from policyd.policy.suite.reviews import build_review
from policyd.policy.suite.runner import CaseResult, Completed, run
from policyd.policy.suite.state import CaseState
from tests.builders.policies import suite
from tests.policy_sets import loaded

POD: JSONObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
DENIAL: JSONObject = {
    "allowed": False,
    "status": {
        "code": 422,
        "reason": "Invalid",
        "message": "policy 'p' denied request: no limit",
        "details": {"causes": [{"message": "first cause"}, {"message": "second cause"}]},
    },
    "warnings": ["mind the gap"],
    "auditAnnotations": {"p.k": "v"},
}


class Judge:
    """Answers with what it was given, by webhook, and remembers what it was asked."""

    def __init__(
        self, validate: JSONObject | None = None, mutate: JSONObject | None = None
    ) -> None:
        self.answers = {
            "validate": validate or {"allowed": True},
            "mutate": mutate or {"allowed": True},
        }
        self.asked: list[tuple[str, JSONObject]] = []

    def __call__(
        self, review: JSONObject, webhooks: tuple[Webhook, ...], completed: Completed
    ) -> CaseAnswer:
        return together(in_turn(review, webhooks, self.call))

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        self.asked.append((webhook, request.raw))
        return response(self.answers[webhook])


def response(answer: JSONObject) -> AdmissionResponse:
    status = answer.get("status", {})
    causes = status.get("details", {}).get("causes", ())
    return AdmissionResponse(
        uid="u",
        allowed=answer["allowed"],
        code=status.get("code", 0),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        causes=tuple(Cause(each["message"]) for each in causes),
        warnings=tuple(answer.get("warnings", ())),
        audit_annotations=answer.get("auditAnnotations", {}),
        patch=b64decode(answer["patch"]) if "patch" in answer else None,
    )


def patching(*operations: JSONObject, **more: Any) -> JSONObject:
    patch = b64encode(orjson.dumps(operations)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch, **more}


def outcome(judge: Judge, expect: JSONObject, **case: Any) -> CaseResult:
    fields = {"name": "c", "request": {"object": POD}, "expect": expect, **case}
    return run(loaded(suite(cases=[fields])).documents[0], judge)[0]


LABEL: JSONObject = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
LABELLED = {**POD, "metadata": {"name": "web", "labels": {"a": "b"}}}

MET: list[tuple[JSONObject, JSONObject, JSONObject]] = [
    ({"allowed": False}, DENIAL, {}),
    ({"allowed": False, "code": 422, "reason": "Invalid"}, DENIAL, {}),
    ({"message": "no limit"}, DENIAL, {}),
    ({"message": ["policy 'p'", "no limit"]}, DENIAL, {}),
    ({"causes": ["second", "first"]}, DENIAL, {}),
    ({"warnings": ["gap"], "auditAnnotations": {"p.k": "v"}}, DENIAL, {}),
    ({"warnings": [], "causes": [], "message": [], "auditAnnotations": {}}, {"allowed": True}, {}),
    ({"patched": LABELLED, "patch": [LABEL]}, {"allowed": True}, patching(LABEL)),
    ({"patched": POD, "patch": []}, {"allowed": True}, {"allowed": True}),
    ({"warnings": ["one", "gap"], "allowed": False}, DENIAL, patching(LABEL, warnings=["one"])),
]


@pytest.mark.parametrize(("expect", "validate", "mutate"), MET)
def test_expectations_that_are_met(
    expect: JSONObject, validate: JSONObject, mutate: JSONObject
) -> None:
    result = outcome(Judge(validate, mutate or None), expect)
    assert result.passed, (result.error, result.mismatches)


UNMET: list[tuple[JSONObject, str, Any, Any]] = [
    ({"allowed": True}, "allowed", True, False),
    ({"code": 403}, "code", 403, 422),
    ({"reason": "Forbidden"}, "reason", "Forbidden", "Invalid"),
    ({"reason": "Inval"}, "reason", "Inval", "Invalid"),
    ({"message": "No Limit"}, "message", ["No Limit"], ["policy 'p' denied request: no limit"]),
    ({"message": []}, "message", [], ["policy 'p' denied request: no limit"]),
    ({"causes": []}, "causes", [], ["first cause", "second cause"]),
    ({"causes": ["third"]}, "causes", ["third"], ["first cause", "second cause"]),
    ({"warnings": []}, "warnings", [], ["mind the gap"]),
    ({"auditAnnotations": {"p.k": "w"}}, "auditAnnotations[p.k]", "w", "v"),
    ({"auditAnnotations": {"p.x": ""}}, "auditAnnotations[p.x]", "", None),
    ({"patched": LABELLED}, "patched", LABELLED, POD),
    ({"patch": [LABEL]}, "patch", [LABEL], []),
]


@pytest.mark.parametrize(("expect", "key", "expected", "found"), UNMET)
def test_expectations_that_are_not_met(
    expect: JSONObject, key: str, expected: Any, found: Any
) -> None:
    result = outcome(Judge(DENIAL), expect)
    assert [(each.key, each.expected, each.found) for each in result.mismatches] == [
        (key, expected, found)
    ]
    assert not result.passed


def test_validation_sees_what_mutation_made() -> None:
    judge = Judge(mutate=patching(LABEL))
    assert outcome(judge, {"allowed": True, "patched": LABELLED}).passed
    assert [(webhook, request["object"]) for webhook, request in judge.asked] == [
        ("mutate", POD),
        ("validate", LABELLED),
        ("mutate", LABELLED),  # once more, to see that nothing changes
    ]


def test_a_denied_mutation_ends_the_request() -> None:
    judge = Judge(mutate=DENIAL)
    assert outcome(judge, {"allowed": False, "code": 422}).passed
    assert [webhook for webhook, _ in judge.asked] == ["mutate"]


APPEND: JSONObject = {"op": "add", "path": "/metadata/finalizers", "value": ["a"]}


class Growing(Judge):
    """Its second answer is not its first."""

    def __init__(self, first: JSONObject, second: JSONObject) -> None:
        super().__init__(mutate=first)
        self.later = [first, second]

    def call(self, request: AdmissionRequest, webhook: Webhook) -> AdmissionResponse:
        if webhook == "mutate":
            self.answers["mutate"] = self.later.pop(0)
        return super().call(request, webhook)


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ({"allowed": True}, None),
        (patching(), None),
        (patching({"op": "replace", "path": "/metadata/labels/a", "value": "b"}), None),
        (patching(APPEND), [APPEND]),
        (DENIAL, "policy 'p' denied request: no limit"),
    ],
)
def test_a_second_run_must_change_nothing(second: JSONObject, found: Any) -> None:
    result = outcome(Growing(patching(LABEL), second), {"allowed": True})
    assert [(each.key, each.found) for each in result.mismatches] == (
        [] if found is None else [(suites.IDEMPOTENT, found)]
    )
    said = outcome(Growing(patching(LABEL), second), {"allowed": True}, idempotent=False)
    assert said.passed is (found is not None)


@pytest.mark.parametrize("answer", [DENIAL, {"allowed": True}])
def test_without_a_patch_there_is_no_second_run(answer: JSONObject) -> None:
    judge = Judge(mutate=answer)
    outcome(judge, {"allowed": True})
    assert [webhook for webhook, _ in judge.asked].count("mutate") == 1


@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_webhook_picks_one(webhook: str) -> None:
    judge = Judge()
    outcome(judge, {"allowed": True}, webhook=webhook)
    assert [asked for asked, _ in judge.asked] == [webhook]


def test_reviews_follow_from_the_object() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    request = build_review(deployment)["request"]
    assert request["operation"] == "CREATE"
    assert request["kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert request["requestResource"]["resource"] == "deployments"
    assert (request["name"], request["namespace"]) == ("a", "default")
    assert request["options"]["kind"] == "CreateOptions"
    assert "subResource" not in request


@pytest.mark.parametrize(
    ("given", "operation", "new", "old"),
    [
        ({}, "CREATE", POD, None),
        ({"old_object": LABELLED}, "UPDATE", POD, LABELLED),
        ({"operation": "UPDATE"}, "UPDATE", POD, POD),
        ({"operation": "DELETE"}, "DELETE", None, POD),
        ({"operation": "DELETE", "old_object": LABELLED}, "DELETE", None, LABELLED),
    ],
)
def test_objects_are_where_the_operation_has_them(
    given: JSONObject, operation: str, new: JSONObject | None, old: JSONObject | None
) -> None:
    request = build_review(POD, **given)["request"]
    assert (request["operation"], request["object"], request["oldObject"]) == (operation, new, old)


@pytest.mark.parametrize(
    ("kind", "group", "metadata", "namespace"),
    [
        ("Pod", "", {"namespace": "x"}, "x"),
        ("Namespace", "", {"name": "n"}, "n"),
        ("ClusterRole", "rbac.authorization.k8s.io", {}, None),
        ("Widget", "example.com", {}, "default"),
    ],
)
def test_the_namespace_of_a_request(
    kind: str, group: str, metadata: JSONObject, namespace: str | None
) -> None:
    obj = {"apiVersion": f"{group}/v1".lstrip("/"), "kind": kind, "metadata": metadata}
    assert build_review(obj)["request"].get("namespace") == namespace


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Pod", "pods"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("Gateway", "gateways"),
        ("Mesh", "meshes"),
        ("StorageClass", "storageclasses"),
    ],
)
def test_plurals(kind: str, resource: str) -> None:
    assert plural(kind) == resource


def test_fields_of_the_request_can_be_given() -> None:
    judge = Judge()
    request = {
        "object": POD,
        "namespace": "n",
        "userInfo": {"groups": ["system:masters"]},
        "dryRun": True,
        "subResource": "status",
        "operation": "UPDATE",
    }
    assert outcome(judge, {"allowed": True}, request=request).passed
    sent = judge.asked[0][1]
    assert (sent["namespace"], sent["dryRun"], sent["subResource"]) == ("n", True, "status")
    assert sent["userInfo"] == {"username": "policyd", "groups": ["system:masters"]}


@pytest.mark.parametrize("inside", [True, False])
def test_a_whole_review(inside: bool) -> None:
    whole = {"review": build_review(POD, overrides={"uid": "mine"})}
    case = {"name": "c", "expect": {"allowed": True}, **({"request": whole} if inside else whole)}
    judge = Judge()
    sources = loaded(suite(cases=[case]))
    assert sources.problems == ()
    assert run(sources.documents[0], judge)[0].passed
    assert judge.asked[0][1]["uid"] == "mine"


def test_fixtures_lie_beside_the_suite(tmp_path: Path) -> None:
    case = {
        "name": "c",
        "request": {"objectFile": "new.yaml", "oldObjectFile": "old.json"},
        "expect": {"allowed": True},
    }
    absent = {**case, "name": "absent", "request": {"objectFile": "nowhere.yaml"}}
    review = {"name": "review", "expect": {"allowed": True}, "reviewFile": "review.json"}
    (tmp_path / "s.json").write_bytes(orjson.dumps(suite(cases=[case, absent, review])))
    (tmp_path / "new.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
    (tmp_path / "old.json").write_bytes(orjson.dumps(LABELLED))
    (tmp_path / "review.json").write_bytes(orjson.dumps(build_review(POD)))
    judge = Judge()
    sources = load([tmp_path])
    assert sources.problems == ()
    results = run(sources.documents[0], judge)
    assert [result.passed for result in results] == [True, False, True]
    assert "nowhere.yaml" in results[1].error
    assert judge.asked[0][1]["object"] == POD
    assert judge.asked[0][1]["oldObject"] == LABELLED


def test_labels_of_the_namespace_need_someone_who_takes_them() -> None:
    request = {"object": POD, "namespaceLabels": {"team": "blue"}}
    fields = {"name": "c", "request": request, "expect": {"allowed": True}}
    document = loaded(suite(cases=[fields])).documents[0]
    assert "namespaces" in run(document, Judge())[0].error
    seen: list[JSONObject] = []

    def within(state: CaseState) -> Judge:
        seen.extend(state.namespaces)
        return Judge()

    assert run(document, Judge(), within=within)[0].passed
    assert seen[0]["metadata"] == {
        "name": "default",
        "labels": {"team": "blue", "kubernetes.io/metadata.name": "default"},
    }


def test_a_judge_that_refuses_the_review_fails_the_case_only() -> None:
    def refuse(
        review: JSONObject, webhooks: tuple[Webhook, ...], completed: Completed
    ) -> CaseAnswer:
        raise ReviewError("no uid")

    result = run(loaded(suite()).documents[0], refuse)[0]
    assert (result.passed, result.error, result.suite, result.line) == (False, "no uid", "s", 1)


def test_a_patch_that_does_not_apply_is_told() -> None:
    judge = Judge(mutate=patching({"op": "remove", "path": "/nope"}))
    assert "does not apply" in outcome(judge, {"allowed": True}).error


def test_cases_are_selected_and_placed() -> None:
    text = (
        "apiVersion: policyd.dev/v1\nkind: PolicyTest\nmetadata: {name: s}\ncases:\n"
        "- name: one\n  request: {object: {apiVersion: v1, kind: Pod}}\n  expect: {allowed: true}\n"
        "- name: two\n  request: {object: {apiVersion: v1, kind: Pod}}\n  expect: {allowed: false}\n"
    )
    document = load_text(text, "s.yaml").documents[0]
    results = run(document, Judge(), select=re.compile("s/two"))
    assert [(each.name, each.line) for each in results] == [("two", 8)]
    assert suites.problems(results)[0].message == ("case 'two' failed: unexpected allowed")


def test_a_broken_suite_does_not_run() -> None:
    with pytest.raises(PolicyError):
        run(loaded(suite(cases=[])).documents[0], Judge())


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, None, True),
        ([1, 2], [2, 1], False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([True], [1], False),
        ("1", 1, False),
    ],
)
def test_equality_of_json(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal
