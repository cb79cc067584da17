"""Compare a recorded decision with that of other policies for the same request. Reads no files.

A recorded line is an AdmissionReview with a request. ``policyd serve --capture`` adds the response
and, under ``captured``, the webhook; reviews recorded otherwise have neither.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import orjson

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply
from policyd.admission.confidential import without_text
from policyd.admission.review import Cause
from policyd.errors import ReviewError
from policyd.json_types import JSON, JSONObject
from policyd.offline.admitting import BOTH, Admitter
from policyd.policy.model.suite import Webhook

What = Literal["now denied", "now admitted", "other reasons", "other warnings", "other object"]
WHAT: tuple[What, ...] = get_args(What)  # the most important ones first
_NAMED = re.compile(r"""policy ['"]([^'"]+)['"]""", re.IGNORECASE)
_WEBHOOKS: Mapping[JSON, tuple[Webhook, ...]] = {"mutate": ("mutate",), "validate": ("validate",)}


@dataclass(frozen=True, slots=True)
class ComparedDecision:
    """The comparable part of a response; ``reasons`` are the texts of a denial's causes."""

    allowed: bool
    reasons: frozenset[str]
    warnings: frozenset[str]
    after: JSON


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """One difference between two decisions, and its message. ``policy`` is empty if it belongs to
    no single policy.
    """

    what: What
    policy: str
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A line of a capture. ``response`` is None if none was recorded. For ``redacted`` requests the
    policies' own messages and the mutated objects are not compared.
    """

    review: JSONObject
    webhooks: tuple[Webhook, ...]
    response: JSONObject | None
    redacted: bool = False

    @property
    def request(self) -> JSONObject:
        """Return the AdmissionRequest."""
        request = self.review["request"]
        return request if isinstance(request, dict) else {}

    def evaluated(self, admitter: Admitter) -> ComparedDecision:
        """Return the decision of these policies; ReviewError if this is not an AdmissionReview."""
        admission = admitter.admit(self.review, self.webhooks)
        after = None if self.redacted else admission.after
        return ComparedDecision(
            admission.allowed,
            self._reasons(admission.causes),
            self._texts(admission.warnings),
            after,
        )

    def answered(self) -> ComparedDecision:
        """Return the recorded decision; raises ReviewError if there is none."""
        if self.response is None:
            raise ReviewError(
                "no response was recorded: compare with other policies by --against PATH"
            )
        after = None if self.redacted else self.request.get("object")
        if "patch" in self.response:
            after = apply(orjson.loads(b64decode(self.response["patch"])), after)
        return ComparedDecision(
            bool(self.response.get("allowed")),
            self._reasons(_causes(self.response)),
            self._texts(self.response.get("warnings") or ()),
            after,
        )

    def _reasons(self, causes: Iterable[Cause]) -> frozenset[str]:
        """Return denials for comparison; those of redacted requests were recorded without field."""
        return self._texts(each.message if self.redacted else each.text for each in causes)

    def _texts(self, texts: Iterable[str]) -> frozenset[str]:
        """Return denials or warnings for comparison; for redacted requests their policies only."""
        return frozenset(map(without_text, texts) if self.redacted else texts)


def read_line(line: bytes) -> Recorded:
    """Parse one line of a capture; raises ReviewError."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReviewError(f"not JSON: {error}") from None
    inner = value.get("review") if isinstance(value, dict) else None
    review = inner if isinstance(inner, dict) else value
    if not isinstance(review, dict) or not isinstance(review.get("request"), dict):
        raise ReviewError("expected an AdmissionReview with a request")
    captured = review.get("captured")
    captured = captured if isinstance(captured, dict) else {}
    webhook = captured.get("webhook")
    response = review.get("response")
    return Recorded(
        {key: review.get(key) for key in ("apiVersion", "kind", "request")},
        _WEBHOOKS.get(webhook, BOTH) if isinstance(webhook, str) else BOTH,
        response if isinstance(response, dict) else None,
        captured.get("redacted") is True,
    )


def changes(before: ComparedDecision, after: ComparedDecision) -> list[DecisionChange]:
    """Return the differences, the most important ones first."""
    found: list[DecisionChange] = []
    if before.allowed and not after.allowed:
        found += _each("now denied", after.reasons)
    elif after.allowed and not before.allowed:
        found += _each("now admitted", before.reasons)
    else:
        found += _between("other reasons", before.reasons, after.reasons)
    if before.allowed and after.allowed:
        found += _between("other warnings", before.warnings, after.warnings)
        if not equal(before.after, after.after):
            found.append(DecisionChange("other object", "", "the mutated object differs"))
    return found


def _between(what: What, before: frozenset[str], after: frozenset[str]) -> list[DecisionChange]:
    return [*_each(what, after - before), *_each(what, before - after, "no longer: ")]


def _each(what: What, texts: frozenset[str], prefix: str = "") -> list[DecisionChange]:
    return [DecisionChange(what, _policy_in(text), prefix + text) for text in sorted(texts)]


def _policy_in(text: str) -> str:
    """Return the policy of a denial or warning: every one begins with its name in quotes."""
    named = _NAMED.search(text)
    return named.group(1) if named else ""


def _causes(response: JSONObject) -> tuple[Cause, ...]:
    """Return the causes of a denial, one for each violation; empty if allowed."""
    if response.get("allowed"):
        return ()
    status = response.get("status") or {}
    causes = (status.get("details") or {}).get("causes") or [status]
    return tuple(
        Cause(str(cause.get("message", "")), str(cause.get("field") or "")) for cause in causes
    )
