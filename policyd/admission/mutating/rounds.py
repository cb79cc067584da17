"""Find the invocations of each of the two mutation rounds: matching policies with their bindings
and params. Mutates nothing.

All invocations of a round are found before it changes anything.
"""

from collections.abc import Collection
from functools import partial

from policyd._core.match.matcher import Hit
from policyd._core.plan.plain_mutations import recheck
from policyd._core.plan.plan import Stopped
from policyd.admission.applicable import Applicable
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, InvocationKey, Matched
from policyd.admission.lookups.deadlines import deadline_of, evaluation_deadline, lookup_deadline
from policyd.admission.lookups.evaluations import Evaluation, Lookup, answered
from policyd.errors import Unanswered
from policyd.json_types import JSON
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.kinds.controllers import CONTROLLERS, template_is_settled


def first(
    applicable: Applicable, findings: Findings, matches: list[Matched]
) -> list[Invocation | Matched]:
    """Return the invocations of the first round; plain policies are left as they matched, if
    nothing about the request is unusual.
    """
    found: list[Invocation | Matched] = []
    usual = not applicable.by_template and findings.observer is None
    seen, whole = None, False
    for match in _settled(applicable, matches):
        policy, hit = match
        if hit is not seen:
            seen, whole = hit, usual and not (hit.error or hit.mismatch or hit.api_version)
        if whole and policy.plain_mutation is not None:
            found.append(match)
        else:
            found += findings.guarded(policy, list, applicable.invocations(match, findings)) or []
    return found


def second(
    applicable: Applicable,
    findings: Findings,
    deadline: int,
    obj: JSON,
    due: Collection[InvocationKey],
) -> Evaluation[list[Invocation]]:
    """Return the invocations of the second round, in which policies see ``obj``; ``due`` are those
    to reinvoke. Configuration errors count whatever is due.

    If nothing is reinvoked, the matchConditions of ordinary policies are evaluated here and the
    policies left out; with an observer they are kept, as it sees every invocation.
    """
    if findings.observer is not None:
        findings.observer.second_round()
    try:
        matches = yield from _rematched(applicable, obj, deadline)
    except Unanswered as unknown:
        waiting = {each.policy for each in due}
        for policy in applicable.policies.policies:
            if policy.sort_key in waiting:
                findings.misconfigured(policy, f"failed to configure policy: {unknown}", None)
        return []
    matches = _settled(applicable, matches)
    reinvokes = applicable.policies.reinvokes and any(policy.reinvoke for policy, _ in matches)
    if findings.observer is None and not reinvokes:
        matches = _unusual(applicable, findings, matches, evaluation_deadline(deadline))
    found: list[Invocation] = []
    for match in matches:
        policy, hit = match
        if policy.rollout is not None and findings.why_held(policy):
            continue  # nothing of it counts, and it was reported in the first round
        if policy.reinvoke or _can_fail(policy, hit):
            if not policy.plain and not (yield from _known(applicable, findings, match, deadline)):
                continue
            found += findings.guarded(policy, list, applicable.invocations(match, findings)) or []
    return found


def _unusual(
    applicable: Applicable, findings: Findings, matches: list[Matched], deadline: int
) -> list[Matched]:
    """Return the matches that are not decided here: policies with exceptions, params, match rules
    in their bindings, errors, or lookups. Errors of the others are recorded.
    """
    left: list[Matched] = []
    templates = bool(applicable.by_template)
    subject_of = applicable.subjects.subject
    failures: list[tuple[CompiledPolicy, str | Stopped]] = []
    at = 0
    while True:
        if not templates:
            at = recheck(matches, at, subject_of, deadline, failures)
            for policy, failure in failures:
                findings.failed(policy, policy.bindings[0], failure)
            failures.clear()
        if at == len(matches):
            return left
        match, at = matches[at], at + 1
        policy, hit = match
        plan = policy.mutation
        as_pod = templates and applicable.as_pod(policy)
        if plan is None or not policy.plain or hit.error or as_pod:
            left.append(match)
            continue
        if not policy.fail or not plan.conditions:
            continue
        try:
            by = deadline_of(policy, deadline) if policy.timeout_ns else deadline
            matched = plan.matches(subject_of(hit, False), policy.params, by)
            if matched is not True and matched is not False:
                findings.failed(policy, policy.bindings[0], matched)
        except Unanswered:
            left.append(match)
        except Exception as error:
            findings.broken(policy, error)


def _can_fail(policy: CompiledPolicy, hit: Hit) -> bool:
    """Whether a policy that is not reinvoked may have an error that counts."""
    conditional = policy.mutation is not None and bool(policy.mutation.conditions)
    return policy.fail and (conditional or bool(hit.error) or not policy.plain)


def _settled(applicable: Applicable, matches: list[Matched]) -> list[Matched]:
    """Remove the policies that see a template, if the template must not change."""
    request = applicable.request
    if request.resource[2] in CONTROLLERS and template_is_settled(
        request.operation, request.object
    ):
        return [match for match in matches if not applicable.as_pod(match[0])]
    return matches


def _rematched(applicable: Applicable, obj: JSON, deadline: int) -> Evaluation[list[Matched]]:
    """Return the policies that match the changed object; Unanswered if a lookup is too late."""
    try:
        return applicable.match_anew(obj)
    except Unanswered as unknown:
        again = partial(applicable.match_anew, obj)
        return (yield from answered(again, unknown, deadline))


def _known(
    applicable: Applicable, findings: Findings, match: Matched, deadline: int
) -> Evaluation[bool]:
    """Wait for the lookups of a policy's bindings and params; False if any is not answered."""
    policy = match[0]
    until = lookup_deadline(deadline_of(policy, deadline))
    before: list[object] | None = None
    while questions := findings.guarded(policy, applicable.questions, match):
        still_open = yield Lookup(frozenset(questions), until)
        if questions == before or any(question in still_open for question in questions):
            text = "failed to configure policy: its params or namespace are not known in time"
            findings.misconfigured(policy, text, None)
            return False
        before = questions
    return questions is not None
