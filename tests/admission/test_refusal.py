"""A mutation whose object does not decode: 500, named, counted and logged whatever failurePolicy is."""

from collections.abc import Iterator
from typing import Any

import pytest

from policyd.admission import engine
from policyd.admission.mutating.webhook import MutatedObject
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, decode, to_dict
from policyd.errors import StatusError
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import deployment
from tests.builders.policies import DEPLOYMENTS, json_patch, labelling, map_, map_binding, policy
from tests.policy_sets import compiled

BROKEN = json_patch("[JSONPatch{op: 'add', path: '/metadata/labelz', value: {'a': 'b'}}]")
TEXT = 'strict decoding error: unknown field "metadata.labelz"'


class Told(Recorder):
    """Keeps what happened."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        told = event._asdict()
        del told["generation"], told["rollout"]
        self.told.append(told)


def mutated(policies: CompiledPolicySet) -> tuple[JSONObject, list[dict[str, Any]]]:
    recorder = Told()
    request = decode(build_review(deployment()))
    response = engine.review(policies, request, webhook="mutate", recorder=recorder)
    return to_dict(response)["response"], recorder.told


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize(
    ("documents", "name", "shown"),
    [
        ([policy("t", DEPLOYMENTS, mutations=[BROKEN])], "t", "policy 't'"),
        (
            [map_("m", DEPLOYMENTS, mutations=[BROKEN]), map_binding(policyName="m")],
            "m",
            "policy 'm' with binding 'mb'",
        ),
    ],
    ids=["Policy", "MutatingAdmissionPolicy"],
)
def test_a_refusal_names_its_policy(
    documents: list[JSONObject], name: str, shown: str, failure_policy: str
) -> None:
    documents[0]["spec"]["failurePolicy"] = failure_policy
    harmless = policy("a", DEPLOYMENTS, mutations=[labelling("a", "'b'")])
    policies = compiled(*documents, harmless)
    response, told = mutated(policies)
    cause = f"{TEXT} (mutation of {shown})"
    assert response["status"] == {
        "code": 500,
        "reason": "InternalError",
        "message": f"Internal error occurred: {cause}",
        "details": {
            "name": "web",
            "group": "apps",
            "kind": "deployments",
            "causes": [{"message": cause}],
        },
    }
    line = {"what": "error", "policy": name, "message": TEXT, "effect": "denied", "exception": ""}
    assert told == [line]
    counted = {each.name: each.snapshot()["decisions"] for each in policies.counters()}
    assert (counted[name]["error"], counted[name]["admit"], counted["a"]["error"]) == (1, 0, 0)


def test_such_an_error_without_a_refusal_admits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Iterator[None]:
        yield from ()
        raise StatusError(500, "InternalError", "out of place")

    monkeypatch.setattr(MutatedObject, "mutate", failing)
    with pytest.raises(StatusError, match="out of place"):
        mutated(compiled(policy("a", DEPLOYMENTS, mutations=[labelling("a", "'b'")])))
