"""build_review: the AdmissionReview that the API server would send for a plain manifest."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from policyd.api.policy_set import PolicySet
from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSON
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.match import OPERATIONS
from policyd.policy.suite import reviews

RequestOperation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


def build_review(
    object: Mapping[str, JSON] | None,
    old: Mapping[str, JSON] | None = None,
    operation: RequestOperation | None = None,
    *,
    user: str = reviews.DEFAULT_USER,
    groups: Sequence[str] = reviews.DEFAULT_GROUPS,
    name: str | None = None,
    namespace: str | None = None,
    resource: str | None = None,
    subresource: str = "",
    dry_run: bool = False,
    defaults: bool = True,
    policies: PolicySet | None = None,
) -> dict[str, JSON]:
    """Return the AdmissionReview (admission.k8s.io/v1) of a request for ``object``, as a dict that
    can be changed.

    ``operation`` defaults to CREATE; to UPDATE if ``old`` is given too; to DELETE if only ``old``
    is. A DELETE takes its object from either argument and sends it as oldObject; an UPDATE without
    ``old`` changes nothing; the ``object`` of CONNECT is its options, such as PodExecOptions.

    The objects get the defaults that the API server adds before admission, unless ``defaults`` is
    false. ``policies`` is the set that will evaluate the review: the CustomResourceDefinitions
    among its documents say which resource a custom kind is, whether it is namespaced, and which
    defaults it has; without them its plural is derived from the kind, and it is namespaced.
    Kubernetes' own defaults follow the set's Kubernetes version, else the newest.

    ``namespace`` defaults to the object's, else to ``default`` for namespaced kinds. It is
    written into the object, as the API server does. ``name`` defaults to the object's; a
    CONNECT needs it.

    ``resource`` is the plural of the kind; give it for a custom resource with an irregular plural
    that ``policies`` does not define, or if the resource has another group and version than the
    object: ``"v1/pods"`` with ``subresource="exec"``, ``"apps/v1/deployments"`` for a Scale.

    Raises ``ValueError`` for an object without apiVersion or kind, a List, an AdmissionReview, an
    unknown operation, a Scale without a resource, and a namespace that contradicts the object or
    its kind; ``TypeError`` for an object that is not a dict.
    """
    seen = object if object is not None else old
    if seen is None:
        raise ValueError("object or old is needed")
    for each in (object, old):
        if each is not None:
            _check(each)
    if operation not in (None, *OPERATIONS):
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    mapper, added = _known(policies)
    overrides = _overrides(seen, namespace, resource, mapper)
    overrides |= {"name": name, "subResource": subresource or None}
    try:
        review = reviews.build_review(
            None if object is None else dict(object),
            old_object=None if old is None else dict(old),
            operation=operation,
            user=user,
            groups=groups,
            overrides=overrides,
            mapper=mapper,
        )
    except reviews.ResourceNeeded as error:
        raise ValueError(f'{error}: name it, as in resource="apps/v1/deployments"') from None
    request = review["request"]
    if dry_run:
        request["dryRun"] = True
        if request["options"] is not None:
            request["options"] = {**request["options"], "dryRun": ["All"]}
    return added.review(review) if defaults else reviews.in_namespace(review)


def _overrides(
    seen: Mapping[str, JSON], namespace: str | None, resource: str | None, mapper: ResourceMapper
) -> dict[str, Any]:
    """Return the resource and the namespace of the request, if given."""
    found: dict[str, Any] = {}
    if resource is not None:
        kind = (str(seen["apiVersion"]), str(seen["kind"]))
        found["resource"] = reviews.resource_of(resource, *kind, mapper)
    if namespace is not None:
        _check_namespace(seen, namespace, found.get("resource"), mapper)
        found["namespace"] = namespace
    return found


def _known(policies: PolicySet | None) -> tuple[ResourceMapper, Defaults]:
    """Return the kinds that a set knows, or Kubernetes' own."""
    if policies is None:
        return BUILT_IN, Defaults(Schemas.builtin())
    if not isinstance(policies, PolicySet):
        raise TypeError(f"policies must be a PolicySet, not {type(policies).__name__}")
    compiled = policies._evaluator.policies
    return compiled.mapper, compiled.defaults


def _check(obj: Mapping[str, JSON]) -> None:
    if not isinstance(obj, Mapping):
        raise TypeError(
            f"expected an object as a dict, got {type(obj).__name__}: decode it first, for example "
            "with yaml.safe_load"
        )
    for field in ("apiVersion", "kind"):
        value = obj.get(field)
        if not (isinstance(value, str) and value):
            raise ValueError(f"the object needs {field}, a string; got {value!r}")
    if obj["kind"] == "AdmissionReview":
        raise ValueError("an AdmissionReview is a review already: evaluate it as it is")
    if str(obj["kind"]).endswith("List") and isinstance(obj.get("items"), list):
        raise ValueError(
            f"a {obj['kind']} has several objects, and a request is about one: call build_review "
            "for each of its items"
        )


def _check_namespace(
    obj: Mapping[str, JSON],
    namespace: str,
    resource: Mapping[str, str] | None,
    mapper: ResourceMapper,
) -> None:
    home, kind = str(obj["apiVersion"]), str(obj["kind"])
    found = mapper.of(home, kind).gvr if resource is None else resource
    if namespace and not reviews.is_namespaced(home, kind, found, mapper):
        raise ValueError(f"a {kind} is cluster-scoped, so it has no namespace {namespace!r}")
    metadata = obj.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    if own and own != namespace:
        raise ValueError(f"the object is in namespace {own!r}, not in {namespace!r}")
