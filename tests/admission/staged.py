"""Review a request with policies that have a rollout, and show what happened."""

from typing import Any, NamedTuple

from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, decode, to_dict
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.policy_sets import POD, compiled

IN_SHOP: JSONObject = {**POD, "metadata": {**POD["metadata"], "namespace": "shop"}}


class Recorded(Recorder):
    """Keeps what happened."""

    def __init__(self) -> None:
        self.events: list[PolicyEvent] = []
        self.operations: dict[str, int] = {}

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        self.events.append(event)

    def patch_operations(self, policy: str, count: int) -> None:
        self.operations[policy] = count


class Reviewed(NamedTuple):
    response: JSONObject
    events: list[tuple[str, ...]]
    decisions: dict[str, dict[str, int]]
    operations: dict[str, int]

    @property
    def allowed(self) -> bool:
        return bool(self.response["allowed"])


def reviewed(
    *documents: JSONObject,
    obj: JSONObject | None = IN_SHOP,
    webhook: Webhook = "validate",
    **more: Any,
) -> Reviewed:
    policies, recorder = compiled(*documents), Recorded()
    request = decode(build_review(obj, **more))
    response = engine.review(policies, request, webhook=webhook, recorder=recorder)
    events: list[tuple[str, ...]] = [
        (each.what, each.message, each.effect, each.rollout) for each in recorder.events
    ]
    counted = {
        counters.name: {k: n for k, n in counters.snapshot()["decisions"].items() if n}
        for counters in policies.counters()
    }
    return Reviewed(to_dict(response)["response"], events, counted, recorder.operations)
