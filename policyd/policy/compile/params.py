"""Parameter objects, objects of reads and namespaces of the policy sources, without a cluster.
Compiles nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from policyd._core.match.labels import NAMESPACE_NAME
from policyd._core.match.selectors import Selector
from policyd._core.values.errors import CelError
from policyd.defaulting.defaults import Defaults
from policyd.defaulting.placing import placed
from policyd.json_types import JSONObject, object_in
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.base import labels_of


class ParamError(Exception):
    """Params cannot be found; the message is Kubernetes', after ``failed to configure …: ``."""


@dataclass(frozen=True, slots=True)
class KnownParamKind:
    """A parameter kind (apiVersion, kind) and its objects by (namespace, name), in that order."""

    namespaced: bool
    builtin: bool
    objects: Mapping[tuple[str, str], JSONObject]
    name: tuple[str, str]


class ParamStore:
    """Static parameter objects, looked up by paramKind and paramRef (k8s.io/apiserver
    CollectParams).
    """

    def __init__(self, objects: Iterable[JSONObject], crds: Iterable[JSONObject] = ()) -> None:
        self._objects = objects = tuple(objects)
        self._crds = crds = tuple(crds)
        self._mapper = mapper = BUILT_IN.with_definitions(crds)
        found: dict[tuple[str, str], dict[tuple[str, str], JSONObject]] = {}
        for obj in objects:
            kind = (str(obj.get("apiVersion")), str(obj.get("kind")))
            meta = object_in(obj, "metadata")
            key = (str(meta.get("namespace") or ""), str(meta.get("name") or ""))
            found.setdefault(kind, {})[key] = obj
        for kinds in mapper.convertible:
            _convert(found, kinds)
        self._found = found
        self._kinds: dict[tuple[str, str], KnownParamKind] = {}
        for kind, members in found.items():
            namespaced = mapper.namespaced_kind(kind)
            if namespaced is None:
                namespaced = any(where for where, _ in members)
            self._kinds[kind] = self.kind_in(kind, namespaced)

    def including(self, objects: Iterable[JSONObject]) -> "ParamStore":
        """Return these params and more, which replace others of the same kind and name."""
        return ParamStore((*self._objects, *objects), self._crds)

    def defining(self, crds: Iterable[JSONObject]) -> "ParamStore":
        """Return these params, whose kinds are also known by these CustomResourceDefinitions."""
        return ParamStore(self._objects, (*self._crds, *crds))

    def kind(self, param_kind: tuple[str, str]) -> KnownParamKind:
        """Return the kind with its objects; raises ParamError for an unknown kind."""
        known = self._kinds.get(param_kind)
        if known is not None:
            return known
        namespaced = self._mapper.namespaced_kind(param_kind)
        if namespaced is not None:
            return self.kind_in(param_kind, namespaced)
        raise ParamError(unknown_kind(param_kind))

    def kind_in(self, param_kind: tuple[str, str], namespaced: bool) -> KnownParamKind:
        """Return a kind whose scope is known, with its objects."""
        # As with kubectl, an object without a namespace is in "default".
        keyed = {
            ((namespace or "default") if namespaced else "", name): obj
            for (namespace, name), obj in self._found.get(param_kind, {}).items()
        }
        objects = {key: placed(obj, key[0]) for key, obj in sorted(keyed.items())}
        return KnownParamKind(namespaced, param_kind in BUILTIN_KINDS, objects, param_kind)

    def knows(self, param_kind: tuple[str, str]) -> bool:
        """Whether the sources have objects or a definition of the kind."""
        return param_kind in self._kinds or self._mapper.namespaced_kind(param_kind) is not None

    def is_certain(self, param_kind: tuple[str, str]) -> bool:
        """Whether the scope of the kind is certain, so that a cluster can only add objects."""
        return self._mapper.namespaced_kind(param_kind) is not None

    def settles(self, param_kind: tuple[str, str], ref: CompiledParamRef | None) -> bool:
        """Whether the sources alone determine the params of ``ref`` for every request."""
        if not self.is_certain(param_kind):
            return False
        if ref is None:
            return True
        kind = self.kind(param_kind)
        if kind.namespaced and not ref.namespace:
            return False
        where = ref.namespace if kind.namespaced else ""
        return (where, ref.name) in kind.objects

    def collect(
        self, kind: KnownParamKind, ref: CompiledParamRef, namespace: str
    ) -> list[JSONObject]:
        """Return the params of a binding for a request in ``namespace``, sorted by name."""
        return collect(kind, ref, namespace, find)


def collect(
    kind: KnownParamKind,
    ref: CompiledParamRef,
    namespace: str,
    search: Callable[[KnownParamKind, CompiledParamRef, str], list[JSONObject]],
) -> list[JSONObject]:
    """Return the params of a binding for a request in ``namespace``; ``search`` returns the objects
    that a paramRef selects in one namespace, as ``find`` does.
    """
    if not kind.namespaced and ref.namespace:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    where = (ref.namespace or namespace) if kind.namespaced else ""
    if kind.namespaced and not where:
        raise ParamError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    hits = search(kind, ref, where)
    if not hits and ref.deny_when_missing:
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return hits


