"""AdmissionReview bytes to AdmissionRequest and AdmissionResponse to bytes."""

import copy
import json
from typing import Any

import orjson
import pytest

from policyd.admission.review import (
    AdmissionResponse,
    Cause,
    ObjectDetails,
    decode,
    encode,
    to_dict,
)
from policyd.errors import ReviewError
from tests import shared
from tests.builders.reviews import review


def nested(levels: int, of: str = "{") -> bytes:
    """A review whose object is ``levels`` deep (the object itself is the first level)."""
    inner = b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)
    if of == "[":
        inner = b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"
    return orjson.dumps(review(object={"mark": 1})).replace(b'{"mark":1}', inner)


def test_fields_are_read_out() -> None:
    user = {"username": "ann", "groups": ["devs"], "extra": {"a": ["b"]}}
    sent = review(subResource="status", userInfo=user, dryRun=True)
    request = decode(orjson.dumps(sent))
    assert request.uid == "u-1"
    assert request.kind == ("", "v1", "ConfigMap")
    assert request.resource == ("", "v1", "configmaps")
    assert (request.name, request.namespace, request.sub_resource) == ("settings", "shop", "status")
    assert request.dry_run
    assert request.user_info["username"] == "ann"
    assert request.object == sent["request"]["object"]
    assert request.old_object is None and request.options is None
    assert request.raw == sent["request"]


def test_bytes_and_dict_mean_the_same() -> None:
    whole = review()
    before = copy.deepcopy(whole)
    assert decode(whole).raw == decode(orjson.dumps(whole)).raw
    assert whole == before


def as_api_server(number: str) -> float:
    """An integer token as the API server reads it."""
    return int(number) if -(2**63) <= int(number) < 2**63 else float(number)


def test_every_recorded_review_is_decoded_unchanged() -> None:
    rows = shared.reviews()
    for row in rows:
        body = json.dumps(row["review"])
        want = json.loads(body, parse_int=as_api_server)["request"]
        request = decode(body.encode())
        assert request.raw == want, row["id"]
        assert request.uid == want["uid"]
    print(f"{len(rows)} passed of {len(rows)}")


BAD_BODIES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "the body is empty"),
    ("not JSON", b"kind: AdmissionReview", "the body is not JSON"),
    ("truncated", orjson.dumps(review())[:-20], "truncated JSON"),
    ("two documents", b"{}{}", "the body is not JSON"),
    ("NaN", b'{"a":NaN}', "NaN and Infinity are not JSON numbers"),
    ("Infinity", b'{"a":-Infinity}', "NaN and Infinity are not JSON numbers"),
    ("NaN, nested too deep", b"[" * 2000 + b"NaN" + b"]" * 2000, "the body is not JSON"),
    ("invalid UTF-8 outside a string", b'{"a":\xff}', "not UTF-8: invalid start byte at byte 5"),
    (
        "no review, too large a number",
        b'{"a":1e999}',
        "expected an AdmissionReview of admission.k8s.io/v1: apiVersion is missing, kind is missing",
    ),
    (
        "no review, half of a pair",
        b'{"a":"\\ud800"}',
        "expected an AdmissionReview of admission.k8s.io/v1: apiVersion is missing, kind is missing",
    ),
    ("no review, deep", b"[" * 2000 + b"]" * 2000, "expected an AdmissionReview, got a list"),
    ("byte order mark", b"\xef\xbb\xbf{}", "BOM"),
    ("list", b"[]", "expected an AdmissionReview, got a list"),
    ("null", b"null", "expected an AdmissionReview, got null"),
    ("100,000 levels without an end", b"[" * 100_000, "the body is not JSON"),
]


@pytest.mark.parametrize(
    ("body", "reason"), [row[1:] for row in BAD_BODIES], ids=[row[0] for row in BAD_BODIES]
)
def test_bad_body_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ReviewError) as caught:
        decode(body)
    assert reason in str(caught.value)
    assert caught.value.status == 400


BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"uid": None}, "request.uid is missing"),
    ({"uid": ""}, "request.uid is missing"),
    ({"uid": 7}, "request.uid must be a string, not a number"),
    ({"operation": "PATCH"}, "not 'PATCH'"),
    ({"operation": None}, "request.operation must be CREATE, UPDATE, DELETE or CONNECT"),
    ({"operation": ["CREATE"]}, "not a list"),
    ({"object": "x"}, "request.object must be an object, not a string"),
    ({"object": [1]}, "request.object must be an object, not a list"),
    ({"oldObject": 1}, "request.oldObject must be an object, not a number"),
    ({"options": True}, "request.options must be an object, not a boolean"),
    ({"dryRun": "yes"}, "request.dryRun must be true or false, not a string"),
    ({"name": {}}, "request.name must be a string, not an object"),
    ({"namespace": 1}, "request.namespace must be a string, not a number"),
    ({"subResource": 1}, "request.subResource must be a string"),
    ({"requestSubResource": 1}, "request.requestSubResource must be a string"),
    ({"kind": "Pod"}, "request.kind must be an object, not a string"),
    ({"kind": {"group": 1, "version": "v1", "kind": "Pod"}}, "request.kind must have the strings"),
    ({"resource": None}, "request.resource must be an object, not nothing"),
    ({"resource": {"version": "v1"}}, "the strings group, version and resource"),
    ({"requestKind": {"kind": 1}}, "request.requestKind must have the strings"),
    ({"requestResource": []}, "request.requestResource must be an object, not a list"),
    ({"userInfo": []}, "request.userInfo must be an object, not a list"),
    ({"userInfo": {"username": 1}}, "request.userInfo.username must be a string"),
    ({"userInfo": {"groups": ["a", 1]}}, "request.userInfo.groups must be a list of strings"),
    ({"userInfo": {"groups": "devs"}}, "request.userInfo.groups must be a list of strings"),
    ({"userInfo": {"extra": {"a": "b"}}}, "request.userInfo.extra must be an object of lists"),
]


