"""The validating webhook: the validations of every matching policy. Mutates nothing.

Policies are evaluated in the order of decisions. While one waits for a lookup, those after it are
evaluated; the findings stay in order.
"""

from collections.abc import Container
from functools import partial

from policyd._core.plan.direct_validation import DirectValidation
from policyd._core.plan.plan import Subject
from policyd._core.plan.validation import ValidationOutcome, ValidationPlan
from policyd.admission.applicable import Applicable
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, Matched
from policyd.admission.lookups.evaluations import (
    Evaluation,
    Paused,
    answered,
    deadline_of,
    evaluation_deadline,
    together,
)
from policyd.errors import Unanswered
from policyd.json_types import JSON


def validate_directly(
    applicable: Applicable, matches: list[Matched], deadline: int
) -> DirectValidation | None:
    """Evaluate the policies that have a direct form, up to the first that does not admit the
    request; None if policies see different objects. ``deadline`` is a ``perf_counter_ns`` time
    (0: none).
    """
    if applicable.by_template:
        return None
    cut = evaluation_deadline(deadline)
    direct = DirectValidation(matches, applicable.subjects.subject, cut)
    direct.run(0)
    return direct


def validate(
    applicable: Applicable,
    findings: Findings,
    matches: list[Matched],
    deadline: int,
    direct: DirectValidation | None = None,
) -> Evaluation[None] | None:
    """Run the validations of every matched policy; return the rest if some wait for lookups.

    ``deadline`` is a ``perf_counter_ns`` time (0: none). ``direct`` is the result of
    ``validate_directly`` if it has been called.
    """
    following = findings
    paused: list[Paused] = []
    parts: list[Findings] = []
    if direct is None and findings.observer is None:
        direct = validate_directly(applicable, matches, deadline)
    cut = evaluation_deadline(deadline) if direct is None else direct.deadline
    at = 0
    while True:
        if direct is not None:
            at = direct.at
            if _decided(direct, following, matches):
                direct.run(at + 1)
                continue
        if at == len(matches):
            break
        evaluation = _each(applicable, following, matches[at], deadline, cut)
        at += 1
        lookup = next(evaluation, None)
        if lookup is not None:
            paused.append(Paused(evaluation, lookup))
            following = findings.following()
            parts.append(following)
        if direct is not None:
            direct.run(at)
    return _rest(findings, paused, parts) if paused else None


def _decided(direct: DirectValidation, findings: Findings, matches: list[Matched]) -> bool:
    """Add the finding of the policy that ended the direct run; False if it has none, because it has
    no direct form or needs a lookup, or if no policy ended the run.
    """
    error, outcome = direct.error, direct.outcome
    if isinstance(error, Unanswered) or (error is None and outcome is None):
        return False
    policy = matches[direct.at][0]
    try:
        if error is not None:
            raise error
        if outcome is not None:
            findings.validated(policy, policy.bindings[0], outcome)
    except Exception as error:
        findings.broken(policy, error)
    return True


def _rest(findings: Findings, paused: list[Paused], parts: list[Findings]) -> Evaluation[None]:
    """Continue the waiting policies, then merge the findings."""
    yield from together(paused)
    for part in parts:
        findings.join(part)


def _each(
    applicable: Applicable, findings: Findings, match: Matched, deadline: int, cut: int
) -> Evaluation[None]:
    """Evaluate one policy under its bindings and params, in order: if one waits, those after it
    wait too. Policies without a lookup end at ``cut``, lookups before the ``deadline``.
    """
    policy = match[0]
    try:
        for invocation in applicable.invocations(match, findings):
            _, binding, param, subject, _, _, exempt = invocation
            if policy.validation is None:
                continue
            by = deadline_of(policy, deadline)
            run = policy.validation.run
            try:
                outcome = run(subject, param, min(by, cut) if cut else by, exempt)
            except Unanswered as unknown:
                try:
                    again = partial(_run_again, policy.validation, subject, param, by, exempt)
                    outcome = yield from answered(again, unknown, by)
                except Unanswered as in_vain:
                    findings.failed(policy, binding, str(in_vain))
                    outcome = None
            if outcome is not None:
                existing: Container[int | str] = ()
                if policy.rollout is not None and (outcome.failures or outcome.annotation_errors):
                    existing = yield from _existing(findings, invocation, outcome, by, cut)
                findings.validated(policy, binding, outcome, exempt, existing)
            if findings.observer is not None:
                findings.observer.validated(invocation)
    except Exception as error:
        findings.broken(policy, error)


def _existing(
    findings: Findings, invocation: Invocation, outcome: ValidationOutcome, by: int, cut: int
) -> Evaluation[Container[int | str]]:
    """Return the violations of the old object, if the rollout of the policy enforces only new ones:
    validations by index, other errors by text. An error that cannot be compared is new.
    """
    policy, binding, param, subject, hit, _, _ = invocation
    rollout, plan = policy.rollout, policy.validation
    if rollout is None or not rollout.new_only or rollout.over or plan is None:
        return ()
    if findings.why_held(policy):
        return ()
    unread = subject.unreadable or hit.mismatch or outcome.timed_out
    denies = "Deny" in binding.actions or outcome.annotation_errors
    if unread or findings.request.operation != "UPDATE" or not denies:
        return ()
    before = subject.seeing(subject.old_object)
    try:
        return plan.violated(before, param, min(by, cut) if cut else by)
    except Unanswered as unknown:
        try:
            return (
                yield from answered(
                    lambda: plan.violated(before, param, evaluation_deadline(by)), unknown, by
                )
            )
        except Unanswered:
            return ()


def _run_again(
    plan: ValidationPlan, subject: Subject, param: JSON, by: int, exempt: Container[int]
) -> ValidationOutcome | None:
    """Evaluate after a lookup."""
    return plan.run(subject, param, evaluation_deadline(by), exempt)
