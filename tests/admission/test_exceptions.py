"""Requests that exceptions exempt: counted as exempt once, logged, and in the audit annotations."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from policyd import PolicySet
from policyd import build_review as built
from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, decode, to_dict
from policyd.json_types import JSON, JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map, pod
from tests.builders.policies import labelling, policy
from tests.policy_sets import POD, compiled

NO = {"expression": "false", "message": "no", "name": "never"}
BAD = {"expression": "object.nope == 1", "message": "bad", "name": "errs"}
YES = {"expression": "true", "name": "always"}
WHOLE: JSONObject = {"name": "legacy", "reason": "ticket 4711"}
PARAMS: JSONObject = {
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"},
}


class Told(Recorder):
    """Keeps what happened."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        told = (event.what, event.policy, event.exception, event.message, event.effect)
        self.told.append(told)


class Case(NamedTuple):
    name: str
    spec: JSONObject
    decisions: Mapping[str, int]
    told: list[tuple[str, ...]]
    annotated: bool = True
    webhook: Webhook = "validate"


USED = ("exemption", "p", "legacy", "ticket 4711", "admitted")
LABEL = labelling("a", "'b'")
CASES = [
    Case("the whole policy", {"validations": [NO], "exceptions": [WHOLE]}, {"exempt": 1}, [USED]),
    Case(
        "two that apply: the first one",
        {"validations": [NO], "exceptions": [WHOLE, {"name": "other"}]},
        {"exempt": 1},
        [USED],
    ),
    Case(
        "a validation that fails",
        {"validations": [NO, YES], "exceptions": [{**WHOLE, "validations": ["never"]}]},
        {"exempt": 1},
        [USED],
    ),
    Case(
        "a validation that errs",
        {"validations": [BAD], "exceptions": [{**WHOLE, "validations": ["errs"]}]},
        {"exempt": 1},
        [USED],
    ),
    Case(
        "a validation that holds: the exception was not needed",
        {"validations": [YES], "exceptions": [{**WHOLE, "validations": ["always"]}]},
        {"admit": 1},
        [],
        annotated=False,
    ),
    Case(
        "another validation denies",
        {"validations": [NO, BAD], "exceptions": [{**WHOLE, "validations": ["errs"]}]},
        {"deny": 1},
        [("denial", "p", "", "no", "denied"), USED],
    ),
    Case(
        "several params are one request",
        {"validations": [NO], "exceptions": [{**WHOLE, "validations": ["never"]}], **PARAMS},
        {"exempt": 1},
        [USED],
    ),
    Case(
        "mutations, in both rounds",
        {"mutations": [LABEL], "reinvocationPolicy": "IfNeeded", "exceptions": [WHOLE]},
        {"exempt": 1},
        [USED],
        webhook="mutate",
    ),
    Case(
        "an exception of validations is not about mutations",
        {
            "mutations": [LABEL],
            "validations": [NO],
            "exceptions": [{**WHOLE, "validations": ["never"]}],
        },
        {"admit": 1},
        [],
        annotated=False,
        webhook="mutate",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_exemption_is_counted_once_and_logged(case: Case) -> None:
    params = [config_map(name, "shop") for name in ("one", "two")]
    other = policy("z", mutations=[labelling("z", "'z'")])
    policies = compiled(policy("p", **case.spec), other, *params)
    recorder = Told()
    request = decode(build_review(POD))
    response = engine.review(policies, request, webhook=case.webhook, recorder=recorder)
    (counters,) = (each for each in policies.counters() if each.name == "p")
    decisions = {key: count for key, count in counters.snapshot()["decisions"].items() if count}
    assert decisions == case.decisions
    assert recorder.told == case.told
    annotations = to_dict(response)["response"]["auditAnnotations"]
    assert annotations.get("exception.p") == ("legacy: ticket 4711" if case.annotated else None)


WRONG_LABELS: tuple[JSON, ...] = ("a", 1, [], ["a"], {"skip": 1}, {"a": None}, {"a": {}})


@pytest.mark.parametrize(
    "metadata",
    [{"labels": wrong} for wrong in WRONG_LABELS] + ["a", 1, [], ["a"]],
)
def test_labels_that_cannot_be_read_exempt_nothing(metadata: JSON) -> None:
    exempted = {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]}
    exception = {"name": "e", "reason": "r", "objectSelector": exempted}
    document = policy(validations=[NO], exceptions=[exception])
    review = built(pod())
    request = review["request"]
    assert isinstance(request, dict)
    assert isinstance(request["object"], dict)
    policies = PolicySet.from_documents([document])
    assert policies.evaluate(review).allowed
    given = request["object"]["metadata"]
    changed = {**given, **metadata} if isinstance(metadata, dict) else metadata
    request["object"]["metadata"] = changed
    assert not policies.evaluate(review).allowed
