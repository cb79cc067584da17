"""Reviews for server tests."""

from typing import Any

import orjson


def review(**changes: Any) -> dict[str, Any]:
    """The AdmissionReview of a ConfigMap; a change to None takes the field out."""
    request: dict[str, Any] = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "settings",
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "ann", "groups": ["devs"]},
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}},
    }
    request.update(changes)
    request = {key: value for key, value in request.items() if value is not None}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def body(**changes: Any) -> bytes:
    """The same as bytes, with the newline that the API server sends."""
    return orjson.dumps(review(**changes)) + b"\n"
