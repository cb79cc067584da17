"""``engine.review`` with lookups in a cluster: evaluations wait for their lookups while the event
loop keeps running.
"""

from time import perf_counter_ns

from policyd.admission.applicable import Applicable
from policyd.admission.decision import Verdict
from policyd.admission.engine import evaluation
from policyd.admission.findings import Findings
from policyd.admission.invocation import Matched
from policyd.admission.lookups.evaluations import (
    Evaluation,
    Lookup,
    bounded,
    deadline_of,
    lookup_deadline,
)
from policyd.admission.lookups.params import LookedUpParams
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.lookups.sources import LookedUpNamespaces
from policyd.admission.lookups.tasks import LookupClient, LookupTasks
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.errors import Unanswered
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook


async def review_with(
    client: LookupClient,
    policy_set: CompiledPolicySet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int = 0,
    recorder: Recorder | None = None,
    only: PolicyFilter | None = None,
    verdict: Verdict | None = None,
    noted: SeenReads | None = None,
) -> AdmissionResponse:
    """Call ``engine.review`` with lookups by ``client``.

    Lookups that policies need at the same time run concurrently. A lookup without an answer shortly
    before the policy's deadline, which may be earlier than the request's, is an error.
    """
    recorder = recorder or Recorder()
    tasks = LookupTasks(client, recorder)
    subjects = Subjects(
        request,
        LookedUpNamespaces(tasks.namespace),
        tasks,
        schemas=policy_set.schemas,
        reads=tasks if policy_set.has_reads else None,
        noted=noted,
    )
    params = LookedUpParams(policy_set.params, tasks.kind, tasks.params)
    applicable = Applicable(policy_set, subjects, params, webhook)
    findings = Findings(request, webhook, policy_set.generation, recorder, verdict=verdict)
    until = bounded(deadline, perf_counter_ns())
    evaluation = _evaluation(applicable, findings, tasks, deadline=until, only=only)
    try:
        response = await tasks.finished(evaluation)
    finally:
        tasks.close()
    if tasks.waited_ns:
        recorder.phase("lookup", tasks.waited_ns)
    return response


def _evaluation(
    applicable: Applicable,
    findings: Findings,
    tasks: LookupTasks,
    *,
    deadline: int,
    only: PolicyFilter | None,
) -> Evaluation[AdmissionResponse]:
    """Match, evaluate and respond."""
    clock = tasks.clock
    started = clock()
    matches = yield from _match(applicable, findings, tasks, deadline=deadline, only=only)
    matched = clock()
    findings.recorder.phase("match", matched - started)
    return (
        yield from evaluation(applicable, findings, matches, deadline, since=matched, clock=clock)
    )


def _match(
    applicable: Applicable,
    findings: Findings,
    tasks: LookupTasks,
    *,
    deadline: int,
    only: PolicyFilter | None,
) -> Evaluation[list[Matched]]:
    """Return the matching policies once the lookups for their bindings and params are done."""
    started = perf_counter_ns()
    broken: set[tuple[str, str]] = set()
    while True:
        matches: list[Matched] = []
        try:
            matches = [each for each in applicable.match(only) if each[0].sort_key not in broken]
            wanted = _wanted(
                applicable, findings, matches, deadline=deadline, started=started, broken=broken
            )
        except Unanswered as unknown:
            wanted = {unknown.question: lookup_deadline(deadline, started)}
        if not wanted:
            return [each for each in matches if each[0].sort_key not in broken]
        until = min((by for by in wanted.values() if by), default=0)
        yield Lookup(frozenset(wanted), until)
        now = perf_counter_ns()
        for question, by in wanted.items():
            if 0 < by <= now:
                tasks.give_up(question)


def _wanted(
    applicable: Applicable,
    findings: Findings,
    matches: list[Matched],
    *,
    deadline: int,
    started: int,
    broken: set[tuple[str, str]],
) -> dict[object, int]:
    """Return the questions that must be answered before these policies can be evaluated, each with
    the latest time that one of the policies can wait for it (0: no limit). Add policies in which a
    bug of policyd occurs to ``broken``.
    """
    wanted: dict[object, int] = {}
    for match in matches:
        policy = match[0]
        questions = findings.guarded(policy, applicable.questions, match)
        if questions is None:
            broken.add(policy.sort_key)
        elif questions:
            by = lookup_deadline(deadline_of(policy, deadline, started), started)
            for question in questions:
                known = wanted.get(question, by)
                wanted[question] = max(by, known) if by and known else 0
    return wanted
