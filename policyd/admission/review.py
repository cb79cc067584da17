"""AdmissionReview (``admission.k8s.io/v1``): bytes to request, and response to bytes.

Checks what an API server promises about the form of a review, and nothing about policies. Whatever
breaks that form raises ReviewError, which becomes HTTP 400 with the text as its reason.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from policyd._core.json_tree import is_ordinary, normal
from policyd.errors import ReviewError

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

# Levels of braces and brackets in one object of a review, and in the whole review around it.
MAX_OBJECT_DEPTH = 1000
MAX_REVIEW_DEPTH = MAX_OBJECT_DEPTH + 2

GroupVersionName = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """The request of a review. ``raw`` is the decoded dict, the others are read out of it.

    ``kind`` is (group, version, kind), ``resource`` (group, version, resource), both as the
    webhook was sent them. Absent texts are empty; absent objects None. Nothing is ever changed.
    """

    uid: str
    operation: str
    name: str
    namespace: str
    kind: GroupVersionName
    resource: GroupVersionName
    sub_resource: str
    dry_run: bool
    user_info: dict[str, Any]
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None
    options: dict[str, Any] | None
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """What is answered. ``code``, ``reason``, ``message``, ``causes`` are only sent with a denial.

    A cause is its message, or a whole StatusCause. ``patch`` is RFC 6902 as JSON bytes.
    """

    uid: str
    allowed: bool
    code: int = 0
    reason: str = ""
    message: str = ""
    causes: tuple[str | dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    patch: bytes | None = None


def decode(body: bytes | dict[str, Any]) -> AdmissionRequest:
    """The request of a review given as JSON bytes, or as the dict that a decoder made of them."""
    review = _parse(body) if isinstance(body, bytes) else normal(body, MAX_REVIEW_DEPTH)
    if type(review) is not dict:
        raise ReviewError(f"expected an {KIND}, got {_json_type(review)}")
    if review.get("kind") != KIND or review.get("apiVersion") != API_VERSION:
        raise ReviewError(
            f"expected kind {KIND} of apiVersion {API_VERSION}, got kind "
            f"{_shown(review.get('kind'))} of apiVersion {_shown(review.get('apiVersion'))}"
        )
    request = review.get("request")
    if type(request) is not dict:
        raise ReviewError(f"request must be an object, not {_json_type(request)}")
    return _request(request)


def encode(response: AdmissionResponse) -> bytes:
    """The AdmissionReview that answers, as JSON bytes; the request is not echoed."""
    return orjson.dumps(to_dict(response))


def to_dict(response: AdmissionResponse) -> dict[str, Any]:
    """The AdmissionReview that answers, as a dict; ``patch`` is base64 text."""
    answer: dict[str, Any] = {"uid": response.uid, "allowed": response.allowed}
    if not response.allowed:
        answer["status"] = _status(response)
    if response.patch is not None:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = b64encode(response.patch).decode("ascii")
    if response.warnings:
        answer["warnings"] = list(response.warnings)
    if response.audit_annotations:
        answer["auditAnnotations"] = dict(response.audit_annotations)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": answer}


def _status(response: AdmissionResponse) -> dict[str, Any]:
    status: dict[str, Any] = {"message": response.message}
    if response.reason:
        status["reason"] = response.reason
    if response.code:
        status["code"] = response.code
    if response.causes:
        causes = [
            {"message": cause} if isinstance(cause, str) else cause for cause in response.causes
        ]
        status["details"] = {"causes": causes}
    return status


def _parse(body: bytes) -> Any:
    """The JSON value of ``body``; integers outside int64 are doubles, as in the API server."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ReviewError(_why_not_json(body, error)) from None
    # orjson allows 1,024 levels and gives integers up to 2**64-1; both are rare enough to be
    # looked at only when the bytes could hold one.
    return review if is_ordinary(body, MAX_REVIEW_DEPTH) else normal(review, MAX_REVIEW_DEPTH)


