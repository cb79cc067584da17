"""Policies that need a cluster, what is in it, and reviews by them. No tests here."""

import asyncio
from typing import Any

from policyd.admission.engine import Webhook
from policyd.admission.recorder import PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode
from policyd.admission.with_cluster import review_with
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.admission.lookups import clusters
from tests.builders.policies import policy
from tests.policy_sets import POD

SECOND = 1_000_000_000


def get(resource: str) -> str:
    return f"authorizer.group('').resource('{resource}').check('get')"


def validating(name: str, *expressions: str, **spec: Any) -> JSONObject:
    return policy(name, validations=[{"expression": text} for text in expressions], **spec)


def adding(name: str, *values: str, **spec: Any) -> JSONObject:
    """One mutation for each value, which is added under a label of its number."""
    patches = [
        f"[JSONPatch{{op: 'add', path: '/metadata/labels/l{number}', value: {value}}}]"
        for number, value in enumerate(values)
    ]
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}} for text in patches]
    return policy(name, mutations=mutations, **spec)


class Listening(Recorder):
    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.lookups: list[str] = []

    def lookup(self, what: Any, result: Any, nanoseconds: int) -> None:
        self.lookups.append(result)

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        self.told.append((event.what, event.policy, event.message))

    def patch_operations(self, policy: str, count: int) -> None:
        self.told.append(("operations", policy, str(count)))


NAMESPACE = POD["metadata"]["namespace"]


MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}


def param(
    name: str, says: str, namespace: str = "", of: JSONObject = MAPS, **labels: str
) -> JSONObject:
    metadata: JSONObject = {"name": name, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    return {**of, "metadata": metadata, "data": {"says": says}}


HERE = param("p", "here", NAMESPACE, team="a")


def request_of(
    obj: JSONObject = POD, user: str = "bob", old_object: JSONObject | None = None
) -> AdmissionRequest:
    """The request that creates an object, or updates the old one."""
    return decode(build_review(obj, user=user, old_object=old_object))


def reviewed(
    cluster: clusters.Ignorant,
    policies: CompiledPolicySet,
    webhook: Webhook = "validate",
    obj: JSONObject = POD,
    old_object: JSONObject | None = None,
    **more: Any,
) -> AdmissionResponse:
    """The response to the request that creates an object, with what the cluster knows."""
    request = request_of(obj, old_object=old_object)
    return asyncio.run(review_with(cluster, policies, request, webhook=webhook, **more))
