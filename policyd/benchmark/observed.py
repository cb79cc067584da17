"""Evaluate calls while an Observer watches, and the time that each mutating policy takes in the
midst of the others. Measures nothing else.
"""

from time import perf_counter_ns

from policyd.admission.applicable import Applicable
from policyd.admission.engine import evaluate
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.observer import Observer
from policyd.admission.recorder import Recorder
from policyd.admission.review import decode
from policyd.admission.subject import Subjects
from policyd.benchmark.census import SortKey
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.policy.compile.policy_set import CompiledPolicySet


def observe(
    policies: CompiledPolicySet,
    call: WebhookRequest,
    observer: Observer,
    authorizer: Authorizer | None,
) -> None:
    """Evaluate one call."""
    request = decode(call.body)
    subjects = Subjects(request, policies.namespaces, authorizer)
    applicable = Applicable(policies, subjects, policies.params, call.webhook)
    matches = applicable.match(None)
    findings = Findings(request, call.webhook, policies.generation, Recorder(), observer)
    evaluate(applicable, findings, matches, 0)


class MutationTimes(Observer):
    """The nanoseconds of each mutating policy: its expressions, and applying what they return."""

    def __init__(self) -> None:
        self.nanoseconds: dict[SortKey, int] = {}
        self._since = 0

    def applies(self, invocation: Invocation) -> None:
        """All policies of a round are found before the first one is invoked."""
        self._since = perf_counter_ns()

    def invoked(self, invocation: Invocation, *, again: bool, passed_over: bool) -> None:
        """A policy ends where the next one begins."""
        now = perf_counter_ns()
        key = invocation.policy.sort_key
        self.nanoseconds[key] = self.nanoseconds.get(key, 0) + now - self._since
        self._since = now
