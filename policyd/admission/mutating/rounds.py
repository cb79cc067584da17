"""Finds the invocations of each of the two mutation rounds: matching policies with their bindings
and params. Mutates nothing.

All invocations of a round are found before it changes anything.
"""

from collections.abc import Collection
from functools import partial

from policyd._core.match.matcher import Hit
from policyd._core.plan.mutation_run import direct_matches
from policyd.admission.applicable import Applicable
from policyd.admission.findings import Findings
from policyd.admission.invocation import Invocation, Matched
from policyd.admission.lookups.evaluations import (
    Evaluation,
    Lookup,
    answered,
    deadline_of,
    lookup_deadline,
)
from policyd.errors import Unanswered
from policyd.json_types import JSON
from policyd.policy.compile.compiled import CompiledPolicy, InvocationKey
from policyd.policy.kinds.controllers import CONTROLLERS, template_is_settled


def first(
    applicable: Applicable, findings: Findings, deadline: int, matches: list[Matched]
) -> Evaluation[list[Invocation | Matched]]:
    """Return the invocations of the first round. The match of a direct policy represents its only
    invocation, unless the request is observed or policies see anything but its object.
    """
    return (yield from _found(applicable, findings, deadline, matches, again=False))


def second(
    applicable: Applicable,
    findings: Findings,
    deadline: int,
    obj: JSON,
    due: Collection[InvocationKey],
) -> Evaluation[list[Invocation | Matched]]:
    """Return the invocations of the second round, in which policies see ``obj``; ``due`` are those
    to reinvoke. Configuration errors count regardless of ``due``.
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
    return (yield from _found(applicable, findings, deadline, matches, again=True))


def _found(
    applicable: Applicable,
    findings: Findings,
    deadline: int,
    matches: list[Matched],
    *,
    again: bool,
) -> Evaluation[list[Invocation | Matched]]:
    found: list[Invocation | Matched] = []
    whole = not applicable.by_template and findings.observer is None
    matches, at = _settled(applicable, matches), 0
    while True:
        if whole:
            at = direct_matches(matches, at, again, found)
        if at == len(matches):
            return found
        match, at = matches[at], at + 1
        if not again or (yield from _acts_again(applicable, findings, match, deadline)):
            policy = match[0]
            found += findings.guarded(policy, list, applicable.invocations(match, findings)) or []


def _acts_again(
    applicable: Applicable, findings: Findings, match: Matched, deadline: int
) -> Evaluation[bool]:
    """Whether a policy acts in the second round, and its lookups are answered."""
    policy, hit = match
    if policy.rollout is not None and findings.why_held(policy):
        return False  # nothing of it counts, and it was reported in the first round
    if not policy.reinvoke and not _can_fail(policy, hit):
        return False
    return policy.invoked_once or (yield from _known(applicable, findings, match, deadline))


def _can_fail(policy: CompiledPolicy, hit: Hit) -> bool:
    """Whether a policy that is not reinvoked may have an error that counts."""
    conditional = policy.mutation is not None and bool(policy.mutation.conditions)
    return policy.fail and (conditional or bool(hit.error) or not policy.invoked_once)


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