def _why_not_json(body: bytes, error: orjson.JSONDecodeError) -> str:
    reason = str(error)
    if not body.strip():
        return f"the body is empty, expected an {KIND} as JSON"
    if "depth limit" in reason:
        return f"the objects of the review are nested deeper than {MAX_OBJECT_DEPTH} levels"
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return f"the body is not UTF-8: {wrong.reason} at byte {wrong.start}"
    if "unexpected end" in reason:
        return f"the body is truncated JSON: {reason}"
    rest = body.decode("utf-8")[error.pos :]
    if rest.startswith(("NaN", "Infinity", "-Infinity", "-NaN")):
        return f"the body is not JSON: NaN and Infinity are not JSON numbers: {reason}"
    return f"the body is not JSON: {reason}"


def _request(request: dict[str, Any]) -> AdmissionRequest:
    uid = _text(request, "uid")
    if not uid:
        raise ReviewError("request.uid is missing")
    operation = request.get("operation")
    if type(operation) is not str or operation not in OPERATIONS:
        raise ReviewError(
            f"request.operation must be CREATE, UPDATE, DELETE or CONNECT, not {_shown(operation)}"
        )
    dry_run = request.get("dryRun")
    if dry_run is not None and type(dry_run) is not bool:
        raise ReviewError(f"request.dryRun must be true or false, not {_json_type(dry_run)}")
    for key in ("requestKind", "requestResource"):
        if request.get(key) is not None:
            _group_version(request, key, key[7:].lower())
    _text(request, "requestSubResource")
    return AdmissionRequest(
        uid,
        operation,
        _text(request, "name"),
        _text(request, "namespace"),
        _group_version(request, "kind", "kind"),
        _group_version(request, "resource", "resource"),
        _text(request, "subResource"),
        dry_run is True,
        _user_info(request),
        _mapping(request, "object"),
        _mapping(request, "oldObject"),
        _mapping(request, "options"),
        request,
    )


def _text(request: dict[str, Any], key: str) -> str:
    value = request.get(key)
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise ReviewError(f"request.{key} must be a string, not {_json_type(value)}")


def _mapping(request: dict[str, Any], key: str) -> dict[str, Any] | None:
    value = request.get(key)
    if value is None or type(value) is dict:
        return value
    raise ReviewError(f"request.{key} must be an object, not {_json_type(value)}")


def _group_version(request: dict[str, Any], key: str, name: str) -> GroupVersionName:
    value = request.get(key)
    if type(value) is not dict:
        raise ReviewError(f"request.{key} must be an object, not {_json_type(value)}")
    group, version, last = value.get("group", ""), value.get("version"), value.get(name)
    if type(group) is str and type(version) is str and type(last) is str and last:
        return group, version, last
    raise ReviewError(f"request.{key} must have the strings group, version and {name}")


def _user_info(request: dict[str, Any]) -> dict[str, Any]:
    """userInfo with its members of the right types; absent ones are absent."""
    value = request.get("userInfo")
    if value is None:
        return {}
    if type(value) is not dict:
        raise ReviewError(f"request.userInfo must be an object, not {_json_type(value)}")
    for key in ("username", "uid"):
        if type(value.get(key, "")) is not str:
            raise ReviewError(f"request.userInfo.{key} must be a string")
    if not _is_texts(value.get("groups")):
        raise ReviewError("request.userInfo.groups must be a list of strings")
    extra = value.get("extra")
    if extra is not None and (
        type(extra) is not dict or not all(_is_texts(texts) for texts in extra.values())
    ):
        raise ReviewError("request.userInfo.extra must be an object of lists of strings")
    return value


def _is_texts(value: Any) -> bool:
    if value is None:
        return True
    if type(value) is not list:
        return False
    return all(type(text) is str for text in value)


def _json_type(value: Any) -> str:
    """What JSON calls the type of ``value``, with its article."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "nothing" if value is None else names.get(type(value), "a number")


def _shown(value: Any) -> str:
    """A text as it came (cut short), of anything else only its type."""
    return repr(value[:80]) if isinstance(value, str) else _json_type(value)
