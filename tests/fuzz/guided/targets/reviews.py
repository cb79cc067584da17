"""AdmissionReviews: bytes through both webhooks, against a fixed set of policies."""

import base64
import json
from functools import cache
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply
from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.review import AdmissionRequest, decode, encode
from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import ReviewError
from policyd.offline.admitting import Turns
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from tests import shared
from tests.builders.reviews import body
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

DATA = shared.ROOT / "tools/bench/data"
# Every kind of mutation, patterns, params, matchConditions, messages, annotations.
POLICIES = ("tools/bench/data/vap", "policies")
MUTATING = ("label-json-01", "label-apply-02", "label-overlay-03", "container-apply-04")
WORDS = (
    "CREATE",
    "UPDATE",
    "DELETE",
    "CONNECT",
    "pods",
    "deployments",
    "apps",
    "v1",
    "Pod",
    "status",
    "metadata",
    "labels",
    "annotations",
    "namespace",
    "generateName",
    "ownerReferences",
    "kind",
    "spec",
    "containers",
    "initContainers",
    "securityContext",
    "resources",
    "limits",
    "volumes",
    "image",
    "env",
    "object",
    "oldObject",
    "options",
    "dryRun",
    "userInfo",
    "subResource",
    "name",
)


@cache
def policies() -> CompiledPolicySet:
    paths = [shared.ROOT / each for each in POLICIES]
    paths += [DATA / "map" / f"{name}.yaml" for name in MUTATING]
    return compiler.compile_sources(loader.load(paths))


def check(data: bytes) -> None:
    try:
        request = decode(data)
    except ReviewError as error:
        assert str(error)
        return
    webhooks: tuple[Webhook, ...] = ("mutate", "validate")
    decisions = []
    turns = Turns(request, webhooks)
    for asked, webhook in turns:
        response = engine.review(policies(), asked, webhook=webhook)
        answer = encode(response)
        assert answer == encode(engine.review(policies(), asked, webhook=webhook)), (
            "not the same twice"
        )
        decisions.append(valid(answer, asked)["allowed"])
        if response.patch is not None:
            patched(asked.object, json.loads(response.patch))
        turns.add(response)
    if not request.unreadable:
        assert equal(request.raw, decode(data).raw), "the request was changed"
        again = reordered(request.raw)
        assert decided(again) == all(decisions), "another decision after re-encoding"


def valid(answer: bytes, request: AdmissionRequest) -> dict[str, Any]:
    """The response, whose form is what an API server requires."""
    review = json.loads(answer)
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = review["response"]
    # What JSON cannot represent in a uid is replaced; an API server sends a UUID.
    assert response["uid"] == request.uid.encode("utf-8", "replace").decode() or not ascii(
        request.uid
    )
    assert type(response["allowed"]) is bool
    assert response["allowed"] == ("status" not in response)
    if "patch" in response:
        assert response["allowed"] and response["patchType"] == "JSONPatch"
        assert isinstance(json.loads(base64.b64decode(response["patch"])), list)
    if not response["allowed"]:
        assert 400 <= response["status"]["code"] < 600 and response["status"]["message"]
    assert all(isinstance(each, str) for each in response.get("warnings", []))
    return response


def patched(obj: Any, operations: list[dict[str, Any]]) -> None:
    """Another library gets the same from the patch as the core does."""
    ours = apply(operations, obj)
    try:
        with deep_recursion():
            theirs = jsonpatch.apply_patch(obj, operations)
    except JsonPointerException:
        return  # it has no keys "-"
    assert equal(ours, theirs), "jsonpatch reads the patch differently"


def reordered(request: dict[str, Any]) -> bytes:
    """The same review with the keys of all objects in another order, other spaces and escapes."""
    review = {
        "request": request,
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
    }
    with deep_recursion():
        return json.dumps(backwards(review), indent=1).encode()


def backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [*map(backwards, value)] if isinstance(value, list) else value


def decided(data: bytes) -> bool:
    turns = Turns(decode(data), ("mutate", "validate"))
    allowed = True
    for asked, webhook in turns:
        response = engine.review(policies(), asked, webhook=webhook)
        allowed = allowed and response.allowed
        turns.add(response)
    return allowed


def seeds() -> list[bytes]:
    recorded = [*shared.lines(DATA / "bodies.jsonl.gz")][::12]
    recorded += [*shared.lines(DATA / "bodies-full.jsonl.gz")][:2]
    return [
        *recorded,
        body(),
        body(operation="DELETE", object=None),
        b'{"request":{"uid":"\\ud800"}}',
    ]


TARGET = FuzzTarget(check, seeds, mutating.json_mutation(WORDS))
