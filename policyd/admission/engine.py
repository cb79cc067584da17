"""One request against one set of policies: match, evaluate, decide. Synchronous, and no I/O: where
lookups have to be waited for, ``with_cluster.py`` stands in its place.

A request that cannot be evaluated follows the policy's failurePolicy; nothing here admits by
accident.
"""

from time import perf_counter_ns

from policyd.admission.applicable import Applicable, PolicyFilter
from policyd.admission.authorizer import Authorizer
from policyd.admission.decision import Verdict, respond
from policyd.admission.findings import Findings
from policyd.admission.invocation import Matched
from policyd.admission.lookups.evaluations import run
from policyd.admission.mutating.webhook import mutate
from policyd.admission.recorder import NullRecorder, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.admission.validating import validate
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook

__all__ = ["PolicyFilter", "Webhook", "evaluate", "review"]


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
) -> AdmissionResponse:
    """Evaluate one request. ``deadline`` is a moment of ``perf_counter_ns`` (0: none);
    ``authorizer`` answers what expressions ask of theirs (None: such a check is an error). The
    findings behind the answer go into ``verdict``, if one is given.

    Whatever goes wrong inside a policy, a defect of ours included, follows its failurePolicy.
    """
    started = perf_counter_ns()
    recorder = recorder or NullRecorder()
    subjects = Subjects(request, policy_set.namespaces, authorizer)
    applicable = Applicable(policy_set, subjects, policy_set.params, webhook)
    matches = applicable.match(only)
    recorder.phase("match", perf_counter_ns() - started)
    findings = Findings(request, webhook, policy_set.generation, recorder, verdict=verdict)
    return evaluate(applicable, findings, matches, deadline)


def evaluate(
    applicable: Applicable, findings: Findings, matches: list[Matched], deadline: int
) -> AdmissionResponse:
    """What is answered by these policies; the findings can be looked at afterwards."""
    if findings.webhook == "mutate":
        return run(mutate(applicable, findings, matches, deadline))
    started = perf_counter_ns()
    rest = validate(applicable, findings, matches, deadline)
    if rest is not None:
        run(rest)
    findings.recorder.phase("evaluate", perf_counter_ns() - started)
    return respond(findings.request, findings.verdict, findings.generation)
