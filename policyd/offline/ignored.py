"""Events without an effect on the answer: errors that failurePolicy Ignore drops, and mutations
that rollouts do not apply. Decides nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from policyd.admission.decision import Finding
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest


class IgnoredError(NamedTuple):
    """An error of a policy that had no effect on the answer; ``field``: see ``Violation``."""

    policy: str
    message: str
    field: str = ""


class UnappliedMutation(NamedTuple):
    """The places that a policy would change, and why its rollout does not enforce it."""

    policy: str
    places: str
    rollout: str


class EffectRecorder(Recorder):
    """Records the errors and the held mutations of all policies for one request."""

    def __init__(self) -> None:
        self._errors: list[IgnoredError] = []
        self.held: list[UnappliedMutation] = []

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Record an error or a mutation that is not applied."""
        if event.what == "error":
            self._errors.append(IgnoredError(event.policy, event.message))
        elif event.what == "would_mutate":
            self.held.append(UnappliedMutation(event.policy, event.message, event.rollout))

    def ignored(self, findings: Sequence[Finding]) -> list[IgnoredError]:
        """Return the errors that are not among the findings, each once."""
        counted = {(each.policy.name, each.message) for each in findings if each.error}
        return [each for each in dict.fromkeys(self._errors) if each[:2] not in counted]