def find(kind: KnownParamKind, ref: CompiledParamRef, where: str) -> list[JSONObject]:
    """Return the objects of ``kind`` that ``ref`` selects in a namespace."""
    if ref.name:
        obj = kind.objects.get((where, ref.name))
        return [] if obj is None else [obj]
    selector = Selector(dict(ref.selector or {}))
    return [
        obj
        for key, obj in kind.objects.items()
        if key[0] == where and selector.matches(labels_of(obj))
    ]


def unknown_kind(param_kind: tuple[str, str]) -> str:
    """Return the error message for an unknown kind."""
    api_version, kind = param_kind
    # Kubernetes writes the core group as an empty name.
    home = api_version if "/" in api_version else f"/{api_version}"
    return f"failed to find resource referenced by paramKind: '{home}, Kind={kind}'"


def key_of(obj: JSONObject, namespaced: bool) -> tuple[str, str]:
    """Return namespace and name of an object of a cluster."""
    metadata = obj.get("metadata") or {}
    return (metadata.get("namespace") or "" if namespaced else "", metadata.get("name") or "")


class KnownReads:
    """A ReadSource of documents: they are all objects that there are."""

    def __init__(self, objects: ParamStore, mapper: ResourceMapper) -> None:
        self._objects = objects
        self._mapper = mapper
        self._tables: dict[CompiledRead, ReadTable] = {}

    def table(self, read: CompiledRead) -> ReadTable:
        """Return the objects of a read."""
        made = self._tables.get(read)
        if made is None:
            found = self._mapper.of(read.api_version, read.kind)
            resource = (found.group, found.resource)
            made = ReadTable(read, resource, namespaced=found.namespaced)
            kind = self._objects.kind_in((read.api_version, read.kind), found.namespaced)
            for key, each in kind.objects.items():
                made.put(key, each)
            self._tables[read] = made
        return made


class UnknownReads:
    """A ReadSource that has nothing, with the reason why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def table(self, read: CompiledRead) -> CelError:
        """Return the error of every read."""
        return CelError(f"{read.label}: {self._why}")


class Namespaces:
    """The namespaces of the policy sources; an unknown one has only its name and the name label."""

    def __init__(self, objects: Iterable[JSONObject] = ()) -> None:
        self._labels: dict[str, dict[str, str]] = {}
        self._objects: dict[str, JSONObject] = {}
        for obj in objects:
            metadata = obj.get("metadata")
            name = str(metadata.get("name")) if isinstance(metadata, dict) else ""
            labels = {**labels_of(obj), NAMESPACE_NAME: name}
            self._labels[name] = labels
            self._objects[name] = _exposed(obj, labels)

    def including(self, objects: Iterable[JSONObject]) -> "Namespaces":
        """Return these namespaces and more (or some of them with other labels)."""
        added = Namespaces(objects)
        added._labels = {**self._labels, **added._labels}
        added._objects = {**self._objects, **added._objects}
        return added

    def __contains__(self, name: str) -> bool:
        return name in self._labels

    def labels(self, name: str) -> dict[str, str] | str:
        """Return the labels of a namespace, or as a string the reason why they are unknown."""
        return self._labels.get(name) or {NAMESPACE_NAME: name}

    def object(self, name: str) -> JSONObject:
        """Return ``namespaceObject`` for a request in that namespace."""
        known = self._objects.get(name)
        if known is not None:
            return known
        return {
            "metadata": {"name": name, "labels": {NAMESPACE_NAME: name}},
            "spec": {},
            "status": {},
        }


# The fields of namespaceObject, from k8s.io/apiserver cel.CreateNamespaceObject.
_EXPOSED_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


def _exposed(obj: JSONObject, labels: dict[str, str]) -> JSONObject:
    meta = object_in(obj, "metadata")
    shown: JSONObject = {key: meta[key] for key in _EXPOSED_METADATA if meta.get(key) is not None}
    shown["labels"] = dict(labels)
    return {"metadata": shown, "spec": obj.get("spec") or {}, "status": obj.get("status") or {}}


def stored(obj: JSONObject, mapper: ResourceMapper, defaults: Defaults) -> JSONObject:
    """Return a param as the API server stores it: with the defaults of the version in which it is
    written, and of that in which it is kept.
    """
    home, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
    written: JSONObject = defaults.applied(obj)
    defined = mapper.defined(home, kind)
    if defined is None or not defined.convertible or not defined.stored:
        return written
    group = home.rpartition("/")[0]
    kept = defaults.applied({**written, "apiVersion": f"{group}/{defined.stored}"})
    return {**kept, "apiVersion": home}


def _convert(
    found: dict[tuple[str, str], dict[tuple[str, str], JSONObject]],
    versions: Iterable[tuple[str, str]],
) -> None:
    """Add the objects of each version to the others, except where they have their own."""
    written = {kind: found[kind].copy() for kind in versions if kind in found}
    for target in versions:
        for kind, objects in written.items():
            for key, obj in objects.items() if kind != target else ():
                found.setdefault(target, {}).setdefault(key, {**obj, "apiVersion": target[0]})


def without_type(obj: JSONObject) -> JSONObject:
    """Return ``obj`` without apiVersion and kind, as a MutatingAdmissionPolicy gets params of a
    built-in kind.
    """
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
