"""How often a rendered configuration calls policyd for nothing: the recorded reviews against the
policies of the library, each alone and all together.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from policyd._core.eval.program import Program
from policyd.admission.applicable import Applicable
from policyd.admission.review import AdmissionRequest
from policyd.admission.subject import Subjects
from policyd.errors import EvaluationError
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loader import load
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.sampling import sampled
from tests.shared import ROOT, reviews
from tests.webhooks.api_server import calls

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), excluded_namespaces=())
WEBHOOKS: tuple[Webhook, ...] = ("mutate", "validate")
LIBRARY = sorted(path.parent for path in (ROOT / "policies").rglob("policy.yaml"))


# Its condition about labels reads params, which the API server does not have.
WITH_PARAMS = "default-topology-spread"


class Count(NamedTuple):
    """Calls for the recorded requests.

    ``useful``: a policy applies; ``excluded``: policies match, but their matchConditions exclude
    the request; ``unmatched``: no policy matches. ``missed`` policies apply without a call.
    """

    useful: int = 0
    excluded: int = 0
    unmatched: int = 0
    missed: int = 0


@cache
def requests() -> list[JSONObject]:
    """Each recorded request once: both webhooks got it."""
    found = {row["review"]["request"]["uid"]: row["review"]["request"] for row in reviews()}
    return list(found.values())


class Match(NamedTuple):
    """A policy that matches, and whether its matchConditions do not exclude the request."""

    policy: CompiledPolicy
    applies: bool


def matches(policies: CompiledPolicySet, request: JSONObject, webhook: Webhook) -> list[Match]:
    """Return the policies whose rules match a request, as policyd sees it."""
    if webhook == "mutate" and request["operation"] in ("DELETE", "CONNECT"):
        return []
    subjects = Subjects(
        AdmissionRequest(request, ""),
        policies.namespaces,
        schemas=policies.schemas,
        reads=policies.reads,
    )
    view = Applicable(policies, subjects, policies.params, webhook)
    found = []
    for policy, hit in view.match(None):
        plan = policy.validation if webhook == "validate" else policy.mutation
        assert plan is not None
        subject = subjects.subject(hit, view.as_pod(policy))
        variables = {
            "object": subject.object,
            "oldObject": subject.old_object,
            "request": subject.conditions_request,
            "namespaceObject": None,
            "params": policy.params,
        }
        found.append(Match(policy, not any(_is_false(each, variables) for each in plan.conditions)))
    return found


def _is_false(condition: Program, variables: JSONObject) -> bool:
    try:
        return condition.evaluate(variables) is False
    except EvaluationError:
        return False


def count(policies: CompiledPolicySet, configurations: list[JSONObject]) -> Count:
    numbers = dict.fromkeys(Count._fields, 0)
    for request in requests():
        called = list(calls(configurations, request, {}))
        for webhook in WEBHOOKS:
            found = matches(policies, request, webhook)
            for call in called:
                if call.webhook == webhook:
                    numbers[_use([m for m in found if _leads(call.path, m.policy)])] += 1
            paths = [call.path for call in called if call.webhook == webhook]
            for match in found:
                if match.applies and not any(_leads(path, match.policy) for path in paths):
                    numbers["missed"] += 1
    return Count(**numbers)


def _leads(path: str, policy: CompiledPolicy) -> bool:
    """Whether policies with this failurePolicy are evaluated at the path."""
    return path.count("/") == 1 or path.endswith("/fail" if policy.fail else "/ignore")


def _use(found: list[Match]) -> str:
    if not found:
        return "unmatched"
    return "useful" if any(match.applies for match in found) else "excluded"


def compiled(path: Path) -> CompiledPolicySet:
    return compiler.compile_strict(load([path]))


def test_all_policies_together() -> None:
    policies = compiled(ROOT / "policies")
    found = count(policies, render(policies, OPTIONS))
    print(found)  # shown by pytest -rP
    assert found.missed == 0
    assert found.useful > 0
    # Selectors that not all policies share, and conditions that not all for a resource have.
    assert found.unmatched <= found.useful / 10
    assert found.excluded <= found.useful / 8


@pytest.mark.parametrize("path", sampled(LIBRARY), ids=lambda path: path.name)
def test_one_policy(path: Path) -> None:
    policies = compiled(path)
    found = count(policies, render(policies, OPTIONS))
    print(found)
    assert (found.missed, found.unmatched) == (0, 0)
    # Updates of controllers whose template stays as it is: policyd alone sees the template's Pod.
    assert path.name == WITH_PARAMS or found.excluded <= max(2, found.useful / 8)
