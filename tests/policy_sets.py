"""Documents of tests through loader and compiler, and requests to the policies that come of them. No tests here."""

import copy
import json
from base64 import b64decode
from typing import Any

import jsonpatch
import orjson

from policyd.admission.authorizer import Authorizer
from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.documents import Sources
from policyd.policy.source.loader import load_text
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod

POD = pod(container("c", "nginx"), labels={"app": "web"})


def loaded(*documents: JSONObject) -> Sources:
    """The documents as one source, ``t.yaml``, one a line."""
    return load_text("\n".join(orjson.dumps(each).decode() for each in documents), "t.yaml")


def wrongs(*documents: JSONObject) -> list[str]:
    """``path: message`` of every problem."""
    return [f"{problem.path}: {problem.message}" for problem in loaded(*documents).problems]


def compiled(*documents: JSONObject) -> CompiledPolicySet:
    """The documents compiled; PolicyError if there is anything wrong."""
    text = "\n---\n".join(map(json.dumps, documents))
    return compiler.compile_strict(load_text(text))


def load(*documents: JSONObject) -> PolicySet:
    """The same behind the facade."""
    return PolicySet(compiled(*documents))


def ask(
    policies: PolicySet,
    obj: JSONObject = POD,
    *,
    webhook: Any = "validate",
    timeout: float | None = None,
    authorizer: Authorizer | None = None,
    **request: Any,
) -> JSONObject:
    """The response to the review of an object, which is checked to be left alone.

    ``request`` has fields that are not to follow from the object.
    """
    before = copy.deepcopy(obj)
    review = build_review(obj, overrides=request)
    answer = policies.review(review, webhook, timeout=timeout, authorizer=authorizer)
    assert obj == before
    response: JSONObject = answer["response"]
    return response


def patched(response: JSONObject, obj: JSONObject) -> JSONObject:
    """The object after the response's patch, which must be there."""
    after: JSONObject = jsonpatch.apply_patch(obj, json.loads(b64decode(response["patch"])))
    return after
