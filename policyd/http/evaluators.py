"""The interface to the evaluation of webhook calls, at once or after lookups."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.model.suite import Webhook


class ReviewCall(NamedTuple):
    """One call of a webhook. ``deadline`` is a ``perf_counter_ns`` time; ``only`` selects policies
    (None: all); ``reads`` records the objects that they read, for a capture.
    """

    request: AdmissionRequest
    webhook: Webhook
    deadline: int
    recorder: Recorder
    only: PolicyFilter | None
    reads: SeenReads | None = None


class ReviewEvaluator(ABC):
    """Evaluates the calls of webhooks."""

    def waits(self, webhook: Webhook) -> bool:
        """Whether a call of this webhook may have to wait: then ``later`` evaluates it."""
        return False

    @abstractmethod
    def now(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call without waiting."""

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call, and wait for its lookups."""
        return self.now(call)