@pytest.mark.parametrize(("changes", "reason"), BAD_FIELDS)
def test_wrong_field_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReviewError) as caught:
        decode(orjson.dumps(review(**changes)))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "Review"},
        {"apiVersion": "admission.k8s.io/v1beta1"},
        {"apiVersion": None},
        {"kind": ["AdmissionReview"]},
    ],
)
def test_other_kind_or_version_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        ReviewError, match=r"expected an AdmissionReview of admission\.k8s\.io/v1: "
    ):
        decode(orjson.dumps({**review(), **wrong}))


def test_request_must_be_an_object() -> None:
    with pytest.raises(ReviewError, match="request is missing"):
        decode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})


@pytest.mark.parametrize("of", ["{", "["])
def test_object_of_a_thousand_levels_is_decoded(of: str) -> None:
    assert decode(nested(1000, of)).object is not None


def test_brackets_in_strings_are_not_levels() -> None:
    text = "{[" * 5000
    assert decode(orjson.dumps(review(object={"data": text}))).object == {"data": text}


NUMBERS: list[tuple[bytes, float]] = [
    (b"9223372036854775807", 9223372036854775807),
    (b"9223372036854775808", 9223372036854775808.0),
    (b"18446744073709551615", 18446744073709551615.0),
    (b"18446744073709551616", 18446744073709551616.0),
    (b"-9223372036854775808", -9223372036854775808),
    (b"-9223372036854775809", -9223372036854775809.0),
    (b"12345678901234567000", 12345678901234567000.0),
    (b"1", 1),
    (b"1.0", 1.0),
]


@pytest.mark.parametrize(("number", "want"), NUMBERS)
@pytest.mark.parametrize("padding", range(20))
def test_integer_outside_int64_is_a_double(number: bytes, want: float, padding: int) -> None:
    inner = b'{"%s":[{"n":%s}]}' % (b"p" * padding, number)
    body = orjson.dumps(review(object={"mark": 1})).replace(b'{"mark":1}', inner)
    (values,) = (decode(body).object or {}).values()
    assert (type(values[0]["n"]), values[0]["n"]) == (type(want), want)


def test_integer_outside_int64_in_a_dict_leaves_the_dict_alone() -> None:
    whole = review(object={"n": [2**63], "m": {"deep": [{"a": 2**64}, 1]}})
    before = copy.deepcopy(whole)
    decoded = decode(whole).object
    assert decoded == {"n": [2.0**63], "m": {"deep": [{"a": 2.0**64}, 1]}}
    assert type(decoded["n"][0]) is float
    assert whole == before and type(whole["request"]["object"]["n"][0]) is int


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, (1,), b"x", {1: 2}], ids=repr
)
def test_what_is_not_json_is_refused_in_a_dict(value: object) -> None:
    with pytest.raises(ReviewError):
        decode(review(object={"a": value}))


def test_last_of_duplicate_keys_wins() -> None:
    body = orjson.dumps(review(object={"mark": 1})).replace(b'{"mark":1}', b'{"a":1,"a":2}')
    assert decode(body).object == {"a": 2}


def test_newline_after_the_review_is_fine() -> None:
    assert decode(orjson.dumps(review()) + b"\n").uid == "u-1"


def test_allowed_answer_holds_only_uid_and_allowed() -> None:
    assert orjson.loads(encode(AdmissionResponse("u", True))) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }


def test_denial_has_status_and_causes() -> None:
    causes = (Cause("one", "spec.a", "FieldValueInvalid"), Cause("two"))
    details = ObjectDetails("web", "", "pods")
    response = AdmissionResponse("u", False, 422, "Invalid", "no", causes, details=details)
    assert to_dict(response)["response"]["status"] == {
        "code": 422,
        "reason": "Invalid",
        "message": "no",
        "details": {
            "name": "web",
            "kind": "pods",
            "causes": [
                {"message": "one", "field": "spec.a", "reason": "FieldValueInvalid"},
                {"message": "two"},
            ],
        },
    }


def test_status_is_only_sent_with_a_denial() -> None:
    response = AdmissionResponse("u", True, 422, "Invalid", "no", (Cause("one"),))
    assert "status" not in to_dict(response)["response"]


def test_patch_and_patch_type_come_together() -> None:
    answer = to_dict(AdmissionResponse("u", True, patch=b'[{"op":"remove","path":"/a"}]'))
    assert answer["response"]["patchType"] == "JSONPatch"
    assert answer["response"]["patch"] == "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0="
    assert not {"patch", "patchType"} & to_dict(AdmissionResponse("u", True))["response"].keys()


def test_warnings_and_audit_annotations_are_sent() -> None:
    response = AdmissionResponse("u", True, warnings=("w",), audit_annotations={"p.k": "v"})
    answer = orjson.loads(encode(response))["response"]
    assert (answer["warnings"], answer["auditAnnotations"]) == (["w"], {"p.k": "v"})
