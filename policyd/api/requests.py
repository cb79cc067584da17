"""build_review: the AdmissionReview that the API server would send for a plain manifest."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from policyd.json_types import JSON
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.suite import reviews

RequestOperation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


def build_review(
    object: Mapping[str, JSON] | None,
    old: Mapping[str, JSON] | None = None,
    operation: RequestOperation | None = None,
    *,
    user: str = reviews.DEFAULT_USER,
    groups: Sequence[str] = ("system:authenticated",),
    name: str | None = None,
    namespace: str | None = None,
    resource: str | None = None,
    subresource: str = "",
    dry_run: bool = False,
) -> dict[str, JSON]:
    """Return the AdmissionReview (admission.k8s.io/v1) of a request for ``object``, as a dict that
    can be changed.

    ``operation`` defaults to CREATE; to UPDATE if ``old`` is given too; to DELETE if only ``old``
    is. A DELETE takes its object from either argument and sends it as oldObject; an UPDATE without
    ``old`` changes nothing; the ``object`` of CONNECT is its options, such as PodExecOptions.

    ``namespace`` defaults to that of the object, else to ``default`` for namespaced kinds; unknown
    kinds count as namespaced unless it is ``""``. It is written into the object, as the API server
    does (k8s.io/apiserver pkg/registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace).
    ``name`` defaults to that of the object; a CONNECT needs it.

    ``resource`` is the plural of the kind; give it for a custom resource with an irregular plural,
    or if the resource has another group and version than the object: ``"v1/pods"`` with
    ``subresource="exec"``, ``"apps/v1/deployments"`` with ``"scale"``.

    Raises ``ValueError`` for an object without apiVersion or kind, an unknown operation, and a
    namespace that contradicts the object or its kind.
    """
    seen = object if object is not None else old
    if seen is None:
        raise ValueError("object or old is needed")
    for each in (object, old):
        _check(each)
    if operation not in (None, *_OPERATIONS):
        raise ValueError(f"operation must be one of {', '.join(_OPERATIONS)}, not {operation!r}")
    overrides: dict[str, Any] = {"name": name, "subResource": subresource or None}
    if namespace is not None:
        _check_namespace(seen, namespace)
        overrides["namespace"] = namespace
    if resource is not None:
        overrides["resource"] = _resource(resource, str(seen["apiVersion"]))
    review = reviews.build_review(
        None if object is None else dict(object),
        old_object=None if old is None else dict(old),
        operation=operation,
        user=user,
        groups=groups,
        overrides=overrides,
    )
    request = review["request"]
    if dry_run:
        request["dryRun"] = True
        if request["options"] is not None:
            request["options"] = {**request["options"], "dryRun": ["All"]}
    return reviews.in_namespace(review)


def _check(obj: Mapping[str, JSON] | None) -> None:
    for field in ("apiVersion", "kind"):
        value = "" if obj is None else obj.get(field)
        if obj is not None and not (isinstance(value, str) and value):
            raise ValueError(f"the object needs {field}, a string; got {value!r}")


def _check_namespace(obj: Mapping[str, JSON], namespace: str) -> None:
    kind = str(obj["kind"])
    if namespace and not BUILTIN_KINDS.get((str(obj["apiVersion"]), kind), True):
        raise ValueError(f"a {kind} is cluster-scoped, so it has no namespace {namespace!r}")
    metadata = obj.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    if own and own != namespace:
        raise ValueError(f"the object is in namespace {own!r}, not in {namespace!r}")


def _resource(named: str, api_version: str) -> dict[str, str]:
    """Parse ``pods``, ``v1/pods`` or ``apps/v1/deployments``; ``pods`` has the object's group."""
    version, slash, resource = named.rpartition("/")
    group, _, version = (version if slash else api_version).rpartition("/")
    return {"group": group, "version": version, "resource": resource}
