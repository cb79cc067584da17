"""The errors that a failurePolicy of Ignore drops from an answer. Decides nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from policyd.admission.decision import Finding
from policyd.admission.recorder import NullRecorder, PolicyEvent
from policyd.admission.review import AdmissionRequest


class IgnoredError(NamedTuple):
    """An error of a policy that had no effect on the answer."""

    policy: str
    message: str


class ErrorRecorder(NullRecorder):
    """Records the errors of all policies for one request."""

    def __init__(self) -> None:
        self._errors: list[IgnoredError] = []

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Record an error."""
        if event.what == "error":
            self._errors.append(IgnoredError(event.policy, event.message))

    def ignored(self, findings: Sequence[Finding]) -> list[IgnoredError]:
        """Return the errors that are not among the findings, each once."""
        counted = {(each.policy.name, each.message) for each in findings if each.error}
        return [each for each in dict.fromkeys(self._errors) if each not in counted]
