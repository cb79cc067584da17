"""Collect the findings of policies for one request, count them and log them. A bug in policyd
becomes a finding of the policy in which it occurs, so that its failurePolicy decides.

Evaluates nothing. ``decision.py`` builds the response from the findings.
"""

import logging
from collections.abc import Callable
from typing import Literal, TypeVar, TypeVarTuple

from policyd._core.counting.counters import ADMIT, AUDIT, DENY, ERROR, TIMEOUT, WARN
from policyd._core.plan.plan import Stopped, TimedOut
from policyd._core.plan.validation import ValidationOutcome
from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.decision import Finding, Verdict
from policyd.admission.observer import Observer
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest
from policyd.errors import StatusError, Unanswered
from policyd.policy.compile.compiled import Binding, CompiledPolicy
from policyd.policy.model.suite import Webhook
from policyd.texts import bounded

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")
_log = logging.getLogger("policyd.engine")


class Findings:
    """The findings for one request, in the order of decisions. Findings of policies after one that
    waits for a lookup are collected apart (``following``) and added when it is done (``join``).

    ``verdict`` receives the data for the response; ``noted`` receives the findings in its place.
    """

    __slots__ = (
        *("request", "webhook", "generation", "recorder", "observer", "verdict"),
        "_noted",
    )

    def __init__(
        self,
        request: AdmissionRequest,
        webhook: Webhook,
        generation: str,
        recorder: Recorder,
        observer: Observer | None = None,
        *,
        verdict: Verdict | None = None,
        noted: list[Finding] | None = None,
    ) -> None:
        self.request = request
        self.webhook = webhook
        self.generation = generation
        self.recorder = recorder
        self.observer = observer
        self.verdict = Verdict() if verdict is None else verdict
        self._noted = self.verdict.findings if noted is None else noted

    def following(self) -> "Findings":
        """Return findings for the policies after the last evaluated one; ``join`` adds them."""
        return Findings(
            self.request,
            self.webhook,
            self.generation,
            self.recorder,
            self.observer,
            verdict=self.verdict,
            noted=[],
        )

    def join(self, following: "Findings") -> None:
        """Add the findings of later policies."""
        self._noted += following._noted

    def misconfigured(self, policy: CompiledPolicy, text: str, binding: str | None) -> None:
        """Add a configuration error: denies whatever the actions, unless failurePolicy is
        Ignore.
        """
        policy.counters.count(ERROR)
        text = bounded(text)
        if self.webhook == "mutate":
            finding = Finding(policy, binding, text, "Forbidden", code=403, error=True)
        else:
            finding = Finding(policy, binding, text, error=True)
        self._add(finding, policy.fail)

    def failed(self, policy: CompiledPolicy, binding: Binding, error: str | Stopped) -> None:
        """Add an evaluation error: follows the binding's actions, unless failurePolicy is
        Ignore.
        """
        policy.counters.count(TIMEOUT if isinstance(error, TimedOut) else ERROR)
        actions, code = (("Deny",), 403) if self.webhook == "mutate" else (binding.actions, 0)
        name = None if policy.kind == "Policy" else binding.name
        text = bounded(str(error))
        finding = Finding(policy, name, text, actions=actions, code=code, error=True)
        self._add(finding, policy.fail)

    def validated(
        self, policy: CompiledPolicy, binding: Binding, outcome: ValidationOutcome
    ) -> None:
        """Add the outcome of a policy's validations under one binding and param."""
        name = None if policy.kind == "Policy" else binding.name
        for index, text, reason, error in outcome.failures:
            self._add(
                Finding(policy, name, bounded(text), reason, index, binding.actions, error=error),
                True,
            )
        for text in outcome.annotation_errors:
            self._add(Finding(policy, name, bounded(text), error=True), True)
        for text in outcome.ignored:
            self._add(Finding(policy, name, bounded(text), error=True), False)
        for key, value in outcome.annotations:
            self.verdict.annotate(policy.name, key, value)
        policy.counters.count(_decision(outcome, binding.actions))

    def guarded(
        self, policy: CompiledPolicy, work: Callable[[*_Arguments], _Result], *args: *_Arguments
    ) -> _Result | None:
        """Return the result of ``work``; a bug in policyd follows the policy's failurePolicy."""
        try:
            return work(*args)
        except (StatusError, Unanswered):
            raise
        except Exception as error:
            self.broken(policy, error)
            return None

    def broken(self, policy: CompiledPolicy, error: Exception) -> None:
        """Log a bug in policyd once; the policy's failurePolicy decides."""
        if is_confidential(self.request):
            # The traceback shows only code; the error's message may quote the object.
            shown = RuntimeError(f"{type(error).__name__}: {WITHHELD}")
            error = shown.with_traceback(error.__traceback__)
        _log.error("policy %s: internal error", policy.name, exc_info=error)
        self.misconfigured(policy, "internal error: see the log of policyd", None)

    def _add(self, finding: Finding, counts: bool) -> None:
        """Add a finding; one that failurePolicy Ignore drops is only logged."""
        if counts:
            self._noted.append(finding)
        if self.observer is not None:
            self.observer.found(finding, counts)
        what: Literal["denial", "warning", "error"] = "denial"
        if finding.error:
            what = "error"
        elif "Deny" not in finding.actions:
            if "Warn" not in finding.actions:
                return
            what = "warning"
        self.recorder.happened(
            what,
            self.request,
            policy=finding.policy.name,
            generation=self.generation,
            message=finding.message,
        )


def _decision(outcome: ValidationOutcome, actions: tuple[str, ...]) -> int:
    """Return the counter of a policy's decision (``_core/counting/counters.pxd``)."""
    if outcome.timed_out:
        return TIMEOUT
    if outcome.annotation_errors or outcome.ignored or any(f[3] for f in outcome.failures):
        return ERROR
    if not outcome.failures:
        return ADMIT
    if "Deny" in actions:
        return DENY
    return WARN if "Warn" in actions else AUDIT
