"""What a case would have to expect of the answer that it got, in the form of ``expect``. Changes
no file.
"""

from collections.abc import Sequence
from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.suite.expectations import ERROR, CaseAnswer, Mismatch
from policyd.policy.suite.runner import IDEMPOTENT

# Of these a denial has a value, and an admission none.
_OF_DENIALS = ("code", "reason", "message", "causes")
# An audit annotation of every answer, different for every change of the policies.
_GENERATION = "generation"


def observed(answer: CaseAnswer) -> JSONObject:
    """Return an expectation of all that matters in an answer."""
    found: JSONObject = {"allowed": answer.response["allowed"]}
    if answer.errors:
        found["error"] = True
    if not found["allowed"]:
        found |= _texts(answer)
    if answer.warnings:
        found["warnings"] = list(answer.warnings)
    annotations = {k: v for k, v in answer.audit_annotations.items() if k != _GENERATION}
    if annotations:
        found["auditAnnotations"] = annotations
    if answer.patch and found["allowed"]:
        found["patched"] = answer.object
    return found


def corrected(expect: JSONObject, mismatches: Sequence[Mismatch], answer: CaseAnswer) -> JSONObject:
    """Return an expectation with the keys changed that the answer does not meet."""
    full = observed(answer)
    status = answer.response.get("status", {})
    new = dict(expect)
    for each in mismatches:
        if each.key.startswith("auditAnnotations["):
            found = answer.audit_annotations
            kept = {key: found[key] for key in expect["auditAnnotations"] if key in found}
            new["auditAnnotations"] = kept or None
        elif each.key == "allowed":
            new["allowed"] = full["allowed"]
            if full["allowed"]:
                new |= dict.fromkeys(_OF_DENIALS)
            elif not expect.keys() & {"message", "causes"}:
                new |= _texts(answer)
            if answer.errors and not answer.denials:
                new[ERROR] = True
        elif each.key == ERROR:
            new[ERROR] = True if answer.errors else None
        elif each.key in ("message", "causes"):
            new[each.key] = _texts_of(answer) if each.key == "causes" else _first(answer)
        elif each.key in ("code", "reason"):
            new[each.key] = status.get(each.key)
        elif each.key != IDEMPOTENT:
            new[each.key] = each.found
    new = {k: v for k, v in new.items() if v is not None and (v or k not in _OF_DENIALS)}
    return new or {"allowed": full["allowed"]}


def _texts(answer: CaseAnswer) -> dict[str, Any]:
    """Return ``message`` for one violation or error, and ``causes`` for several."""
    texts = _texts_of(answer)
    return {"causes": texts} if len(texts) > 1 else {"message": _first(answer)}


def _texts_of(answer: CaseAnswer) -> list[str]:
    """Return the texts of the causes, without what the webhook puts before them."""
    status = answer.response.get("status", {})
    causes = [each["message"] for each in status.get("details", {}).get("causes", ())]
    texts = dict.fromkeys(each.text for each in (*answer.denials, *answer.errors))
    return [text for text in texts if any(text in cause for cause in causes)]


def _first(answer: CaseAnswer) -> str | None:
    message: str = answer.response.get("status", {}).get("message", "")
    return next((text for text in _texts_of(answer) if text in message), message or None)
