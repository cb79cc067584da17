"""The Recorder that counts; on the request path it changes only integers."""

import logging
from collections.abc import Callable, Sequence
from time import time
from typing import get_args

from policyd._core.counting.counters import Histogram
from policyd.admission.recorder import (
    LookupKind,
    LookupResult,
    Phase,
    PolicyEvent,
    Recorder,
    RecordingPart,
    RequestResult,
    ShedReason,
)
from policyd.admission.review import AdmissionRequest
from policyd.observability.logs import Log
from policyd.observability.recording import RecordingErrors, unfailing
from policyd.observability.throttle import LineLimit
from policyd.policy.model.match import OPERATIONS
from policyd.tls.handshakes import REFUSALS, Refusal

WEBHOOKS = ("validate", "mutate")
PHASES: tuple[Phase, ...] = get_args(Phase)
QUESTIONS: tuple[LookupKind, ...] = get_args(LookupKind)
LOOKUP_RESULTS: tuple[LookupResult, ...] = get_args(LookupResult)
# Results of requests whose operation is known, and of those that were not evaluated.
RESULTS: tuple[RequestResult, ...] = ("allowed", "denied", "error")
UNREAD_RESULTS: tuple[RequestResult, ...] = ("shed", "bad_request", "error")
CAPTURES = ("written", "dropped", "failed")
# Results of writes by controllers; conflict: another client changed policyd's object.
WRITES = ("success", "error", "conflict")
EDITS = ("accepted", "refused", "error")
SHED_REASONS: tuple[ShedReason, ...] = get_args(ShedReason)

# Log lines per minute about rejected requests of one status, each about another client.
REJECTED_LINES = 5
REJECTED_SECONDS = 60.0

# Seconds: from a response without any policy to the longest timeout of the API server.
DURATIONS = (
    50e-6,
    100e-6,
    250e-6,
    500e-6,
    1e-3,
    2.5e-3,
    5e-3,
    10e-3,
    25e-3,
    50e-3,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
)
# Phases are shorter: from 5 µs.
PHASE_DURATIONS = (5e-6, 10e-6, 25e-6, *DURATIONS)


# Called with each event of a policy.
EventListener = Callable[[AdmissionRequest, PolicyEvent], None]


def _unknown() -> None:
    """Return None: the state is not known."""


def _report(message: str, trace: str) -> None:
    """Report a failure to record something if there is no log of policyd."""
    logging.getLogger("policyd.recording").error("%s\n%s", message, trace)


