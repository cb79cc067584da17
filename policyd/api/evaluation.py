"""Call the engine for a public request and convert the result. No other part of the public API
does.

Decides nothing: the server has the same engine and findings.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple, cast

from policyd.admission import engine
from policyd.admission.decision import Finding, Verdict
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode
from policyd.admission.with_cluster import review_with
from policyd.api.lookups import LookupCluster, Lookups
from policyd.api.result import Action, PolicyViolation, ReviewResult
from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSON
from policyd.offline.admitting import BOTH, Turns, WebhookAnswer
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook


class WebhookCall(NamedTuple):
    """One call of a webhook. ``deadline`` is a ``perf_counter_ns`` time (0: none); ``verdict``
    receives the findings; ``only`` selects policies.
    """

    request: AdmissionRequest
    webhook: Webhook
    deadline: int = 0
    verdict: Verdict | None = None
    recorder: Recorder | None = None
    only: PolicyFilter | None = None


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Compiled policies, and the authorizer for their checks."""

    policies: CompiledPolicySet
    authorizer: Authorizer | None = None

    @property
    def with_lookups(self) -> Container[str]:
        """The webhooks whose policies may need lookups."""
        return self.policies.with_lookups

    def answer(self, call: WebhookCall) -> AdmissionResponse:
        """Return the response without looking anything up."""
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

    async def look_up(self, call: WebhookCall, lookups: Lookups | None) -> AdmissionResponse:
        """Return the response after the lookups that policies of that webhook need."""
        if lookups is None or call.webhook not in self.with_lookups:
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


def call_of(review: Mapping[str, JSON] | bytes, webhook: str, timeout: float | None) -> WebhookCall:
    """Return the call of one webhook. Raises ReviewError if ``review`` is not an AdmissionReview,
    TypeError and ValueError for other invalid arguments.
    """
    return WebhookCall(_request(review), _webhook(webhook), _deadline(timeout))


class Result:
    """Builds the ReviewResult of one request from the responses of its webhooks. ``defaults`` are
    added after mutations, as by the API server; None adds none.
    """

    def __init__(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: str | None,
        timeout: float | None,
        defaults: Defaults | None,
    ) -> None:
        webhooks = BOTH if webhook is None else (_webhook(webhook),)
        self._turns = Turns(_request(review), webhooks, defaults, built=False)
        self._deadline = _deadline(timeout)
        self._answers: list[WebhookAnswer] = []
        self._violations: list[PolicyViolation] = []

    def calls(self) -> Iterator[WebhookCall]:
        """Yield the calls that the API server makes: each one sees the changes of the previous one,
        and a denial is the last.
        """
        for request, webhook in self._turns:
            yield WebhookCall(request, webhook, self._deadline, Verdict())

    def add(self, call: WebhookCall, response: AdmissionResponse) -> None:
        """Add the response to a call."""
        self._answers.append(self._turns.add(response))
        if call.verdict is not None:
            self._violations += map(_violation, call.verdict.findings)

    def finish(self) -> ReviewResult:
        """Return the combined result of all calls."""
        responses = [each.response for each in self._answers]
        last, denied = responses[-1], not responses[-1].allowed
        annotations: dict[str, str] = {}
        for response in responses:
            annotations |= response.audit_annotations
        return ReviewResult(
            allowed=last.allowed,
            code=last.code if denied else 0,
            reason=last.reason if denied else "",
            message=last.message if denied else "",
            warnings=tuple(each for response in responses for each in response.warnings),
            audit_annotations=annotations,
            patch=[each for answer in self._answers for each in answer.operations],
            object=self._answers[-1].after,
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
        rollout=finding.rollout,
        field=finding.field,
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
    for webhook in BOTH:
        if name == webhook:
            return webhook
    raise ValueError(f"webhook must be 'validate' or 'mutate', not {name!r}")
