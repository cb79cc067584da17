"""Load and compile test documents, and send requests to the policies. No tests here."""

import copy
import json
from base64 import b64decode
from typing import Any

import jsonpatch
import orjson

from policyd.admission.lookups.authorizer import Authorizer
from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_text
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod

POD = pod(container("c", "nginx"), labels={"app": "web"})


def loaded(*documents: JSONObject) -> Sources:
    """Load the documents, one per line, as one source ``t.yaml``."""
    return load_text("\n".join(orjson.dumps(each).decode() for each in documents), "t.yaml")


def wrongs(*documents: JSONObject) -> list[str]:
    """Return ``path: message`` of every problem."""
    return [f"{problem.path}: {problem.message}" for problem in loaded(*documents).problems]


def compiled(*documents: JSONObject) -> CompiledPolicySet:
    """Compile the documents; PolicyError if there is a problem."""
    text = "\n---\n".join(map(json.dumps, documents))
    return compiler.compile_strict(load_text(text))


def load(*documents: JSONObject) -> PolicySet:
    """Load the documents as a PolicySet."""
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
    """Return the response to the review of an object; check that the object is not changed.

    ``request`` has fields that replace those derived from the object.
    """
    before = copy.deepcopy(obj)
    review = build_review(obj, overrides=request)
    answer = policies.review(review, webhook, timeout=timeout, authorizer=authorizer)
    assert obj == before
    response: JSONObject = answer["response"]
    return response


def patched(response: JSONObject, obj: JSONObject) -> JSONObject:
    """Return the object with the response's patch applied; there must be a patch."""
    after: JSONObject = jsonpatch.apply_patch(obj, json.loads(b64decode(response["patch"])))
    return after
