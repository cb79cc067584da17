"""Keeps Secrets' values, tokens, and messages that quote them out of the log and captures.

The response to the requester is unchanged: the sender of an object knows its contents.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from policyd.admission.review import AdmissionRequest
from policyd.json_types import JSONObject, object_in

REDACTED = "REDACTED"
REDACTED_BASE64 = "UkVEQUNURUQ="
WITHHELD = "the message is withheld: it may quote a confidential value of the object"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Shorter values occur in any string by chance.
_TELLING = 4
# Fields of an object that hold no confidential value.
_PLAIN = frozenset({"apiVersion", "kind", "metadata", "type", "immutable"})
# The prefix that policyd puts before a policy's own message.
_POLICY = r"(?:\w+ '[^']*'|policy \"[^\"]*\")(?: with binding '[^']*')?"
_PREFIX = re.compile(rf"(?:{_POLICY} denied request|Validation failed for {_POLICY}): ")
# The policy that policyd puts after an error which fails the whole request.
_MUTATION = re.compile(rf" \(mutation of {_POLICY}\)\Z")
# Audit annotations that quote no object.
_OWN_ANNOTATIONS = ("generation", "exception.", "rollout.")


def is_confidential(request: AdmissionRequest) -> bool:
    """Whether an object of the request holds confidential values.

    Checks the resource, the kind and the objects themselves, so that it also finds an object that
    claims another kind.
    """
    group, _, resource = request.resource
    if (group, resource) in _RESOURCES or (group, request.sub_resource) in _SUBRESOURCES:
        return True
    if (request.kind[0], request.kind[2]) in _KINDS:
        return True
    return any(_holds(each) for each in (request.object, request.old_object))


def redacted(request: AdmissionRequest) -> JSONObject:
    """Return a confidential request without its confidential values, for logs and captures."""
    values = _values(request.object) | _values(request.old_object)
    telling = {each for each in values if len(each) >= _TELLING}
    raw = dict(request.raw)

    def change(each: Any) -> Any:
        return _without_quotes(_hidden(each), telling)

    for field in ("object", "oldObject"):
        if raw.get(field) is not None:
            raw[field] = _changed(raw[field], change, request.kind[2])
    return raw


def without_texts(answer: JSONObject) -> JSONObject:
    """Return the response to a confidential request without the policies' own messages and the
    patch, for logs and captures.
    """
    kept = {key: value for key, value in answer.items() if key not in ("patch", "patchType")}
    status = kept.get("status")
    if isinstance(status, dict):
        status = {**status, "message": without_text(str(status.get("message")))}
        causes = (status.get("details") or {}).get("causes")
        if causes:
            hidden = [{"message": without_text(str(each.get("message")))} for each in causes]
            status["details"] = {**status["details"], "causes": hidden}
        kept["status"] = status
    if "warnings" in kept:
        kept["warnings"] = [without_text(each) for each in kept["warnings"]]
    if "auditAnnotations" in kept:
        kept["auditAnnotations"] = {
            key: value if key.startswith(_OWN_ANNOTATIONS) else REDACTED
            for key, value in kept["auditAnnotations"].items()
        }
    return kept


def without_text(text: str) -> str:
    """Return a denial, warning or error without the policy's own message, which may quote the
    object.
    """
    prefix = _PREFIX.match(text)
    if prefix:
        return prefix[0] + REDACTED
    suffix = _MUTATION.search(text)
    return REDACTED + (suffix[0] if suffix else "")


def _holds(value: Any) -> bool:
    """Whether an object is of a confidential kind, or a list with such an object. Lists in lists
    are followed without recursion: a request may nest hundreds of them.
    """
    rest = [value]
    while rest:
        each = rest.pop()
        if not isinstance(each, dict):
            continue
        if _kind_of(each) in _HIDING:
            return True
        items = each.get("items")
        if isinstance(items, list):
            rest += items
    return False


def _kind_of(value: JSONObject) -> str:
    """Return the kind of an object, or "" if it has none."""
    kind = value.get("kind")
    return kind if isinstance(kind, str) else ""


def _changed(value: Any, change: Callable[[Any], Any], kind: str) -> Any:
    """Return a changed object, or a list whose objects are changed; items that have no kind get
    their list's, or ``kind``. Lists in lists are followed without recursion.
    """
    root = [value]
    rest = [(root, 0)]
    while rest:
        place, index = rest.pop()
        each = place[index]
        items = each.get("items") if isinstance(each, dict) else None
        if isinstance(items, list) and _kind_of(each).endswith("List"):
            default = {"kind": _kind_of(each).removesuffix("List") or kind}
            typed = [{**default, **item} if isinstance(item, dict) else item for item in items]
            place[index] = {**each, "items": typed}
            rest += [(typed, at) for at in range(len(typed))]
        else:
            place[index] = change(each)
    return root[0]


def _hidden(value: Any) -> Any:
    """Return an object without its confidential values; an object of an unknown kind is hidden
    entirely.
    """
    if not isinstance(value, dict):
        return REDACTED
    hide = _HIDING.get(_kind_of(value))
    if hide is not None:
        return hide(value)
    shown = {key: value[key] for key in ("apiVersion", "kind", "metadata") if key in value}
    return {**dict.fromkeys(value, REDACTED), **shown}


def _secret(secret: JSONObject) -> JSONObject:
    """Return a Secret with its keys but without its values."""
    hidden = {key: value if key in _PLAIN else REDACTED for key, value in secret.items()}
    for field, instead in (("data", REDACTED_BASE64), ("stringData", REDACTED)):
        if isinstance(secret.get(field), dict):
            hidden[field] = dict.fromkeys(secret[field], instead)
    return hidden


def _token(review: JSONObject) -> JSONObject:
    """Return a TokenReview or TokenRequest without the token."""
    hidden = dict(review)
    for field in ("spec", "status"):
        part = review.get(field)
        if isinstance(part, dict) and "token" in part:
            hidden[field] = {**part, "token": REDACTED}
        elif part is not None and not isinstance(part, dict):
            hidden[field] = REDACTED
    return hidden


_KINDS: Mapping[tuple[str, str], Callable[[JSONObject], JSONObject]] = {
    ("", "Secret"): _secret,
    ("authentication.k8s.io", "TokenReview"): _token,
    ("authentication.k8s.io", "TokenRequest"): _token,
}
_HIDING = {kind: hide for (_, kind), hide in _KINDS.items()}
_RESOURCES = frozenset({("", "secrets"), ("authentication.k8s.io", "tokenreviews")})
_SUBRESOURCES = frozenset({("", "token")})


def _values(value: Any) -> set[str]:
    """Return the strings of an object outside its metadata, as written and base64-decoded."""
    found: set[str] = set()
    rest = [value]
    while rest:
        each = rest.pop()
        if isinstance(each, dict):
            rest += (inner for key, inner in each.items() if key not in _PLAIN)
        elif isinstance(each, list):
            rest += each
        elif isinstance(each, str):
            found |= {each, *_decoded(each)}
    return found


def _decoded(text: str) -> list[str]:
    try:
        return [b64decode(text, validate=True).decode()]
    except ValueError:
        return []


def _without_quotes(value: Any, telling: set[str]) -> Any:
    """Hide the annotations that quote a confidential value, and last-applied-configuration."""
    if not isinstance(value, dict):
        return value
    annotations = object_in(value, "metadata").get("annotations")
    if not isinstance(annotations, dict):
        return value
    hidden = {
        key: REDACTED if key == _LAST_APPLIED or _quotes(text, telling) else text
        for key, text in annotations.items()
    }
    return {**value, "metadata": {**value["metadata"], "annotations": hidden}}


def _quotes(text: Any, telling: set[str]) -> bool:
    return not isinstance(text, str) or any(each in text for each in telling)
