"""The way from a public request to the engine and back: all that the public API knows of it.

Decides nothing; the engine and its findings are those of the server.
"""

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple, cast

from policyd._core.patch.apply import apply
from policyd.admission import engine
from policyd.admission.authorizer import Authorizer
from policyd.admission.decision import Finding, Verdict
from policyd.admission.engine import PolicyFilter, Webhook
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode, encode, to_dict
from policyd.admission.with_cluster import review_with
from policyd.api.lookups import LookupCluster, Lookups
from policyd.api.result import Action, PolicyViolation, ReviewResult
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.policy_set import PolicySet as CompiledSet

__all__ = ["Call", "CompiledSet", "Evaluator", "Result", "Webhook", "call_of", "encode", "to_dict"]

WEBHOOKS: tuple[Webhook, ...] = ("mutate", "validate")


class Call(NamedTuple):
    """One call of a webhook. ``deadline`` is a moment of perf_counter_ns (0: none); ``verdict``
    gets the findings behind the answer; ``only`` chooses policies.
    """

    request: AdmissionRequest
    webhook: Webhook
    deadline: int = 0
    verdict: Verdict | None = None
    recorder: Recorder | None = None
    only: PolicyFilter | None = None


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Compiled policies, and who answers what they ask of the authorizer."""

    policies: CompiledSet
    authorizer: Authorizer | None = None

    @property
    def asking(self) -> Container[str]:
        """The webhooks whose policies may need lookups."""
        return self.policies.asking

    def answer(self, call: Call) -> AdmissionResponse:
        """The answer, from what is known without looking anything up."""
        return engine.review(
            self.policies,
            call.request,
            webhook=call.webhook,
            deadline=call.deadline,
            recorder=call.recorder,
            only=call.only,
            authorizer=self.authorizer,
            verdict=call.verdict,
        )

    async def look_up(self, call: Call, lookups: Lookups | None) -> AdmissionResponse:
        """The answer, after looking up what policies of that webhook need."""
        if lookups is None or call.webhook not in self.asking:
            return self.answer(call)
        return await review_with(
            LookupCluster(lookups, self.authorizer),
            self.policies,
            call.request,
            webhook=call.webhook,
            deadline=call.deadline,
            recorder=call.recorder,
            only=call.only,
            verdict=call.verdict,
        )


def call_of(review: Mapping[str, JSON] | bytes, webhook: str, timeout: float | None) -> Call:
    """The call of one webhook. Raises ReviewError for what is no AdmissionReview, TypeError and
    ValueError for arguments of other types and values.
    """
    return Call(_request(review), _webhook(webhook), _deadline(timeout))


class Result:
    """Gathers the ReviewResult of one request from the answers of its webhooks."""

    def __init__(
        self, review: Mapping[str, JSON] | bytes, webhook: str | None, timeout: float | None
    ) -> None:
        self._webhooks = WEBHOOKS if webhook is None else (_webhook(webhook),)
        self._deadline = _deadline(timeout)
        self._request = _request(review)
        self._response = AdmissionResponse(self._request.uid, True)
        self._warnings: list[str] = []
        self._annotations: dict[str, str] = {}
        self._patch: list[JSONObject] = []
        self._violations: list[PolicyViolation] = []

    def calls(self) -> Iterator[Call]:
        """The calls that the API server makes: each one sees what the one before it changed, and a
        denial is the last.
        """
        for webhook in self._webhooks:
            if self._response.allowed:
                yield Call(self._request, webhook, self._deadline, Verdict())

    def add(self, call: Call, response: AdmissionResponse) -> None:
        """Take in the answer to a call."""
        self._response = response
        self._warnings += response.warnings
        self._annotations |= response.audit_annotations
        if call.verdict is not None:
            self._violations += map(_violation, call.verdict.findings)
        if response.patch is not None:
            self._patch = json.loads(response.patch)
            changed = apply(self._patch, self._request.object)
            raw = {**self._request.raw, "object": changed}
            self._request = AdmissionRequest(raw, self._request.unreadable)

    def finish(self) -> ReviewResult:
        """The result of all calls."""
        last, denied = self._response, not self._response.allowed
        return ReviewResult(
            allowed=last.allowed,
            code=last.code if denied else 0,
            reason=last.reason if denied else "",
            message=last.message if denied else "",
            warnings=tuple(self._warnings),
            audit_annotations=self._annotations,
            patch=self._patch,
            object=self._request.object,
            violations=tuple(self._violations),
        )


def _violation(finding: Finding) -> PolicyViolation:
    return PolicyViolation(
        policy=finding.policy.name,
        kind=finding.policy.kind,
        binding=finding.binding or "",
        message=finding.message,
        reason=finding.reason,
        actions=cast(tuple[Action, ...], finding.actions),
        index=finding.index,
        error=finding.error,
    )


def _request(review: Mapping[str, JSON] | bytes) -> AdmissionRequest:
    if isinstance(review, bytes):
        return decode(review)
    if isinstance(review, Mapping):
        return decode(dict(review))
    raise TypeError(f"expected an AdmissionReview as bytes or dict, got {type(review).__name__}")


def _deadline(timeout: float | None) -> int:
    return 0 if timeout is None else perf_counter_ns() + int(timeout * 1e9)


def _webhook(name: str) -> Webhook:
    for webhook in WEBHOOKS:
        if name == webhook:
            return webhook
    raise ValueError(f"webhook must be 'validate' or 'mutate', not {name!r}")
