"""Compare a recorded decision with the decision of other policies for the same request. Reads no
files.

A recorded line is an AdmissionReview with a request. ``policyd serve --capture`` adds the response
and, under ``captured``, the webhook; other recorders add neither.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import orjson

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply
from policyd.admission.confidential import without_text
from policyd.admission.decision import annotation_key
from policyd.admission.lookups.recorded_reads import RecordedReads
from policyd.admission.review import Cause
from policyd.errors import ReviewError
from policyd.json_types import JSON, JSONObject
from policyd.offline.admitting import BOTH, Admission, Admitter
from policyd.policy.model.suite import Webhook

What = Literal[
    "now denied", "now enforced", "now admitted", "no longer enforced", "would deny", "would admit",
    "would mutate", "would not mutate", "other reasons", "other warnings", "other object",
    "not recorded",
]  # fmt: skip
WHAT: tuple[What, ...] = get_args(What)  # the most important ones first
# The audit annotation of a policy that its rollout does not enforce: ``would_deny: why``.
_ANNOTATION = "rollout."
_HELD = ("would_deny", "would_mutate")
_NAMED = re.compile(r"""policy ['"]([^'"]+)['"]""", re.IGNORECASE)
_WEBHOOKS: Mapping[JSON, tuple[Webhook, ...]] = {"mutate": ("mutate",), "validate": ("validate",)}


@dataclass(frozen=True, slots=True)
class ComparedDecision:
    """The comparable part of a response; ``reasons`` are the texts of a denial's causes. ``held``
    has the decisions that rollouts do not enforce, ``would_deny`` and ``would_mutate``, each with
    its policy's name in audit annotations. ``unknown`` has the policies whose reads were not
    recorded, with the reason: their decisions are not compared.
    """

    allowed: bool
    reasons: frozenset[str]
    warnings: frozenset[str]
    after: JSON
    held: frozenset[tuple[str, str]] = frozenset()
    unknown: Mapping[str, str] = field(default_factory=dict)

    def would(self, decision: str) -> frozenset[str]:
        """Return the policies with this decision."""
        return frozenset(policy for what, policy in self.held if what == decision)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """One difference between two decisions, and its message. ``policy`` is empty if no single
    policy caused it. ``now enforced``: a denial that was ``would_deny``.
    """

    what: What
    policy: str
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A line of a capture. ``response`` is None if none was recorded. For ``redacted`` requests,
    the policies' own messages and the mutated objects are not compared. ``reads`` has the other
    objects that policies saw.
    """

    review: JSONObject
    webhooks: tuple[Webhook, ...]
    response: JSONObject | None
    redacted: bool = False
    reads: JSON = None

    @property
    def request(self) -> JSONObject:
        """Return the AdmissionRequest."""
        request = self.review["request"]
        return request if isinstance(request, dict) else {}

    @property
    def label(self) -> str:
        """Describe the request, like ``UPDATE Pod shop/web by alice``."""
        request = self.request
        kind = (request.get("kind") or {}).get("kind", "")
        if request.get("subResource"):
            kind += f"/{request['subResource']}"
        name = "/".join(filter(None, (request.get("namespace"), request.get("name"))))
        user = (request.get("userInfo") or {}).get("username", "")
        return f"{request.get('operation')} {kind} {name} by {user}"

    def evaluated(self, admitter: Admitter) -> ComparedDecision:
        """Return the decision of these policies; ReviewError if this is not an AdmissionReview."""
        reads = RecordedReads(self.reads)
        admission = replace(admitter, reads=reads).admit(self.review, self.webhooks)
        after = None if self.redacted else admission.after
        return ComparedDecision(
            admission.allowed,
            self._reasons(admission.causes),
            self._texts(admission.warnings),
            after,
            frozenset(_held_in(admission)),
            {
                policy.name: why
                for policy in admitter.policies.policies
                if policy.name in admission.matched and (why := reads.missing(policy.reads))
            },
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
            frozenset(_annotated(self.response.get("auditAnnotations"))),
        )

    def _reasons(self, causes: Iterable[Cause]) -> frozenset[str]:
        """Return denials for comparison; denials of redacted requests were recorded without
        field.
        """
        return self._texts(each.message if self.redacted else each.text for each in causes)

    def _texts(self, texts: Iterable[str]) -> frozenset[str]:
        """Return denials or warnings for comparison; for redacted requests their policies only."""
        return frozenset(map(without_text, texts) if self.redacted else texts)


