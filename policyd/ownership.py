"""Marks of policyd's objects in a cluster: labels, field manager, and the creating tool."""

from typing import Any

from policyd.json_types import JSONObject

POLICYD = "policyd"
MANAGER = POLICYD  # the field manager of everything that policyd writes
MANAGED_BY = "app.kubernetes.io/managed-by"
LABELS = {"app.kubernetes.io/name": POLICYD, MANAGED_BY: POLICYD}


def labels_in(found: JSONObject) -> dict[str, Any]:
    """Return the labels of an object."""
    return (found.get("metadata") or {}).get("labels") or {}


def owners_in(found: JSONObject) -> list[Any]:
    """Return the ownerReferences: an object is deleted with its owners."""
    return (found.get("metadata") or {}).get("ownerReferences") or []


def owned_by(wanted: JSONObject, namespace: JSONObject | None) -> JSONObject:
    """Return the object with a Namespace, if there is one, as its owner."""
    if namespace is None:
        return wanted
    metadata = namespace["metadata"]
    owner = {"apiVersion": "v1", "kind": "Namespace"}
    owner |= {"name": metadata["name"], "uid": metadata["uid"]}
    return {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": [owner]}}


def maker(found: JSONObject) -> str:
    """Return the tool that an object's label names as its creator; empty if there is none."""
    return str(labels_in(found).get(MANAGED_BY, ""))


def without_maker(wanted: JSONObject) -> JSONObject:
    """Return the object without that label, to write to an object of another tool: Helm fails to
    upgrade an object if another client wrote a label that it writes.
    """
    labels = {key: value for key, value in labels_in(wanted).items() if key != MANAGED_BY}
    return {**wanted, "metadata": {**wanted["metadata"], "labels": labels}}
