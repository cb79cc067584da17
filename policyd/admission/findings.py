"""Collects, counts and logs the findings of policies for one request. A bug in policyd becomes a
finding of the policy in which it occurs, so that its failurePolicy decides.

Evaluates nothing. ``decision.py`` builds the response from the findings.
"""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, TypeVarTuple

from policyd._core.counting.counters import (
    ADMIT,
    AUDIT,
    DENY,
    ERROR,
    EXEMPT,
    TIMEOUT,
    WARN,
    WOULD_DENY,
)
from policyd._core.plan.plan import Stopped, TimedOut
from policyd._core.plan.validation import ValidationOutcome
from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.decision import Finding, Verdict
from policyd.admission.invocation import NO_VALIDATIONS
from policyd.admission.observer import Observer
from policyd.admission.recorder import Happening, PolicyEvent, Recorder, RequestEffect
from policyd.admission.review import AdmissionRequest
from policyd.bounded_text import bounded, few
from policyd.errors import StatusError, Unanswered
from policyd.policy.compile.compiled import Binding, CompiledPolicy
from policyd.policy.compile.exemptions import Exemption
from policyd.policy.compile.rollouts import CompiledRollout
from policyd.policy.model.suite import Webhook

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")
_log = logging.getLogger("policyd.engine")
# Places of one policy that the log shows.
MAX_PLACES = 20
# Why a violation is not enforced with ``newOnly``.
EXISTING = "the old object also violates it"


