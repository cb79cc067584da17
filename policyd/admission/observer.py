"""Observer: sees how a request is decided, one policy after the other, for those who explain it.

Changes nothing. Without an observer nothing is kept for one.
"""

from collections.abc import Sequence
from typing import Protocol

from policyd.admission.decision import Finding
from policyd.admission.invocation import Invocation
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import Binding, CompiledMutation, CompiledPolicy
from policyd.policy.compile.exemptions import Exemption


class Observer(Protocol):
    """Is called where something is decided, in this order for each policy."""

    def second_round(self) -> None:
        """The policies of the second round of mutations are about to be matched."""

    def exempted(self, policy: CompiledPolicy, exemptions: Sequence[Exemption]) -> None:
        """These exceptions of the policy apply to the request."""

    def matched_binding(self, policy: CompiledPolicy, binding: Binding, fits: bool) -> None:
        """Whether the binding's own rules fit the request."""

    def found_params(self, policy: CompiledPolicy, binding: Binding, count: int) -> None:
        """How many params the binding's paramRef means."""

    def applies(self, invocation: Invocation) -> None:
        """A policy is evaluated under a binding and a param: now, or in its turn if it mutates."""

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
        """One mutation made ``after`` of what the policy saw, or failed."""

    def invoked(
        self, invocation: Invocation, *, again: bool, passed_over: bool, refused: str
    ) -> None:
        """A mutating policy was invoked. ``again``: in the second round, ``passed_over``: where
        only errors of its matchConditions count. ``refused``: why the whole request fails.
        """

    def found(self, finding: Finding, counts: bool) -> None:
        """A policy has something against the request; False: failurePolicy Ignore drops it."""
