"""What is invoked in each of the two rounds of mutating policies: policies that match, under their
bindings and params. Mutates nothing.

All that a round invokes is found before it changes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import TYPE_CHECKING, NamedTuple

from policyd.admission.asked_params import open_questions
from policyd.admission.waiting import Wait, answer_by
from policyd.errors import Unanswered
from policyd.policy.kinds.controllers import CONTROLLERS, template_is_settled

if TYPE_CHECKING:
    from policyd._core.match.matcher import Hit
    from policyd.admission.engine import Engine, Judged, Matched
    from policyd.json_types import JSON
    from policyd.policy.compile.compiled import CompiledPolicy


class Key(NamedTuple):
    """What makes an invocation of the second round the one of the first."""

    policy: tuple[str, str]
    binding: str
    param: tuple[str, str]


def key(judged: Judged) -> Key:
    """The policy, the binding and the param of an invocation."""
    param, where = judged.param, ("", "")
    if judged.policy.param_kind is not None and isinstance(param, dict):
        metadata = param.get("metadata") or {}
        where = (metadata.get("namespace") or "", metadata.get("name") or "")
    return Key(judged.policy.sort_key, judged.binding.name, where)


def first(engine: Engine, matches: list[Matched]) -> list[Judged]:
    """The invocations of the first round."""
    found: list[Judged] = []
    for match in settled(engine, matches):
        found += engine.guarded(match[0], list, engine.judged(match)) or []
    return found


def second(
    engine: Engine, obj: JSON, due: Collection[Key], *, at_once: bool
) -> Generator[Wait, None, list[Judged]]:
    """The invocations of the second round, in which ``obj`` is seen; ``due`` are those that are
    invoked once more. Errors of the configuration count whatever is due.

    ``at_once``: where nothing is invoked once more, the usual policy's matchConditions are
    evaluated here, and it is left out.
    """
    try:
        matches = yield from rematched(engine, obj)
    except Unanswered as unknown:
        waiting = {each.policy for each in due}
        for policy in engine.policies.policies:
            if policy.sort_key in waiting:
                engine.misconfigured(policy, f"failed to configure policy: {unknown}", None)
        return []
    matches = settled(engine, matches)
    if at_once and not any(policy.reinvoke for policy, _ in matches):
        matches = unusual(engine, matches)
    found: list[Judged] = []
    for match in matches:
        policy, hit = match
        if policy.reinvoke or can_fail(policy, hit):
            if not policy.plain and not (yield from known(engine, match)):
                continue
            found += engine.guarded(policy, list, engine.judged(match)) or []
    return found


def unusual(engine: Engine, matches: list[Matched]) -> list[Matched]:
    """The matches that are not decided here: of policies with exceptions, params, rules in their
    bindings, errors, or questions to a cluster. Of the others the errors are noted.
    """
    left: list[Matched] = []
    seen, subject = None, None
    for match in matches:
        policy, hit = match
        plan = policy.mutation
        if plan is None or not policy.plain or hit.error or engine.as_pod(policy):
            left.append(match)
            continue
        if not policy.fail or not plan.conditions:
            continue
        try:
            if subject is None or hit is not seen:
                seen, subject = hit, engine.subjects.subject(hit, False)
            deadline = engine.deadline_of(policy) if policy.timeout_ns else engine.deadline
            matched = plan.matches(subject, policy.params, deadline)
            if matched is not True and matched is not False:
                engine.failed(policy, policy.bindings[0], matched)
        except Unanswered:
            left.append(match)
        except Exception as error:
            engine.broken(policy, error)
    return left


def can_fail(policy: CompiledPolicy, hit: Hit) -> bool:
    """Whether a policy that is not invoked once more may have an error that counts."""
    conditional = policy.mutation is not None and bool(policy.mutation.conditions)
    return policy.fail and (conditional or bool(hit.error) or not policy.plain)


def settled(engine: Engine, matches: list[Matched]) -> list[Matched]:
    """``matches`` without those for whom a template must stay as it is."""
    request = engine.request
    if request.resource[2] in CONTROLLERS and template_is_settled(
        request.operation, request.object
    ):
        return [match for match in matches if not engine.as_pod(match[0])]
    return matches


def rematched(engine: Engine, obj: JSON) -> Generator[Wait, None, list[Matched]]:
    """The policies that match the changed object. Raises Unanswered for what nobody answers."""
    while True:
        try:
            return engine.match_anew(obj)
        except Unanswered as unknown:
            yield Wait(frozenset((unknown.question,)), answer_by(engine.deadline))
            if unknown.question in engine.pending:
                raise


def known(engine: Engine, match: Matched) -> Generator[Wait, None, bool]:
    """Whether all is known, in the end, that the bindings and params of a policy depend on."""
    policy = match[0]
    by = answer_by(engine.deadline_of(policy))
    while questions := engine.guarded(policy, open_questions, engine, match):
        yield Wait(frozenset(questions), by)
        if any(question in engine.pending for question in questions):
            text = "failed to configure policy: its params or namespace are not known in time"
            engine.misconfigured(policy, text, None)
            return False
    return questions is not None
