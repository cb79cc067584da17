"""Objects that Kubernetes takes and policyd cannot evaluate: policies decide, not the webhook's
failurePolicy.
"""

import json

from tests.builders.policies import demand, policy, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.e2e.webhook import DENIED

CANNOT = f"{DENIED}policy 'none' denied request: the review cannot be evaluated: "
ALLOWED = demand("true", "nothing is wrong with it")
# What a user may write into a field that holds any JSON, and why it cannot be evaluated. (A number
# beyond every double makes the API server itself panic.)
RAW: dict[str, tuple[bytes, str]] = {
    "half of a pair": (b'"\\ud800"', "half of a surrogate pair"),
    "1,200 levels": (b"[" * 1200 + b"]" * 1200, "nested deeper than 1000 levels"),
    "9,000 levels": (b'{"a":' * 9000 + b"1" + b"}" * 9000, "nested deeper than 1000 levels"),
    "not UTF-8": (b'"\xff"', "not UTF-8"),
    "many values": (b"[" + b"{}," * 950_000 + b"1]", "MiB of memory"),
}


def revision(data: bytes) -> bytes:
    """A ControllerRevision, whose data reaches webhooks as its author wrote it."""
    head = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "x"}}
    whole = json.dumps({**head, "revision": 1, "data": {"a": "DATA"}})
    return whole.encode().replace(b'"DATA"', data)


def test_failure_policy_answers_what_cannot_be_evaluated(
    install: Install, client: Client, namespace: str
) -> None:
    """The webhook's own failurePolicy is Ignore: an HTTP error would let the object in."""
    revisions = rule("controllerrevisions", group="apps", operations=["*"])
    install(
        policy("none", revisions, validations=[ALLOWED]),
        policy("ignored", revisions, validations=[ALLOWED], failurePolicy="Ignore"),
        policy("others", rule("configmaps"), validations=[ALLOWED]),
        webhook={"failurePolicy": "Ignore"},
    )
    path = f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions"
    answers = {
        name: client.send("POST", path, revision(data), dryRun="All")
        for name, (data, _) in RAW.items()
    }
    for name, (_, reason) in RAW.items():
        answer = answers[name]
        assert (answer.status, answer.message[: len(CANNOT)]) == (422, CANNOT), name
        assert reason in answer.message
        assert len(answer.causes) == 1
    assert client.send("POST", path, revision(b"1"), dryRun="All").status == 201
