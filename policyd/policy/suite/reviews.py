"""Build AdmissionReviews from objects, as an API server would send them, and Namespace objects.
For tests and command-line use.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd._core.match.labels import NAMESPACE_NAME
from policyd.defaulting import placing
from policyd.errors import ReviewError
from policyd.json_types import JSONObject
from policyd.near_names import did_you_mean, nearest
from policyd.policy.kinds.mapping import BUILT_IN, UNDEFINED, ResourceMapper
from policyd.policy.kinds.subresources import SUBRESOURCE_OF_KIND

UID = "00000000-0000-0000-0000-706f6c696379"
# The sender of a request, unless one is named. The API server adds the group to every user that it
# authenticates.
DEFAULT_USER = "policyd"
DEFAULT_GROUPS = ("system:authenticated",)
DEFAULT_NAMESPACE = "default"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_UNDEFINED_HINT = "add its CustomResourceDefinition to the policies or to the manifests"
_PARTS = 3  # of GROUP/VERSION/RESOURCE


class ResourceNeeded(ReviewError):
    """The resource of a request does not follow from its object. The caller adds how to name it."""


def build_review(
    obj: Mapping[str, Any] | None,
    *,
    old_object: Mapping[str, Any] | None = None,
    operation: str | None = None,
    user: str = DEFAULT_USER,
    groups: Sequence[str] = DEFAULT_GROUPS,
    overrides: Mapping[str, Any] | None = None,
    mapper: ResourceMapper = BUILT_IN,
    default_namespace: str = DEFAULT_NAMESPACE,
) -> dict[str, Any]:
    """Return the AdmissionReview of one request; omitted arguments are derived from the object.

    Without ``operation`` it is CREATE, UPDATE if both objects are given, DELETE if only the old
    one is. A DELETE has only oldObject, an UPDATE without one changes nothing. ``mapper`` decides
    the resource of the object and whether it is namespaced; one without a namespace is in
    ``default_namespace`` then. Options of CONNECT, an Eviction and the like go to their
    subresource. ``overrides`` are fields of the request (camelCase).

    Raises ResourceNeeded for an object of a subresource that many resources have.
    """
    seen: Mapping[str, Any] = obj or old_object or {}
    api_version, kind = str(seen.get("apiVersion", "")), str(seen.get("kind", ""))
    target = SUBRESOURCE_OF_KIND.get((api_version, kind))
    if operation is None:
        operation = "CREATE" if old_object is None else "DELETE" if obj is None else "UPDATE"
        operation = operation if target is None else target.operation
    if operation == "DELETE":
        obj, old_object = None, old_object if old_object is not None else obj
    elif operation == "UPDATE" and old_object is None:
        old_object = obj
    group, _, version = api_version.rpartition("/")
    metadata = seen.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    kind_triple = given.get("kind", {"group": group, "version": version, "kind": kind})
    resource = given.get("resource") or _resource(api_version, kind, mapper)
    if target is not None and target.resource in ("", resource.get("resource")):
        given.setdefault("subResource", target.subresource)
    kind_of = _OPTIONS.get(operation)
    request: dict[str, Any] = {
        "uid": UID,
        "kind": kind_triple,
        "resource": resource,
        "requestKind": kind_triple,
        "requestResource": resource,
        "name": str(metadata.get("name") or ""),
        "namespace": "",
        "operation": operation,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": obj,
        "oldObject": old_object,
        "dryRun": False,
        "options": None if kind_of is None else {"kind": kind_of, "apiVersion": "meta.k8s.io/v1"},
    }
    if (api_version, kind) == ("v1", "Namespace"):
        request["namespace"] = request["name"]
    elif is_namespaced(api_version, kind, resource, mapper):
        request["namespace"] = str(metadata.get("namespace") or default_namespace)
    if "subResource" in given:
        request["requestSubResource"] = given["subResource"]
    if isinstance(given.get("userInfo"), Mapping):
        given["userInfo"] = {"username": user, **given["userInfo"]}
    request |= given
    for absent in ("name", "namespace", "subResource", "requestSubResource"):
        if not request.get(absent):
            request.pop(absent, None)  # the API server omits empty fields
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _resource(api_version: str, kind: str, mapper: ResourceMapper) -> JSONObject:
    target = SUBRESOURCE_OF_KIND.get((api_version, kind))
    if target is None:
        return mapper.of(api_version, kind).gvr
    if not target.resource:
        raise ResourceNeeded(
            f"many resources have the subresource {target.subresource} of a {kind}"
        )
    return {"group": "", "version": "v1", "resource": target.resource}


def is_namespaced(
    api_version: str, kind: str, resource: Mapping[str, Any], mapper: ResourceMapper
) -> bool:
    """Whether a request for a resource is in a namespace; if the resource is unknown, that follows
    from the kind of the object.
    """
    scope = mapper.namespaced(str(resource.get("group", "")), str(resource.get("resource", "")))
    return mapper.of(api_version, kind).namespaced if scope is None else scope


def resource_of(text: str, api_version: str, kind: str, mapper: ResourceMapper) -> JSONObject:
    """Parse ``pods``, ``v1/pods`` or ``apps/v1/deployments``. Without a version it is the version
    of the object; of a subresource, which has another group than its resource, the one that is
    known. Raises ValueError.
    """
    *home, name = text.split("/")
    if not name or not all(home) or len(home) >= _PARTS:
        raise ValueError(
            f"expected RESOURCE, VERSION/RESOURCE or GROUP/VERSION/RESOURCE, got {text!r}"
        )
    if not home and (api_version, kind) in SUBRESOURCE_OF_KIND:
        known = mapper.named(name)
        if len(known) == 1:
            return known[0].gvr
        example = _meant(name, "", mapper) or "apps/v1/deployments"
        raise ValueError(f"expected GROUP/VERSION/RESOURCE, as {example}, got {text!r}")
    home_of = "/".join(home) or api_version
    group, _, version = home_of.rpartition("/")
    unknown = group in BUILT_IN_GROUPS and mapper.namespaced(group, name) is None
    if unknown or name != name.lower():
        meant = _meant(name, home_of, mapper)
        hint = f"; did you mean {meant}?" if meant else ""
        raise ValueError(f"{home_of} has no resource {name}{hint}")
    return {"group": group, "version": version, "resource": name}


def _meant(name: str, api_version: str, mapper: ResourceMapper) -> str:
    """Return the known resource, with its version, that is meant by a name, such as a kind's;
    empty if none.
    """
    texts = ["/".join(filter(None, each[:3])) for each in mapper.guessed(name)]
    return max(texts, key=lambda each: each.startswith(f"{api_version}/"), default="")


class Assumption(NamedTuple):
    """The assumptions of requests for objects of a kind, and the remedy."""

    text: str
    hint: str


def assumption(
    api_version: str, kind: str, resource: Mapping[str, Any] | None, mapper: ResourceMapper
) -> Assumption | None:
    """Return what a request for an object of a kind assumes; None: nothing. ``resource`` is the one
    that is given; None: it is derived.
    """
    found = mapper.of(api_version, kind)
    if (api_version, kind) in SUBRESOURCE_OF_KIND or not found.doubt:
        return None
    scope = "namespaced" if found.namespaced else "cluster-scoped"
    assumed = f"{scope}, no defaults"
    if resource is None:
        assumed = f"resource {found.resource}, {assumed}"
    elif mapper.namespaced(resource["group"], resource["resource"]) is not None:
        return None
    text = f"{kind} of {api_version}: {found.doubt}; assumed: {assumed}"
    if found.doubt == UNDEFINED:
        return Assumption(text, _UNDEFINED_HINT)
    group = api_version.rpartition("/")[0]
    near = nearest(kind, mapper.kinds_of(group), ratio=0.8)
    homes = [each for each in mapper.of_kind(kind) if not each.doubt]
    if homes and not near:
        home = next((each for each in homes if each.version == "v1"), homes[-1])
        version = f"{home.group}/{home.version}" if home.group else home.version
        return Assumption(text, f"write apiVersion: {version}")
    return Assumption(text, did_you_mean(kind, mapper.kinds_of(group)))


def in_namespace(review: JSONObject) -> JSONObject:
    """Return the review with its namespace set in its objects, as the API server does before it
    calls webhooks.
    """
    return {**review, "request": placing.in_namespace(review["request"])}


def namespace(
    name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the Namespace object with these labels and the name label that all namespaces have."""
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {**labels, NAMESPACE_NAME: name},
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
