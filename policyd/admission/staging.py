"""Decides whether the rollout of a policy enforces it for one request, and why. Evaluates no
expression.
"""

from typing import NamedTuple

from policyd._core.match.matcher import MatchInput
from policyd.admission.metadata import generated_from, object_name
from policyd.admission.review import AdmissionRequest
from policyd.policy.compile.rollouts import CompiledRollout, number_of


class Stage(NamedTuple):
    """Whether a policy is enforced for a request, and the reason. ``problem``: why that cannot be
    decided.
    """

    enforced: bool
    why: str
    problem: str = ""


def stage_of(
    rollout: CompiledRollout, policy: str, request: AdmissionRequest, view: MatchInput
) -> Stage:
    """Return the stage of a request; raises Unanswered if the labels of its namespace are missing.
    ``newOnly`` is decided for each violation.
    """
    if rollout.over:
        return Stage(True, "until has passed")
    if rollout.nowhere:
        return Stage(False, "enforce is empty")
    held: list[str] = []
    if rollout.percent is not None:
        stage = _share(rollout.percent, policy, request)
        if not stage.enforced:
            return stage
        held.append(stage.why)
    if rollout.namespaces is not None:
        of = f"namespace {request.namespace}" if request.namespace else "cluster-scoped objects"
        hit = rollout.namespaces.match(view)
        if hit is not None and hit.error:
            return Stage(True, "", hit.error)
        if hit is None:
            return Stage(False, f"namespaceSelector does not match {of}")
        held.append(f"namespaceSelector matches {of}")
    if rollout.new_only:
        held.append("newOnly: violations of the old object are not enforced")
    return Stage(True, "; ".join(held))


def _share(percent: int, policy: str, request: AdmissionRequest) -> Stage:
    # The API server generates a new name for each retry of a create without one.
    name = generated_from(request) or object_name(request)
    number = number_of(policy, request.namespace, request.kind[2], name)
    of = f"namespace {request.namespace}" if request.namespace else f"{request.kind[2]} {name}"
    enforced = number < percent
    place = "in" if enforced else "not in"
    return Stage(enforced, f"{of} is {place} the {percent} percent (its number is {number})")
