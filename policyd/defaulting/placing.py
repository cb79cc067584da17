"""The namespace of an object, which the API server sets before admission
(k8s.io/apiserver pkg/registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace).
"""

from collections.abc import Mapping

from policyd.json_types import JSON, JSONObject

FIELDS = ("object", "oldObject")


def placed(obj: JSONObject, namespace: str) -> JSONObject:
    """Return an object in this namespace, unless it names one; without one if the namespace is
    empty.
    """
    given = obj.get("metadata")
    metadata: JSONObject = dict(given) if isinstance(given, Mapping) else {}
    own = metadata.pop("namespace", None)
    if bool(own) == bool(namespace):
        return obj
    return {**obj, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}


def _is_namespace(obj: Mapping[str, JSON]) -> bool:
    return (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Namespace")


def in_namespace(request: Mapping[str, JSON]) -> JSONObject:
    """Return an AdmissionRequest whose objects are in its namespace. Objects of a cluster-scoped
    resource lose theirs. The options of CONNECT are not objects, and a Namespace has no namespace.
    """
    if request.get("operation") == "CONNECT":
        return dict(request)
    objects = {
        field: placed(dict(request[field]), str(request.get("namespace") or ""))
        for field in FIELDS
        if isinstance(request.get(field), Mapping) and not _is_namespace(request[field])
    }
    return {**request, **objects}
