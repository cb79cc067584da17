"""AdmissionReview (``admission.k8s.io/v1``): bytes to request, and response to bytes.

Checks only the form that the API server guarantees, and nothing about policies. A body with another
form raises ReviewError, which becomes HTTP 400 with the message as its reason.
"""

from base64 import b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from policyd._core.json.request import AdmissionRequest
from policyd._core.json.tree import is_ordinary, normal
from policyd.admission import partial
from policyd.admission.partial import MAX_REVIEW_DEPTH, UNCOUNTED_BYTES
from policyd.bounded_text import cause_text, encodable_tree
from policyd.errors import ReviewError, UnreadableReview

__all__ = ["AdmissionRequest", "AdmissionResponse", "decode", "encode", "to_dict"]

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"


class Cause(NamedTuple):
    """One denial in the details of a Status. ``field`` is the path of the field at fault, empty if
    not known; ``reason`` is a CauseType of Kubernetes.
    """

    message: str
    field: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """Return the field, if it is known, and the message."""
        return cause_text(self._asdict())


class ObjectDetails(NamedTuple):
    """The object in the details of a Status; ``kind`` is a resource, as in Kubernetes' own."""

    name: str
    group: str
    kind: str


class AdmissionResponse(NamedTuple):
    """The response. ``code``, ``reason``, ``message``, ``causes`` and ``details`` are only sent
    with a denial.

    ``patch`` is RFC 6902 as JSON bytes.
    """

    uid: str
    allowed: bool
    code: int = 0
    reason: str = ""
    message: str = ""
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = MappingProxyType({})
    patch: bytes | None = None
    details: ObjectDetails | None = None


def decode(body: bytes | dict[str, Any]) -> AdmissionRequest:
    """Return the request of a review given as JSON bytes or as the decoded dict.

    A request that an API server can send but policyd cannot evaluate is ``unreadable``: it has only
    the parts that matching needs.
    """
    review, unreadable = _parse(body) if isinstance(body, bytes) else _checked(body)
    if type(review) is not dict:
        raise ReviewError(f"expected an {KIND}, got {_json_type(review)}")
    if review.get("kind") != KIND or review.get("apiVersion") != API_VERSION:
        raise ReviewError(f"expected an {KIND} of {API_VERSION}: {_wrong_type(review)}")
    request = review.get("request")
    if type(request) is not dict:
        if "request" not in review:
            raise ReviewError("request is missing")
        raise ReviewError(f"request must be an object, not {_json_type(request)}")
    if unreadable:
        unreadable = f"the review cannot be evaluated: {unreadable}"
    return AdmissionRequest(request, unreadable)


def encode(response: AdmissionResponse) -> bytes:
    """Return the response AdmissionReview as JSON bytes; the request is not echoed."""
    answer = to_dict(response)
    try:
        return orjson.dumps(answer)
    except orjson.JSONEncodeError:
        return orjson.dumps(encodable_tree(answer))


def to_dict(response: AdmissionResponse) -> dict[str, Any]:
    """Return the response AdmissionReview as a dict; ``patch`` is a base64 string."""
    answer: dict[str, Any] = {"uid": response.uid, "allowed": response.allowed}
    if not response.allowed:
        answer["status"] = _status(response)
    if response.patch is not None:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = b64encode(response.patch).decode("ascii")
    if response.warnings:
        answer["warnings"] = list(response.warnings)
    annotations = response.audit_annotations
    if annotations:
        known = type(annotations) is dict
        answer["auditAnnotations"] = annotations if known else dict(annotations)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": answer}


def _status(response: AdmissionResponse) -> dict[str, Any]:
    status: dict[str, Any] = {"message": response.message}
    if response.reason:
        status["reason"] = response.reason
    if response.code:
        status["code"] = response.code
    details: dict[str, Any] = {}
    if response.details is not None:
        name, group, kind = response.details
        details = _without_empty({"name": name, "group": group, "kind": kind})
    if response.causes:
        details["causes"] = [
            _without_empty({"message": message, "field": field, "reason": reason})
            if field or reason or not message
            else {"message": message}
            for message, field, reason in response.causes
        ]
    if details:
        status["details"] = details
    return status


def _without_empty(members: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in members.items() if value}


def _parse(body: bytes) -> tuple[Any, str]:
    """Return the JSON value of ``body``, and why it cannot be decoded as a whole ("": it can).

    Integers outside int64 are doubles, as in the API server.
    """
    problem: orjson.JSONDecodeError | UnreadableReview | None = None
    too_large = len(body) > UNCOUNTED_BYTES and partial.too_many_values(body)
    if not too_large:
        try:
            review = orjson.loads(body)
            # orjson allows 1,024 levels and returns integers up to 2**64-1; both are rare enough to
            # be checked only when the bytes could hold one.
            if not is_ordinary(body, MAX_REVIEW_DEPTH):
                review = normal(review, MAX_REVIEW_DEPTH)
            return review, ""
        except (orjson.JSONDecodeError, UnreadableReview) as error:
            problem = error
    found = partial.read(body, too_large)
    if found is None:
        raise ReviewError(_why_not_json(body, problem))
    return found


def _checked(review: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Like ``_parse``, for a review that a caller decoded."""
    try:
        return normal(review, MAX_REVIEW_DEPTH), ""
    except UnreadableReview as error:
        return partial.read_tree(review), str(error)


def _why_not_json(body: bytes, error: Exception | None) -> str:
    if not isinstance(error, orjson.JSONDecodeError):
        return "the body is not JSON"
    reason = str(error)
    if not body.strip():
        return f"the body is empty, expected an {KIND} as JSON"
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return f"the body is not UTF-8: {wrong.reason} at byte {wrong.start}"
    if "unexpected end" in reason:
        return f"the body is truncated JSON: {reason}"
    rest = body.decode("utf-8")[error.pos : error.pos + len("-Infinity")]
    if rest.startswith(("NaN", "Infinity", "-Infinity", "-NaN")):
        return f"the body is not JSON: NaN and Infinity are not JSON numbers: {reason}"
    return f"the body is not JSON: {reason}"


def _wrong_type(review: Mapping[str, Any]) -> str:
    """Name each of apiVersion and kind that is missing or wrong, with its value."""
    return ", ".join(
        f"{name} is {_shown(review[name])}" if name in review else f"{name} is missing"
        for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND))
        if review.get(name) != wanted
    )


def _json_type(value: Any) -> str:
    """Return the JSON type of ``value`` with its article."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def _shown(value: Any) -> str:
    """Return a string (cut short), or the type of any other value."""
    return repr(value[:80]) if isinstance(value, str) else _json_type(value)
