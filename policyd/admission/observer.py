"""Observer: receives each step of a decision, policy by policy, to explain it.

Changes nothing. Without an observer nothing is recorded.
"""

from collections.abc import Sequence

from policyd.admission.decision import Finding
from policyd.admission.invocation import Invocation
from policyd.admission.staging import Stage
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import Binding, CompiledMutation, CompiledPolicy
from policyd.policy.compile.exemptions import Exemption


class Observer:
    """Called at each step of the decision, in this order for each policy. Ignores all steps."""

    def second_round(self) -> None:
        """The policies of the second mutation round are about to be matched."""

    def staged(self, policy: CompiledPolicy, stage: Stage) -> None:
        """Whether the rollout of the policy enforces it for the request, and why."""

    def exempted(self, policy: CompiledPolicy, exemptions: Sequence[Exemption]) -> None:
        """These exceptions of the policy apply to the request."""

    def matched_binding(self, policy: CompiledPolicy, binding: Binding, fits: bool) -> None:
        """Whether the binding's own match rules match the request."""

    def found_params(self, policy: CompiledPolicy, binding: Binding, count: int) -> None:
        """The number of params that the binding's paramRef selects."""

    def applies(self, invocation: Invocation) -> None:
        """A policy is evaluated under a binding and param: now, or later if it mutates."""

    def validated(self, invocation: Invocation) -> None:
        """All validations of an invocation have been evaluated."""

    def mutated(
        self,
        invocation: Invocation,
        mutation: CompiledMutation,
        before: JSONObject,
        after: JSONObject,
        error: str,
    ) -> None:
        """One mutation turned ``before`` into ``after``, or failed with ``error``."""

    def invoked(self, invocation: Invocation, *, again: bool, passed_over: bool) -> None:
        """A mutating policy was invoked. ``again``: in the second round; ``passed_over``: only
        errors of its matchConditions count.
        """

    def found(self, finding: Finding, counts: bool) -> None:
        """A policy reported a finding; ``counts`` is False if failurePolicy Ignore drops it."""
