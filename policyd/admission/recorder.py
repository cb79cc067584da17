"""Recorder: the interface through which the engine and the endpoints report events.

Independent of the output: ``observability/metrics/recorder.py`` implements it with Prometheus and
the log. Durations are nanoseconds of ``perf_counter_ns``. Counts per policy and request are not
reported here: the core keeps them as plain integers.
"""

from typing import Literal, NamedTuple

from policyd.admission.review import AdmissionRequest

RequestResult = Literal["allowed", "denied", "error", "shed", "bad_request"]
Phase = Literal["decode", "queue", "match", "lookup", "evaluate", "patch", "encode"]
ShedReason = Literal["requests", "bytes", "stalled", "queue", "deadline"]
LookupKind = Literal["authorizer", "namespace", "param", "kind", "definition", "read"]
LookupResult = Literal["success", "error", "timeout"]
Happening = Literal[
    "denial", "warning", "error", "conflict", "exemption", "would_deny", "would_mutate"
]
RequestEffect = Literal["denied", "admitted"]
# Counts and traces of requests, lines of the log, recent denials, Events, captured reviews, traces.
RecordingPart = Literal["recorder", "log", "denials", "events", "capture", "traces"]


class PolicyEvent(NamedTuple):
    """The effect of one policy on a request: one line of the log. ``effect`` is its effect on the
    request; other policies may still deny it.

    ``exception`` names the exception that lifted the policy. ``rollout`` is why the rollout of the
    policy does not enforce it for this request.
    """

    what: Happening
    policy: str
    message: str
    effect: RequestEffect
    generation: str
    exception: str = ""
    rollout: str = ""


class Recorder:
    """Records events; never fails, never waits. Every method is cheap enough for the hot path.

    This class records nothing: for the command line, tests and benchmarks of the engine.
    """

    def request(
        self, webhook: str, operation: str, result: RequestResult, nanoseconds: int
    ) -> None:
        """A request was answered; ``operation`` is empty if it could not be read."""

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """One phase of one request ended."""

    def shed(self, reason: ShedReason) -> None:
        """A request was rejected because of a capacity limit, or came too late to be evaluated."""

    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """A lookup in the cluster ended."""

    def reload(self, succeeded: bool) -> None:
        """A new set of policies was activated or rejected."""

    def patch_operations(self, policy: str, count: int) -> None:
        """A policy changed the object by ``count`` operations."""

    def mutation_conflict(self, policy: str) -> None:
        """A policy changed a value that another policy had set."""

    def rejected(self, status: int, peer: str, path: str, reason: str) -> None:
        """A request to the review port was answered with an error instead of a review."""

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """A policy denied, warned, failed, changed another's value, was lifted by an exception, or
        only because of its rollout did not deny or mutate.
        """

    def unrecorded(self, part: RecordingPart, error: Exception) -> None:
        """Something could not be recorded; the answer to the request is not affected."""
