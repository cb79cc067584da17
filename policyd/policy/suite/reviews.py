"""Build AdmissionReviews from objects, as an API server would send them, and Namespace objects.
For tests and command-line use.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCES

UID = "00000000-0000-0000-0000-706f6c696379"
DEFAULT_USER = "policyd-test"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def build_review(
    obj: Mapping[str, Any] | None,
    *,
    old_object: Mapping[str, Any] | None = None,
    operation: str | None = None,
    user: str = DEFAULT_USER,
    groups: Sequence[str] = ("system:authenticated",),
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the AdmissionReview of one request; omitted arguments are derived from the object.

    Without ``operation`` it is CREATE, UPDATE if both objects are given, DELETE if only the old
    one is. A DELETE has only oldObject, an UPDATE without one changes nothing. A namespaced object
    without a namespace is in ``default``. Options of CONNECT, an Eviction and the like go to their
    subresource. ``overrides`` are fields of the request (camelCase).
    """
    seen: Mapping[str, Any] = obj or old_object or {}
    api_version, kind = str(seen.get("apiVersion", "")), str(seen.get("kind", ""))
    target = SUBRESOURCES.get((api_version, kind))
    if operation is None and target is not None:
        operation = target.operation
    elif operation is None:
        operation = "CREATE" if old_object is None else "DELETE" if obj is None else "UPDATE"
    if operation == "DELETE":
        obj, old_object = None, old_object if old_object is not None else obj
    elif operation == "UPDATE" and old_object is None:
        old_object = obj
    group, _, version = api_version.rpartition("/")
    metadata = seen.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    kind_triple = {"group": group, "version": version, "kind": kind}
    resource = {"group": group, "version": version, "resource": plural(kind)}
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    if target is not None and target.resource:
        resource = {"group": "", "version": "v1", "resource": target.resource}
    kind_triple, resource = given.get("kind", kind_triple), given.get("resource", resource)
    if target is not None and target.resource in ("", resource.get("resource")):
        given.setdefault("subResource", target.subresource)
    request: dict[str, Any] = {
        "uid": UID,
        "kind": kind_triple,
        "resource": resource,
        "requestKind": kind_triple,
        "requestResource": resource,
        "name": str(metadata.get("name") or ""),
        "namespace": _namespace(api_version, kind, metadata),
        "operation": operation,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": obj,
        "oldObject": old_object,
        "dryRun": False,
        "options": _options(operation),
    }
    if "subResource" in given:
        request["requestSubResource"] = given["subResource"]
    if isinstance(given.get("userInfo"), Mapping):
        given["userInfo"] = {"username": user, **given["userInfo"]}
    request |= given
    for absent in ("name", "namespace", "subResource", "requestSubResource"):
        if not request.get(absent):
            request.pop(absent, None)  # the API server omits empty fields
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def in_namespace(review: JSONObject) -> JSONObject:
    """Return the review with its namespace set in its objects, as the API server does before it
    calls webhooks. Options of CONNECT have no namespace.
    """
    request = dict(review["request"])
    namespace = request.get("namespace")
    if not namespace or request["operation"] == "CONNECT":
        return review
    for field in ("object", "oldObject"):
        obj = request[field]
        if isinstance(obj, Mapping) and obj.get("kind") != "Namespace":
            metadata = obj.get("metadata")
            metadata = metadata if isinstance(metadata, Mapping) else {}
            request[field] = {**obj, "metadata": {**metadata, "namespace": namespace}}
    return {**review, "request": request}


def namespace(
    name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the Namespace object with these labels and the name label that all namespaces have."""
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {**labels, "kubernetes.io/metadata.name": name},
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _options(operation: str) -> dict[str, str] | None:
    kind = _OPTIONS.get(operation)
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1"} if kind else None


def _namespace(api_version: str, kind: str, metadata: Mapping[str, Any]) -> str:
    """Return the namespace of the object; unknown kinds count as namespaced."""
    if (api_version, kind) == ("v1", "Namespace"):
        return str(metadata.get("name") or "")
    target = SUBRESOURCES.get((api_version, kind))
    if not (BUILTIN_KINDS.get((api_version, kind), True) if target is None else target.namespaced):
        return ""
    return str(metadata.get("namespace") or "default")
