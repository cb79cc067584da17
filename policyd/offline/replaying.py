"""What changes for a recorded request when other policies evaluate it. Reads no files.

A recorded line is an AdmissionReview with a request, as ``policyd serve --capture`` writes it with
its response and, under ``captured``, the webhook; reviews recorded otherwise have neither.
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
    """What can be compared of an answer; ``reasons`` are the texts of a denial's causes."""

    allowed: bool
    reasons: frozenset[str]
    warnings: frozenset[str]
    after: JSON


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """One difference between two decisions, and the text that says it. ``policy`` is empty where it
    is no single one's.
    """

    what: What
    policy: str
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A line of a capture. ``response`` is None where none was recorded; of ``redacted`` requests
    neither what policies say in their own words nor the mutated objects are compared.
    """

    review: JSONObject
    webhooks: tuple[Webhook, ...]
    response: JSONObject | None
    redacted: bool = False

    @property
    def request(self) -> JSONObject:
        """The AdmissionRequest."""
        request = self.review["request"]
        return request if isinstance(request, dict) else {}

    def evaluated(self, admitter: Admitter) -> ComparedDecision:
        """What these policies decide; raises ReviewError for what is no AdmissionReview."""
        admission = admitter.admit(self.review, self.webhooks)
        after = None if self.redacted else admission.after
        return ComparedDecision(
            admission.allowed,
            self._texts(admission.causes),
            self._texts(admission.warnings),
            after,
        )

    def answered(self) -> ComparedDecision:
        """What was answered when it was recorded; raises ReviewError where that is not known."""
        if self.response is None:
            raise ReviewError(
                "no response was recorded: compare with other policies by --against PATH"
            )
        after = None if self.redacted else self.request.get("object")
        if "patch" in self.response:
            after = apply(orjson.loads(b64decode(self.response["patch"])), after)
        return ComparedDecision(
            bool(self.response.get("allowed")),
            self._texts(_causes(self.response)),
            self._texts(self.response.get("warnings") or ()),
            after,
        )

    def _texts(self, texts: Iterable[str]) -> frozenset[str]:
        """What is compared of denials or warnings; of redacted requests by whom they are."""
        return frozenset(map(without_text, texts) if self.redacted else texts)


def read_line(line: bytes) -> Recorded:
    """One line of a capture; raises ReviewError."""
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
    """The differences, the most important ones first."""
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
    """Whose denial or warning it is: every one begins with the name in quotes."""
    named = _NAMED.search(text)
    return named.group(1) if named else ""


def _causes(response: JSONObject) -> tuple[str, ...]:
    """The messages of a denial, one for each violation; none for what is allowed."""
    if response.get("allowed"):
        return ()
    status = response.get("status") or {}
    causes = (status.get("details") or {}).get("causes") or [status]
    return tuple(str(cause.get("message", "")) for cause in causes)
