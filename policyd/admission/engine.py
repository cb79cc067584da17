"""Evaluates one request with one set of policies: match, evaluate, decide. Synchronous, no I/O;
``with_cluster.py`` runs the same evaluation with lookups in a cluster.

A request that cannot be evaluated follows the policy's failurePolicy; no error admits a request by
accident.
"""

from collections.abc import Callable
from time import perf_counter_ns

from policyd._core.plan.direct_validation import DirectValidation
from policyd.admission.applicable import Applicable
from policyd.admission.decision import Verdict, admitted, respond
from policyd.admission.findings import Findings
from policyd.admission.invocation import Matched
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.evaluations import Evaluation, bounded, run
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.mutating.webhook import mutate
from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.admission.validating import validate, validate_directly
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

__all__ = ["PolicyFilter", "Webhook", "evaluate", "evaluation", "review"]


_UNRECORDED = Recorder()


def review(
    policy_set: CompiledPolicySet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int = 0,
    recorder: Recorder | None = None,
    only: PolicyFilter | None = None,
    authorizer: Authorizer | None = None,
    verdict: Verdict | None = None,
    noted: SeenReads | None = None,
) -> AdmissionResponse:
    """Evaluate one request. ``deadline`` is a ``perf_counter_ns`` time (0: see ``bounded``);
    ``authorizer`` answers the authorizer checks of expressions (None: each check is an error).
    ``verdict`` receives the findings, and ``noted`` the reads of policies.

    Any error inside a policy, including a bug in policyd, follows its failurePolicy.
    """
    started = perf_counter_ns()
    deadline = bounded(deadline, started)
    recorder = recorder or _UNRECORDED
    subjects = Subjects(
        request,
        policy_set.namespaces,
        authorizer,
        schemas=policy_set.schemas,
        reads=policy_set.reads if policy_set.has_reads else None,
        noted=noted,
    )
    applicable = Applicable(policy_set, subjects, policy_set.params, webhook)
    matches = applicable.match(only)
    matched = perf_counter_ns()
    recorder.phase("match", matched - started)
    direct = validate_directly(applicable, matches, deadline) if webhook == "validate" else None
    if direct is not None and direct.at == len(matches):
        recorder.phase("evaluate", perf_counter_ns() - matched)
        return admitted(request, policy_set.generation)
    findings = Findings(request, webhook, policy_set.generation, recorder, verdict=verdict)
    return run(evaluation(applicable, findings, matches, deadline, since=matched, direct=direct))


def evaluate(
    applicable: Applicable, findings: Findings, matches: list[Matched], deadline: int
) -> AdmissionResponse:
    """Return the response of the matched policies; ``findings`` keeps the findings."""
    return run(evaluation(applicable, findings, matches, deadline, since=perf_counter_ns()))


def evaluation(
    applicable: Applicable,
    findings: Findings,
    matches: list[Matched],
    deadline: int,
    *,
    since: int,
    clock: Callable[[], int] = perf_counter_ns,
    direct: DirectValidation | None = None,
) -> Evaluation[AdmissionResponse]:
    """Evaluate the matched policies and respond; yields the lookups needed first.

    It began at ``since``, a time of the ``clock``, which stands still during lookups. ``direct`` is
    the result of ``validate_directly`` if that has been called.
    """
    if findings.webhook == "mutate":
        return (yield from mutate(applicable, findings, matches, deadline, clock))
    rest = validate(applicable, findings, matches, deadline, direct)
    if rest is not None:
        yield from rest
    findings.recorder.phase("evaluate", clock() - since)
    return respond(findings.request, findings.verdict, findings.generation)
