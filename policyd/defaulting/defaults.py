"""``Defaults``: the defaults of all known kinds, applied to manifests and to their requests."""

from collections.abc import Mapping

from policyd._core.json.sizes import is_deeper
from policyd._core.patch.diff import diff
from policyd.cel.syntax.recursion import deep_recursion
from policyd.defaulting.placing import FIELDS, in_namespace
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import Gvk, Schemas

_DEEPEST = 1_000  # levels of an object


class Defaults:
    """The defaults of the kinds in these schemas, in their Kubernetes version."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def applied(self, obj: JSON) -> JSON:
        """Return an object as webhooks see it; unchanged if its kind is unknown, or if it is too
        deep for policies.
        """
        if not isinstance(obj, dict):
            return obj
        kind = self._schemas.lookup(*Gvk.of_object(obj))
        if kind is None or is_deeper(obj, _DEEPEST):
            return obj
        # Imported here because a server needs them only for params among its files.
        from policyd.defaulting.builtin import with_defaults
        from policyd.defaulting.custom import with_structural_defaults

        with deep_recursion():
            if kind.native:
                return with_defaults(obj, kind, self._schemas.version)
            return with_structural_defaults(obj, kind)

    def request(self, request: Mapping[str, JSON]) -> JSONObject:
        """Return an AdmissionRequest whose objects, but not the options of CONNECT, have their
        defaults and namespace.
        """
        if request.get("operation") == "CONNECT":
            return dict(request)
        found = in_namespace(request)
        return {**found, **{each: self.applied(found[each]) for each in FIELDS if each in found}}

    def review(self, review: JSONObject) -> JSONObject:
        """Return an AdmissionReview with such a request."""
        return {**review, "request": self.request(review["request"])}

    def changes(self, raw: JSON, before: JSON, after: JSON) -> tuple[list[JSONObject], JSON]:
        """Return the changes by mutations to a manifest: the JSON patch and the new manifest."""
        from policyd.defaulting.written import written

        with deep_recursion():
            result = written(raw, before, after)
        return diff(raw, result, self._schemas.list_keys(Gvk.of_object(raw))), result
