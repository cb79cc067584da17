"""Recorder: the interface through which the engine and the endpoints report what happened.

Nothing here knows how it is shown; Prometheus and the log are one implementation
(``observability/metrics.py``). Durations are nanoseconds of ``perf_counter_ns``. What is counted
once per policy and request is not reported here: it lives in the core as plain integers.
"""

from typing import Literal, Protocol

from policyd.admission.review import AdmissionRequest

RequestResult = Literal["allowed", "denied", "error", "shed", "bad_request"]
Phase = Literal["decode", "queue", "match", "lookup", "evaluate", "patch", "encode"]
ShedReason = Literal["requests", "bytes", "stalled", "deadline"]
LookupKind = Literal["authorizer", "namespace", "param", "kind", "definition"]
LookupResult = Literal["success", "error", "timeout"]
Happening = Literal["denial", "warning", "error", "conflict"]


class Recorder(Protocol):
    """Takes notes; never fails, never waits. Every method is cheap enough for the request path."""

    def request(
        self, webhook: str, operation: str, result: RequestResult, nanoseconds: int
    ) -> None:
        """A request was answered; ``operation`` is empty where none could be read."""

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """One phase of one request ended."""

    def shed(self, reason: ShedReason) -> None:
        """A request was refused for lack of room, or came too late to be evaluated."""

    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """A lookup in the cluster ended."""

    def reload(self, succeeded: bool) -> None:
        """A new set of policies was taken into use, or refused."""

    def patch_operations(self, policy: str, count: int) -> None:
        """A policy changed the object by ``count`` operations."""

    def mutation_conflict(self, policy: str) -> None:
        """A policy changed again what another one had changed."""

    def happened(
        self,
        what: Happening,
        request: AdmissionRequest,
        *,
        policy: str,
        generation: str,
        message: str,
    ) -> None:
        """A policy denied, warned, failed or changed another's work: one line of the log."""


class NullRecorder:
    """Forgets everything: for the command line, for tests and for benchmarks of the engine."""

    def request(
        self, webhook: str, operation: str, result: RequestResult, nanoseconds: int
    ) -> None:
        """Forgotten."""

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """Forgotten."""

    def shed(self, reason: ShedReason) -> None:
        """Forgotten."""

    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """Forgotten."""

    def reload(self, succeeded: bool) -> None:
        """Forgotten."""

    def patch_operations(self, policy: str, count: int) -> None:
        """Forgotten."""

    def mutation_conflict(self, policy: str) -> None:
        """Forgotten."""

    def happened(
        self,
        what: Happening,
        request: AdmissionRequest,
        *,
        policy: str,
        generation: str,
        message: str,
    ) -> None:
        """Forgotten."""
