"""Requests that policies denied, what policies did to them, and a clock. No tests here."""

from typing import Any

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.reviews import request

REPLICA_SET: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-7d9f",
    "uid": "u-rs",
    "controller": True,
}


def denial(message: str = "no limits", **changes: Any) -> PolicyEvent:
    """What a policy did."""
    event = PolicyEvent("denial", "limits", message, "denied", "g1")
    return event._replace(**changes)


def of(resource: str = "/v1/pods", kind: str = "Pod", **fields: Any) -> AdmissionRequest:
    """A request; the object is a Pod with the ``metadata`` given."""
    metadata = fields.pop("metadata", {})
    made = pod()
    made["metadata"] = {"name": "web", "namespace": "shop", **metadata}
    return AdmissionRequest({"uid": "u-1", **request(resource, kind, object=made), **fields})


def of_controller(name: str = "web-7d9f-x2vqk", **fields: Any) -> AdmissionRequest:
    """The CREATE of a Pod by a ReplicaSet, as a validating webhook is sent it."""
    metadata = {
        "name": name,
        "generateName": "web-7d9f-",
        "ownerReferences": [REPLICA_SET],
        "uid": "of-this-attempt",
    }
    return of(name=name, metadata=metadata, **fields)


class HandClock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