class Findings:
    """The findings for one request, in the order of decisions. If a policy waits for a lookup, the
    findings of later policies are collected separately (``following``) and added when it is done
    (``join``).

    ``verdict`` receives the data for the response; ``noted`` receives the findings in its place.
    """

    __slots__ = (
        "_noted",
        "generation",
        "observer",
        "recorder",
        "request",
        "verdict",
        "webhook",
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

    def staged(self, policy: CompiledPolicy) -> bool:
        """Whether the rollout of the policy has been decided for this request."""
        return self.verdict.held is not None and policy.sort_key in self.verdict.held

    def stage(self, policy: CompiledPolicy, why: str) -> None:
        """Decide the rollout of the policy for this request, including both rounds of mutations.
        ``why`` is the reason that nothing of it is enforced, not even errors: its findings get the
        actions of the rollout. Empty if it is enforced.
        """
        if self.verdict.held is None:
            self.verdict.held = {}
        self.verdict.held[policy.sort_key] = why

    def why_held(self, policy: CompiledPolicy) -> str:
        """Return why the policy is not enforced for this request; empty if it is."""
        held = self.verdict.held
        return "" if held is None else held.get(policy.sort_key, "")

    def misconfigured(self, policy: CompiledPolicy, text: str, binding: str | None) -> None:
        """Add a configuration error, which denies regardless of the actions unless failurePolicy is
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
        """Add an evaluation error, which follows the binding's actions unless failurePolicy is
        Ignore.
        """
        policy.counters.count(TIMEOUT if isinstance(error, TimedOut) else ERROR)
        actions, code = (("Deny",), 403) if self.webhook == "mutate" else (binding.actions, 0)
        name = None if policy.kind == "Policy" else binding.name
        text = bounded(str(error))
        finding = Finding(policy, name, text, actions=actions, code=code, error=True)
        self._add(finding, policy.fail)

    def refused(self, policy: CompiledPolicy, binding: Binding, error: StatusError) -> None:
        """Add an error that fails the request regardless of failurePolicy. The policy is enforced:
        a held one refuses nothing.
        """
        policy.counters.count(ERROR)
        name = None if policy.kind == "Policy" else binding.name
        text = bounded(str(error))
        finding = Finding(policy, name, text, error.reason, code=error.code, error=True)
        self.verdict.refusal = finding
        self._add(finding, True)

    def would_mutate(self, policy: CompiledPolicy, places: Sequence[str], why: str) -> None:
        """Report the places that a policy would change if its rollout enforced it."""
        self.verdict.stage(policy.name, "would_mutate", why)
        shown = bounded(few(places, MAX_PLACES))
        self.happened("would_mutate", policy, shown, rollout=why)

    def exempted(self, policy: CompiledPolicy, exemption: Exemption) -> None:
        """Record that an exception exempts the request from the whole policy."""
        self._lifted(policy, exemption)
        self._count(policy, EXEMPT)

    def validated(
        self,
        policy: CompiledPolicy,
        binding: Binding,
        outcome: ValidationOutcome,
        exempt: Mapping[int, Exemption] = NO_VALIDATIONS,
        existing: Container[int | str] = (),
    ) -> None:
        """Add the outcome of a policy's validations under one binding and param. ``exempt`` are the
        exceptions that lift validations, by index. ``existing`` are the violations of the old
        object, if the rollout enforces only new ones: validations by index, other errors by text.
        """
        name = None if policy.kind == "Policy" else binding.name
        actions, fields = binding.actions, outcome.fields
        errors = bool(outcome.annotation_errors or outcome.ignored)
        for index, text, reason, error in outcome.failures:
            errors, path = errors or error, fields.get(index, "")
            finding = Finding(
                policy, name, bounded(text), reason, index, actions, error=error, field=path
            )
            known = (text if outcome.whole else index) in existing
            self._add(finding, True, EXISTING if known else "")
        for text in outcome.annotation_errors:
            why = EXISTING if text in existing else ""
            self._add(Finding(policy, name, bounded(text), error=True), True, why)
        for text in outcome.ignored:
            self._add(Finding(policy, name, bounded(text), error=True), False)
        for key, value in outcome.annotations:
            self.verdict.annotate(policy.name, key, value)
        for index in outcome.lifted:
            self._lifted(policy, exempt[index])
        decision = _decision(outcome, actions, errors)
        if decision == DENY and policy.rollout is not None:
            held = self.why_held(policy)
            if held or all(failure[0] in existing for failure in outcome.failures):
                decision = WOULD_DENY
        self._count(policy, decision)

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
        try:
            self._log_defect(policy, error)
        except Exception as unlogged:
            self.recorder.unrecorded("log", unlogged)
        self.misconfigured(policy, "internal error: see the log of policyd", None)

    def _log_defect(self, policy: CompiledPolicy, error: Exception) -> None:
        if is_confidential(self.request):
            # The traceback shows only code; the error's message may quote the object.
            shown = RuntimeError(f"{type(error).__name__}: {WITHHELD}")
            error = shown.with_traceback(error.__traceback__)
        _log.error("policy %s: internal error", policy.name, exc_info=error)

    def happened(
        self,
        what: Happening,
        policy: CompiledPolicy,
        message: str,
        *,
        effect: RequestEffect = "admitted",
        exception: str = "",
        rollout: str = "",
    ) -> None:
        """Report a policy's effect on the request, for the log."""
        event = PolicyEvent(what, policy.name, message, effect, self.generation, exception, rollout)
        self.recorder.happened(self.request, event)

    def _add(self, finding: Finding, counts: bool, why: str = "") -> None:
        """Add a finding; if failurePolicy Ignore drops it, only log it. ``why`` is the reason that
        a denial is not enforced although its policy is.
        """
        if counts and finding.policy.rollout is not None and "Deny" in finding.actions:
            finding = self._held(finding, finding.policy.rollout, why)
        if counts:
            self._noted.append(finding)
        if self.observer is not None:
            self.observer.found(finding, counts)
        denied = counts and "Deny" in finding.actions
        what: Happening = "denial" if denied else "warning"
        if finding.error:
            what = "error"
        elif finding.rollout:
            what = "would_deny"
        elif not denied and "Warn" not in finding.actions:
            return  # it is in the API server's audit log
        effect: RequestEffect = "denied" if denied else "admitted"
        self.happened(what, finding.policy, finding.message, effect=effect, rollout=finding.rollout)

    def _held(self, finding: Finding, rollout: CompiledRollout, why: str) -> Finding:
        """Return a denial with the actions of the policy's rollout."""
        policy = finding.policy
        why = self.why_held(policy) or why
        if not why:
            return finding
        self.verdict.stage(policy.name, "would_deny", why)
        return replace(finding, actions=rollout.otherwise, rollout=why)

    def _lifted(self, policy: CompiledPolicy, exemption: Exemption) -> None:
        """Record that an exception lifted a violation, or a whole policy, once per request."""
        if self.verdict.exempts_first(*policy.sort_key, exemption.document, exemption.name):
            self.verdict.exempt(policy.name, exemption.name, exemption.reason)
            self.happened("exemption", policy, exemption.reason, exception=exemption.name)

    def _count(self, policy: CompiledPolicy, decision: int) -> None:
        """Count a decision; an exemption only once per request."""
        if decision != EXEMPT or self.verdict.exempts_first(*policy.sort_key):
            policy.counters.count(decision)


def _decision(outcome: ValidationOutcome, actions: tuple[str, ...], errors: bool) -> int:
    """Return the counter of a policy's decision (``_core/counting/counters.pxd``); ``errors``:
    whether there are errors.
    """
    if outcome.timed_out:
        return TIMEOUT
    if errors:
        return ERROR
    if not outcome.failures:
        return EXEMPT if outcome.lifted else ADMIT
    if "Deny" in actions:
        return DENY
    return WARN if "Warn" in actions else AUDIT
