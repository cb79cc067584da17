"""Objects of every recursive shape and depth, through a real server that records all it can."""

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from policyd.admission.confidential import is_confidential
from policyd.admission.review import decode
from tests.cluster.fake import Call, Reply, api_server, refusal
from tests.observability.tracing.receiver import receiving
from tests.server.process import Process, until
from tests.server.serve import serving

RULES = '{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}'
POLICIES = f"""\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: no-evil}}
spec:
  failurePolicy: Ignore
  matchConstraints: {{resourceRules: [{RULES}]}}
  validations:
  - expression: request.name != 'evil'
    messageExpression: "'no ' + request.name"
  auditAnnotations: [{{key: name, valueExpression: request.name}}]
---
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: selected}}
spec:
  rollout: {{enforce: {{newOnly: true}}}}
  exceptions:
  - {{name: legacy, reason: old, names: [legacy-*], objectSelector: {{matchLabels: {{team: ops}}}}}}
  matchConstraints:
    objectSelector: {{matchExpressions: [{{key: team, operator: NotIn, values: [ops, dev]}}]}}
    resourceRules: [{RULES}]
  validations:
  - expression: object.metadata.name != 'evil' && object == object && !(object in [object.metadata])
  - pattern: {{metadata: {{name: "!evil"}}}}
---
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: pods}}
spec:
  podControllers: true
  matchConstraints:
    objectSelector: {{matchExpressions: [{{key: team, operator: NotIn, values: [ops]}}]}}
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}}
  validations: [{{expression: "request.name != 'evil'"}}]
  mutations:
  - patchType: Overlay
    overlay: {{metadata: {{annotations: {{seen: "yes"}}}}}}
---
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: marked}}
spec:
  matchConstraints: {{resourceRules: [{RULES}]}}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: "[JSONPatch{{op: 'add', path: '/mark', value: {{'of': object.kind}}}}]"
"""
TRACED = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
# Where one more level of a shape is; the innermost value is "1".
SHAPES = {
    "maps": ('{"a":', "}"),
    "lists": ("[", "]"),
    "items": ('{"kind":"Thing","items":[', "]}"),
}
LEVELS = {"maps": 1, "lists": 1, "items": 2}
_OBJECT = ("request", "object")
PLACES = {
    "items": (*_OBJECT, "items"),
    "spec": (*_OBJECT, "spec"),
    "kind": (*_OBJECT, "kind"),
    "a label": (*_OBJECT, "metadata", "labels", "team"),
    "an annotation": (*_OBJECT, "metadata", "annotations", "x"),
    "owners": (*_OBJECT, "metadata", "ownerReferences"),
    "generateName": (*_OBJECT, "metadata", "generateName"),
    "metadata.uid": (*_OBJECT, "metadata", "uid"),
    "a label of the template": (*_OBJECT, "spec", "template", "metadata", "labels", "team"),
    "an unknown field": ("request", "more"),
    "options": ("request", "options", "x"),
    "the old object": ("request", "oldObject", "spec"),
}
KINDS = {
    "Thing": ("x.io", "things"),
    "Deployment": ("apps", "deployments"),
    "Secret": ("", "secrets"),
    "List": ("", "lists"),
}


