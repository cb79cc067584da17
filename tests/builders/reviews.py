"""AdmissionReviews as an API server sends them, and their requests.

policyd's ``build_review`` builds one from an object; these builders do not use it.
"""

import orjson

from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map


def admission_review(request: JSONObject) -> JSONObject:
    """A review with this request."""
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def review(**changes: JSON) -> JSONObject:
    """The AdmissionReview of a ConfigMap; changing a field to None removes it."""
    request: JSONObject = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "settings",
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "ann", "groups": ["devs"]},
        "object": config_map(data={"a": "1"}),
        **changes,
    }
    return admission_review({key: value for key, value in request.items() if value is not None})


def body(**changes: JSON) -> bytes:
    """The same as bytes, with the newline that the API server sends."""
    return orjson.dumps(review(**changes)) + b"\n"


def request(resource: str = "/v1/pods", kind: str = "Pod", **fields: JSON) -> JSONObject:
    """The request for ``group/version/resource``; ``sent`` is what the webhook gets."""
    sent = fields.pop("sent", resource)
    keys = ("group", "version")
    return {
        "kind": dict(zip(keys, sent.split("/"), strict=False), kind=kind),
        "resource": dict(zip((*keys, "resource"), sent.split("/"), strict=True)),
        "requestKind": dict(zip(keys, resource.split("/"), strict=False), kind=kind),
        "requestResource": dict(zip((*keys, "resource"), resource.split("/"), strict=True)),
        "operation": "CREATE",
        "namespace": "shop",
        "name": "web",
        **fields,
    }
