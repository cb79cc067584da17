"""``Defaults``: the defaults of all known kinds, applied to manifests and to their requests."""

from collections.abc import Iterable, Mapping

from policyd._core.patch.diff import diff
from policyd.cel.syntax.recursion import deep_recursion
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.offline.defaulting.builtin import with_defaults
from policyd.offline.defaulting.custom import with_structural_defaults
from policyd.offline.defaulting.written import written
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.definitions import KIND, usable
from policyd.versions import NEWEST, KubernetesVersion

_FIELDS = ("object", "oldObject")


class Defaults:
    """The defaults of the kinds in these schemas, as a Kubernetes version has them."""

    def __init__(self, schemas: Schemas, version: KubernetesVersion = NEWEST) -> None:
        self._schemas = schemas
        self._version = version

    @classmethod
    def of(cls, policies: CompiledPolicySet, manifests: Iterable[JSONObject] = ()) -> "Defaults":
        """Return the defaults for policies: of Kubernetes' version that they follow, with the
        CustomResourceDefinitions among their documents and these manifests.
        """
        found = [each for each in manifests if each.get("kind") == KIND and usable(each)]
        schemas = policies.schemas.with_crds(found) if found else policies.schemas
        return cls(schemas, policies.version)

    def applied(self, obj: JSON) -> JSON:
        """Return an object as webhooks see it; one of an unknown kind as it is."""
        if not isinstance(obj, dict):
            return obj
        group, _, version = str(obj.get("apiVersion")).rpartition("/")
        kind = self._schemas.lookup(group, version, str(obj.get("kind")))
        if kind is None:
            return obj
        with deep_recursion():
            if kind.native:
                return with_defaults(obj, kind, self._version)
            return with_structural_defaults(obj, kind)

    def request(self, request: Mapping[str, JSON]) -> JSONObject:
        """Return an AdmissionRequest whose objects have their defaults; the options of CONNECT
        are no objects.
        """
        if request.get("operation") == "CONNECT":
            return dict(request)
        objects = {field: self.applied(request[field]) for field in _FIELDS if field in request}
        return {**request, **objects}

    def review(self, review: JSONObject) -> JSONObject:
        """Return an AdmissionReview with such a request."""
        return {**review, "request": self.request(review["request"])}

    def changes(self, raw: JSON, before: JSON, after: JSON) -> tuple[list[JSONObject], JSON]:
        """Return what mutations change in a manifest: as JSON patch, and the manifest after it."""
        with deep_recursion():
            result = written(raw, before, after)
        group, _, version = str((raw or {}).get("apiVersion")).rpartition("/")
        keys = self._schemas.list_keys((group, version, str((raw or {}).get("kind"))))
        return diff(raw, result, keys), result