def deep_review(kind: str, place: str, shape: str, depth: int, name: str) -> bytes:
    """A review whose value at the place is ``depth`` levels of the shape deep."""
    group, resource = KINDS[kind]
    obj: dict[str, Any] = {
        "apiVersion": f"{group}/v1".removeprefix("/"),
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "labels": {"a": "b"}},
    }
    request: dict[str, Any] = {
        "uid": "u-1",
        "kind": {"group": group, "version": "v1", "kind": kind},
        "resource": {"group": group, "version": "v1", "resource": resource},
        "operation": "CREATE",
        "name": name,
        "namespace": "shop",
        "userInfo": {"username": "ann"},
        "object": obj,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    *path, last = PLACES[place]
    node: Any = whole
    for key in path:
        node = node.setdefault(key, {})
    node[last] = "HERE"
    first, end = SHAPES[shape]
    times = depth // LEVELS[shape]
    return json.dumps(whole).replace('"HERE"', f"{first * times}1{end * times}").encode()


def depths() -> list[int]:
    """Depths to try: those at which something ended once, and some others; all of them with
    POLICYD_EVERY_DEPTH=1.
    """
    if os.environ.get("POLICYD_EVERY_DEPTH") == "1":
        return [*range(1, 1001)]
    seed = random.randrange(1 << 32)
    print(f"depths of seed {seed}")
    critical = {2, 254, 490, 980, 985, 990, 992, 993, 994, 995, 996, 997, 998, 999, 1000}
    return sorted(critical | set(random.Random(seed).sample(range(1, 1001), 5)))


def events(call: Call) -> Reply:
    return Reply(call.body) if "/events/" in call.path else refusal(404, "not found")


@contextmanager
def recording_all(folder: Path) -> Iterator[Process]:
    """A server with a log, captured reviews, Events and traces of all requests."""
    (folder / "policies.yaml").write_text(POLICIES)
    with api_server(folder, events) as api, receiving() as receiver:
        flags = (
            "--kubeconfig",
            str(api.kubeconfig()),
            "--events",
            "--capture",
            str(folder / "captured"),
            "--otlp-endpoint",
            receiver.url,
            "--trace-sample",
            "parent",
        )
        with serving(folder, folder / "policies.yaml", *flags) as server:
            yield server
        assert receiver.spans


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with recording_all(tmp_path_factory.mktemp("depths")) as server:
        yield server


def answer(connection: HTTPSConnection, path: str, body: bytes) -> dict[str, Any]:
    connection.request("POST", path, body, TRACED)
    found = connection.getresponse()
    text = found.read()
    assert found.status == 200, text
    response: dict[str, Any] = json.loads(text)["response"]
    return response


CASES = [
    *(("Thing", place, shape) for place in ("spec", "items", "a label") for shape in SHAPES),
    *(("Deployment", place, "maps") for place in PLACES),
    *((kind, "items", "items") for kind in ("Secret", "List")),
    *((kind, "kind", "lists") for kind in ("Secret", "List", "Thing")),
]


@pytest.mark.parametrize(("kind", "place", "shape"), CASES)
def test_a_denial_is_given_and_recorded_at_every_depth(
    server: Process, kind: str, place: str, shape: str
) -> None:
    connection = server.connect()
    for depth in depths():
        denied = deep_review(kind, place, shape, depth, "evil")
        readable = not decode(denied).unreadable
        validated = answer(connection, "/validate", denied)
        assert not validated["allowed"], depth
        message = validated["status"]["message"]
        assert "internal error" not in message, (depth, message)
        if readable and not is_confidential(decode(denied)):
            assert "no evil" in message, (depth, message)
        mutated = answer(connection, "/mutate", deep_review(kind, place, shape, depth, "good"))
        assert "internal error" not in str(mutated.get("status")), (depth, mutated)
    connection.close()


def test_nothing_was_lost(server: Process) -> None:
    """After all depths: no error of recording, and the server captures as before."""
    before = server.metric('policyd_captured_reviews_total{result="written"}')
    connection = server.connect()
    answer(connection, "/validate", deep_review("Thing", "spec", "maps", 3, "evil"))
    connection.close()
    until(
        lambda: server.metric('policyd_captured_reviews_total{result="written"}') > before,
        "a captured review",
    )
    for part in ("recorder", "log", "denials", "events", "capture", "traces"):
        assert server.metric(f'policyd_recording_errors_total{{part="{part}"}}') == 0
    assert server.metric('policyd_captured_reviews_total{result="dropped"}') == 0
    assert not [each for each in server.lines() if each["event"] in ("defect", "log", "recording")]