class PrometheusRecorder(Recorder):
    """Counts events, and logs those that people need to see. All known labels exist from the start:
    ``increase()`` misses the first event of a new series.

    No method of a Recorder raises: ``errors`` counts failures.
    """

    def __init__(self, log: Log | None = None) -> None:
        self._log = log
        self.errors = RecordingErrors(_report) if log is None else log.errors
        # They must be quick: a request waits for them.
        self.listeners: dict[RecordingPart, EventListener] = {}
        self._rejected_lines = LineLimit(REJECTED_LINES, REJECTED_SECONDS)
        self.requests: dict[tuple[str, str, str], int] = {
            (webhook, operation, result): 0
            for webhook in WEBHOOKS
            for operation, results in (
                *((each, RESULTS) for each in OPERATIONS),
                ("", UNREAD_RESULTS),
            )
            for result in results
        }
        self.durations = {webhook: Histogram(DURATIONS) for webhook in WEBHOOKS}
        self.phases = {phase: Histogram(PHASE_DURATIONS) for phase in PHASES}
        self.sheds = dict.fromkeys(SHED_REASONS, 0)
        self.lookups: dict[tuple[str, str], int] = {
            (question, result): 0 for question in QUESTIONS for result in LOOKUP_RESULTS
        }
        self.lookup_durations = {question: Histogram(DURATIONS) for question in QUESTIONS}
        self.captures = dict.fromkeys(CAPTURES, 0)
        self.refusals = dict.fromkeys(REFUSALS, 0)
        self.reloads = {"success": 0, "error": 0}
        self.edits = dict.fromkeys(EDITS, 0)
        self.last_successful_reload = 0.0
        self.last_reload_succeeded = False
        self.patches: dict[str, int] = {}
        self.conflicts: dict[str, int] = {}
        # Outcomes of traced requests; empty without tracing.
        self.traces: dict[str, int] = {}
        # Requests without a valid token of an API server, by cause; empty if none is required.
        self.unauthenticated: dict[str, int] = {}
        # Outcomes of denials that are reported as Events; empty without --events.
        self.events: dict[str, int] = {}
        # The counts and the state of controllers; None without such a controller.
        self.registrations = dict.fromkeys(WRITES, 0)
        self.rotations = {"success": 0, "error": 0}
        self.leads: Callable[[], bool] | None = None
        self.unreached: Callable[[], int | None] = _unknown
        self.placements = dict.fromkeys(WRITES, 0)
        # Where each part of each policy runs: (policy, webhook, engine).
        self.placed: Callable[[], Sequence[tuple[str, str, str]]] | None = None

    @unfailing("recorder")
    def request(
        self, webhook: str, operation: str, result: RequestResult, nanoseconds: int
    ) -> None:
        """A request was answered."""
        key = (webhook, operation, result)
        self.requests[key] = self.requests.get(key, 0) + 1
        self.durations[webhook].observe(nanoseconds)
        if self._log is not None:
            self._log.flush()

    @unfailing("recorder")
    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """One phase of a request ended."""
        self.phases[phase].observe(nanoseconds)

    @unfailing("recorder")
    def shed(self, reason: ShedReason) -> None:
        """A request was refused for lack of room, or arrived too late to be evaluated."""
        self.sheds[reason] += 1

    @unfailing("recorder")
    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """A lookup in the cluster ended."""
        self.lookups[what, result] += 1
        self.lookup_durations[what].observe(nanoseconds)

    @unfailing("recorder")
    def captured(self, outcome: str) -> None:
        """A request was captured or dropped; called by the capturing thread."""
        self.captures[outcome] += 1

    @unfailing("recorder")
    def refused(self, reason: Refusal) -> None:
        """A client was refused before it could send a request."""
        self.refusals[reason] += 1

    @unfailing("recorder")
    def reload(self, succeeded: bool) -> None:
        """A new policy set was loaded, or could not be."""
        self.reloads["success" if succeeded else "error"] += 1
        self.last_reload_succeeded = succeeded
        if succeeded:
            self.last_successful_reload = time()

    @unfailing("recorder")
    def edited(self, result: str) -> None:
        """An edit of a ConfigMap with policies was checked."""
        self.edits[result] += 1

    @unfailing("recorder")
    def patch_operations(self, policy: str, count: int) -> None:
        """A policy changed the object with ``count`` operations."""
        self.patches[policy] = self.patches.get(policy, 0) + count

    @unfailing("recorder")
    def mutation_conflict(self, policy: str) -> None:
        """A policy changed a field that another policy had changed."""
        self.conflicts[policy] = self.conflicts.get(policy, 0) + 1

    @unfailing("recorder")
    def rejected(self, status: int, peer: str, path: str, reason: str) -> None:
        """A request was answered with an error instead of a review: log some of them. Requests that
        were refused for lack of room have a line for each reason.
        """
        if self._log is None:
            return
        kind = (peer, reason) if status == 503 else peer
        suppressed = self._rejected_lines.take(status, kind)
        if suppressed is not None:
            self._log.write(
                "warning",
                "rejected",
                reason,
                status=status or None,
                peer=peer,
                path=path,
                suppressed=suppressed or None,
            )

    @unfailing("recorder")
    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """A policy denied, warned, failed, changed another policy's work or was lifted: log it."""
        if self._log is not None:
            self._log.about(request, event)
        for part, listener in self.listeners.items():
            try:
                listener(request, event)
            except Exception as error:
                self.errors.note(part, error)

    def unrecorded(self, part: RecordingPart, error: Exception) -> None:
        """Something could not be recorded."""
        self.errors.note(part, error)