def read_line(line: bytes) -> Recorded:
    """Parse one line of a capture; raises ReviewError."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReviewError(f"not JSON at column {error.colno}: {error.msg}") from None
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
        captured.get("reads"),
    )


def changes(before: ComparedDecision, after: ComparedDecision) -> list[DecisionChange]:
    """Return the differences, the most important ones first."""
    unknown = {**before.unknown, **after.unknown}
    if not unknown:
        return _differences(before, after)
    kept = [
        each
        for each in _differences(before, after)
        if each.policy not in unknown and each.what != "other object"
    ]
    return kept + [DecisionChange("not recorded", *each) for each in sorted(unknown.items())]


def _differences(before: ComparedDecision, after: ComparedDecision) -> list[DecisionChange]:
    would, will = before.would("would_deny"), after.would("would_deny")
    new, gone = after.reasons - before.reasons, before.reasons - after.reasons
    enforced = {each for each in new if _annotated_policy(each) in would}
    held = {each for each in gone if _annotated_policy(each) in will}
    found = [*_each("now enforced", enforced), *_each("no longer enforced", held)]
    shown = {_annotated_policy(each) for each in (*enforced, *held)}
    if before.allowed and not after.allowed:
        found += _each("now denied", new - enforced)
    elif after.allowed and not before.allowed:
        found += _each("now admitted", gone - held)
    else:
        found += _each("other reasons", new - enforced)
        found += _each("other reasons", gone - held, "no longer: ")
    found += _each_named("would deny", "it would deny", will - would - shown)
    found += _each_named("would admit", "it would no longer deny", would - will - shown)
    both = before.allowed and after.allowed
    differs = both and not equal(before.after, after.after)
    found += _mutations(before.would("would_mutate"), after.would("would_mutate"), differs)
    if both:
        found += _between("other warnings", before.warnings, after.warnings)
    if differs:
        found.append(DecisionChange("other object", "", "the mutated object differs"))
    return found


def _mutations(
    before: frozenset[str], after: frozenset[str], differs: bool
) -> Iterator[DecisionChange]:
    """Yield the differences of mutations that were not applied, or are no longer applied."""
    new, gone = after - before, before - after
    if differs:
        yield from _each_named("now enforced", "its mutation is applied", gone)
        yield from _each_named("no longer enforced", "its mutation is not applied", new)
    else:
        yield from _each_named("would mutate", "it would mutate the object", new)
        yield from _each_named("would not mutate", "it would not mutate the object", gone)


def _held_in(admission: Admission) -> Iterator[tuple[str, str]]:
    """Yield the decisions that rollouts hold, with their policies as annotations name them."""
    for violation in admission.violations:
        if violation.rollout:
            yield "would_deny", _in_annotations(violation.policy)
    for held in admission.held:
        yield "would_mutate", _in_annotations(held.policy)


def _annotated(annotations: JSON) -> Iterator[tuple[str, str]]:
    """Yield the held decisions in the audit annotations of a response."""
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        decision = str(value).partition(":")[0]
        if key.startswith(_ANNOTATION) and decision in _HELD:
            yield decision, key.removeprefix(_ANNOTATION)


def _in_annotations(policy: str) -> str:
    """Return the name of a policy as in annotation keys, which cut long names."""
    return annotation_key(f"{_ANNOTATION}{policy}").removeprefix(_ANNOTATION)


def _annotated_policy(text: str) -> str:
    return _in_annotations(_policy_in(text))


def _between(what: What, before: frozenset[str], after: frozenset[str]) -> list[DecisionChange]:
    return [*_each(what, after - before), *_each(what, before - after, "no longer: ")]


def _each_named(what: What, message: str, policies: AbstractSet[str]) -> list[DecisionChange]:
    return [DecisionChange(what, policy, message) for policy in sorted(policies)]


def _each(what: What, texts: AbstractSet[str], prefix: str = "") -> list[DecisionChange]:
    return [DecisionChange(what, _policy_in(text), prefix + text) for text in sorted(texts)]


def _policy_in(text: str) -> str:
    """Return the policy of a denial or warning, which begins with its name in quotes."""
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
