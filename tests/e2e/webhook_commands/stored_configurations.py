"""Webhook configurations that a test's API server stores, and policies for one namespace."""

from typing import Any

from policyd.json_types import JSONObject
from tests.builders.policies import policy
from tests.e2e.cluster import Cluster

VALIDATING = "validatingwebhookconfigurations"
MUTATING = "mutatingwebhookconfigurations"
API = "/apis/admissionregistration.k8s.io/v1"


def within(namespace: str, *rules: JSONObject, name: str = "p", **spec: Any) -> JSONObject:
    """A policy for one namespace."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return policy(name, *rules, match={"namespaceSelector": selector}, **spec)


def stored(api: Cluster, resource: str, name: str) -> JSONObject:
    status, found = api.call("GET", f"{API}/{resource}/{name}")
    assert status == 200, found
    assert isinstance(found, dict)
    return found
