"""The mutating webhook: policies applied one after the other to one tree, then one patch.

Order, reinvocation and errors are those of MutatingAdmissionPolicy (k8s.io/apiserver,
admission/plugin/policy/mutating/dispatcher.go), except for defaulting between mutations, which only
the API server can do. No validation is run here.
"""

from collections.abc import Callable
from time import perf_counter_ns

import orjson

from policyd._core.json.equality import equal
from policyd._core.json.sendable import unsendable
from policyd._core.patch.apply import apply
from policyd.admission.applicable import Applicable
from policyd.admission.decision import respond
from policyd.admission.findings import Findings
from policyd.admission.invocation import Matched
from policyd.admission.lookups.evaluations import Evaluation
from policyd.admission.mutating.object import MutatedObject
from policyd.admission.review import AdmissionResponse
from policyd.errors import InternalError, StatusError


def mutate(
    applicable: Applicable,
    findings: Findings,
    matches: list[Matched],
    deadline: int,
    clock: Callable[[], int] = perf_counter_ns,
) -> Evaluation[AdmissionResponse]:
    """Mutate and respond; yields the lookups needed first. ``clock`` stands still during lookups.

    No patch for DELETE and CONNECT, whose objects cannot be changed.
    """
    request, generation, recorder = findings.request, findings.generation, findings.recorder
    if request.operation in ("DELETE", "CONNECT") or request.object is None:
        return respond(request, findings.verdict, generation)
    started = clock()
    mutated = MutatedObject(applicable, findings, deadline)
    try:
        yield from mutated.mutate(matches)
    except StatusError:
        if findings.verdict.refusal is None:
            raise  # without a refusal the response would admit
        return respond(request, findings.verdict, generation)
    evaluated = clock()
    recorder.phase("evaluate", evaluated - started)
    patch = _patch(findings, mutated) if mutated.tree.current is not request.object else None
    recorder.phase("patch", clock() - evaluated)
    return respond(request, findings.verdict, generation, patch)


def _patch(findings: Findings, mutated: MutatedObject) -> bytes | None:
    """Return the patch as JSON after a trial on the object."""
    operations = mutated.patch()
    if not equal(apply(operations, findings.request.object), mutated.tree.current):
        error = InternalError(f"the patch of request {findings.request.uid} does not replay")
        for policy, *_ in mutated.log.changes:
            findings.broken(policy, error)
        return None
    # The changes of each policy can be sent, but one may be within those of another.
    problem = unsendable(operations)
    if problem is not None:
        for policy, *_ in mutated.log.changes:
            findings.misconfigured(policy, f"the changes of all policies have {problem}", None)
        return None
    return orjson.dumps(operations) if operations else None
