"""The policies' view of one request: the values of ``object``, ``request``, ``namespaceObject`` and
the other variables. Matches and evaluates nothing.
"""

from collections.abc import Callable
from functools import partial

from policyd._core.match.equivalents import GvkTuple
from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject, subject_of
from policyd._core.values.errors import CelError
from policyd._core.values.types import KeyedMap
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.lookups.sources import NamespaceSource
from policyd.admission.review import AdmissionRequest
from policyd.json_types import JSON
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadSource, Shown, ShownTable
from policyd.policy.kinds.controllers import pod_of, template_path

POD = ("", "v1", "Pod")


class Subjects:
    """Builds the Subject of one request for each view that policies have of it; equal ones are
    shared.
    """

    def __init__(
        self,
        request: AdmissionRequest,
        namespaces: NamespaceSource,
        authorizer: Authorizer | None = None,
        *,
        schemas: Schemas,
        reads: ReadSource | None = None,
        noted: SeenReads | None = None,
    ) -> None:
        self.request = request
        self.object: JSON = request.object
        self.namespaces = namespaces
        self.authorizer = authorizer
        self.schemas = schemas
        self._reads = None if reads is None else _reads_of(reads, request, noted)
        # Few policies see it.
        self._namespace = partial(_namespace, namespaces, request) if request.namespace else None
        self._made: dict[tuple[GvkTuple, GvkTuple, bool], Subject] = {}

    def showing(self, changed: JSON) -> "Subjects":
        """Return the same request with ``changed`` as its object."""
        made = object.__new__(Subjects)
        made.__dict__.update(self.__dict__, object=changed, _made={})
        return made

    def subject(self, hit: Hit, as_pod: bool) -> Subject:
        """Return the subject for a policy matched by ``hit``."""
        key = (hit.kind, hit.resource, as_pod)
        made = self._made.get(key)
        if made is None:
            request = self.request
            obj, old, within = self.object, request.old_object, ""
            if as_pod or hit.api_version:
                obj, old = self.seen(obj, hit, as_pod), self.seen(old, hit, as_pod)
                within = ".".join(template_path(self.object)) if as_pod else ""
            why = hit.mismatch or request.unreadable
            if why:
                obj, old = _unreadable(obj, why), _unreadable(old, why)
            made = self._made[key] = subject_of(
                hit,
                obj,
                old,
                request,
                self._namespace,
                self.authorizer,
                within,
                POD if as_pod else hit.kind,
                self.schemas,
                self._reads,
            )
        return made

    def seen(self, obj: JSON, hit: Hit, as_pod: bool) -> JSON:
        """Return the object as a policy matched by ``hit`` sees it."""
        if as_pod:
            obj = self.pod(obj)
        if hit.api_version and isinstance(obj, dict):
            # A custom resource in another version of its kind, converted with strategy None.
            return {**obj, "apiVersion": hit.api_version}
        return obj

    def pod(self, obj: JSON) -> JSON:
        """Return the Pod of a controller's template, in the request's namespace."""
        return pod_of(obj, self.request.namespace)


def _namespace(namespaces: NamespaceSource, request: AdmissionRequest) -> JSON:
    """Return ``namespaceObject``; null for Namespaces, whose namespace is their own name."""
    if request.is_namespace:
        return None
    found = namespaces.object(request.namespace)
    return found() if callable(found) else found


def _unreadable(obj: JSON, why: str) -> JSON:
    """Return an object whose every read is an evaluation error with the message ``why``."""
    return None if obj is None else CelError(why)


def _reads_of(
    source: ReadSource, request: AdmissionRequest, noted: SeenReads | None = None
) -> Callable[[CompiledRead, bool], Shown | CelError]:
    """Return a function that returns the objects of a read; its flag is true if a policy only looks
    up keys. Policies see the same objects while nothing changes in the cluster. ``noted`` records
    them.
    """
    seen: dict[tuple[ShownTable, bool], tuple[int, Shown | CelError]] = {}

    def shown(read: CompiledRead, keyed: bool) -> Shown | CelError:
        table = source.table(read)
        if isinstance(table, CelError):
            return table
        known = seen.get((table, keyed))
        if known is not None and known[0] == table.changes:
            return known[1]
        found = table.shown_to(request, keyed=keyed)
        seen[table, keyed] = table.changes, found
        return found

    if noted is None:
        return shown

    def noting(read: CompiledRead, keyed: bool) -> Shown | CelError:
        found = shown(read, keyed)
        if keyed and isinstance(found, dict):
            found = KeyedMap({}, found)
        return noted.note(read, found)

    return noting
