"""Evaluates reviews with the policies in use, at once or with lookups in the cluster."""

from collections.abc import Callable
from dataclasses import dataclass

from policyd.admission.engine import review
from policyd.admission.lookups.tasks import LookupClient
from policyd.admission.review import AdmissionResponse
from policyd.admission.with_cluster import review_with
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

# ``admission.engine.review``, or a replacement in tests.
Evaluate = Callable[..., AdmissionResponse]


@dataclass(eq=False)
class PolicyEvaluator(ReviewEvaluator):
    """Evaluates calls with the policies that ``policies`` returns, and with a client's lookups."""

    policies: Callable[[], CompiledPolicySet]
    lookups: LookupClient | None = None
    evaluate: Evaluate = review

    def waits(self, webhook: Webhook) -> bool:
        """Whether a policy of this webhook may need a lookup."""
        return self.lookups is not None and webhook in self.policies().with_lookups

    def now(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call without lookups."""
        return self.evaluate(
            self.policies(),
            call.request,
            webhook=call.webhook,
            deadline=call.deadline,
            recorder=call.recorder,
            only=call.only,
            noted=call.reads,
        )

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call with lookups."""
        if self.lookups is None:
            return self.now(call)
        return await review_with(
            self.lookups,
            self.policies(),
            call.request,
            webhook=call.webhook,
            deadline=call.deadline,
            recorder=call.recorder,
            only=call.only,
            noted=call.reads,
        )
