"""Webhook configurations as policyd wants them and as an API server stores them. No tests here."""

import base64
from typing import Any

from policyd.json_types import JSONObject
from policyd.tls.issuing import new_authority
from policyd.webhooks.validation.decoding import with_defaults

VALIDATING = "ValidatingWebhookConfiguration"
EXCLUDED = ("kube-system", "policyd")
LABELS = {"app.kubernetes.io/managed-by": "policyd"}
NAME = "kubernetes.io/metadata.name"
ONE, TWO, THREE = (new_authority(1e9, 1e9).certificate for _ in range(3))


def namespaces(operator: str, *names: str) -> JSONObject:
    return {"matchExpressions": [{"key": NAME, "operator": operator, "values": list(names)}]}


def ruled(resource: str, *operations: str, group: str = "") -> JSONObject:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations or ("CREATE",)),
        "resources": [resource],
        "scope": "*",
    }


def webhook(name: str, *rules: JSONObject, **more: Any) -> JSONObject:
    return {
        "name": f"{name}.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "policyd", "namespace": "policyd", "path": "/x"}},
        "sideEffects": "None",
        "rules": list(rules),
        "namespaceSelector": namespaces("NotIn", *EXCLUDED),
        **more,
    }


def configuration(*webhooks: JSONObject, **metadata: Any) -> JSONObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": VALIDATING,
        "metadata": {"name": "policyd", "labels": LABELS, **metadata},
        "webhooks": list(webhooks),
    }


def bundled(found: JSONObject, *bundle: bytes) -> JSONObject:
    """The configuration with a caBundle in each webhook."""
    encoded = base64.b64encode(b"".join(bundle)).decode()
    hooks = [
        {**each, "clientConfig": {**each["clientConfig"], "caBundle": encoded}}
        for each in found["webhooks"]
    ]
    return {**found, "webhooks": hooks}


def stored(found: JSONObject) -> JSONObject:
    """As the API server gives it back."""
    metadata = {**found["metadata"], "uid": "u", "resourceVersion": "7", "generation": 2}
    return {**with_defaults(found), "metadata": metadata}


PODS, JOBS = ruled("pods"), ruled("jobs", group="batch")
FAIL = configuration(webhook("fail", PODS))
BOTH = {
    "matchExpressions": [
        *namespaces("NotIn", "a", "b")["matchExpressions"],
        {"key": "x", "operator": "Exists"},
    ]
}
REVERSED = {
    "matchExpressions": [
        {"key": "x", "operator": "Exists"},
        *namespaces("NotIn", "b", "a")["matchExpressions"],
    ]
}
