"""The reads of a Policy that is being converted: which kinds can be read, and what is declared so
far. Knows no engine.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path

from policyd.json_types import JSON, JSONObject
from policyd.option_values import selector_terms
from policyd.policy.checks.policy import is_secret
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.kinds.plural import plural
from policyd.policy.model.reads import ANY, SAME
from policyd.policy.source.loaded_documents import Document

_WORKLOADS = frozenset(
    {
        "pods", "deployments", "statefulsets", "daemonsets", "replicasets",
        "replicationcontrollers", "jobs", "cronjobs",
    }
)  # fmt: skip
_BY_NAME = "item.metadata.name"
_BY_NAMESPACE = "item.metadata.namespace"


def mapper_of(documents: Iterable[Document]) -> ResourceMapper:
    """Return the resources of Kubernetes, and of the kinds that documents define."""
    return BUILT_IN.with_definitions(definitions_among(each.raw for each in documents))


class Unreadable(ValueError):
    """Raised for what no read shows; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ReadKind:
    """The kind of a resource of the API."""

    api_version: str
    kind: str
    namespaced: bool
    resource: str

    @property
    def words(self) -> str:
        """The resource in the letters of the kind.

        >>> ReadKind("gateway.networking.k8s.io/v1", "HTTPRoute", True, "httproutes").words
        'httpRoutes'
        """
        letters = zip(self.kind.lower(), self.resource, strict=False)
        shared = len([*takewhile(lambda both: both[0] == both[1], letters)])
        words = (self.kind[:shared] + self.resource[shared:]).replace("-", "_")
        first = re.match(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]", words)
        return words if first is None else first[0].lower() + words[first.end() :]

    @property
    def built_in(self) -> bool:
        """Whether every cluster has it."""
        return (self.api_version, self.kind) in BUILTIN_KINDS


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """Where the objects of a read are: in the namespace ``written``, in the request's ``own``, in
    one that is ``data`` (CEL), or anywhere.
    """

    written: str = ""
    own: bool = False
    data: str = ""

    @property
    def namespace(self) -> str:
        """Return ``namespace`` of a read."""
        return SAME if self.own else self.written or ANY


@dataclass(frozen=True, slots=True)
class PolicyReads:
    """``mapper`` knows the kinds of the ``sources``, ``matched`` are kinds that the policy names,
    by group and resource. ``within``: the namespace of a policy that reads no other.
    """

    mapper: ResourceMapper = BUILT_IN
    sources: Sequence[Document] = ()
    matched: Mapping[tuple[str, str], str] = field(default_factory=dict)
    within: str = ""
    _declared: list[tuple[str, JSONObject]] = field(default_factory=list)

    def kind(self, api_version: str, resource: str, *, placed: bool) -> ReadKind:
        """Return the kind of a resource; ``placed``: one that nobody defines is in namespaces.

        Raises Unreadable.
        """
        group = api_version.rpartition("/")[0]
        for kind in self.mapper.kinds_of(group):
            namespaced = self.mapper.namespaced_kind((api_version, kind))
            if namespaced is None or self.mapper.of(api_version, kind).resource != resource:
                continue
            if is_secret(group, kind):
                raise Unreadable(f"policyd reads no {resource}, which hold credentials")
            return ReadKind(api_version, kind, namespaced, resource)
        if (group, resource) in _custom_kinds():
            return ReadKind(api_version, *_custom_kinds()[group, resource], resource)
        named = [self.matched.get((each, resource), "") for each in (group, "*")]
        named += [each.kind for each in self.sources if each.group == group]
        for kind in named:
            if kind and plural(kind) == resource:
                return ReadKind(api_version, kind, placed, resource)
        raise Unreadable(
            f"neither Kubernetes nor a CustomResourceDefinition of the sources has {resource} "
            f"of {api_version}"
        )

    def objects(
        self, kind: ReadKind, place: ReadPlace, labels: JSON = None, *, everywhere: bool = False
    ) -> str:
        """Return CEL of the objects in a place. ``everywhere``: the namespace that is data may be
        empty, for all of them. Raises Unreadable.
        """
        if not place.data:
            return self._declare(kind, place.namespace, labels=labels)
        key = f"['', string({_BY_NAMESPACE})]" if everywhere else _BY_NAMESPACE
        whole = self._declare(kind, ANY, "ByNamespace", key, labels)
        return f"{whole}[?{place.data}].orValue([])"

    def by_name(self, kind: ReadKind, place: ReadPlace, name: str) -> tuple[str, str]:
        """Return CEL of the objects by their names, and the key of one whose ``name`` is CEL.

        Raises Unreadable.
        """
        if not place.data:
            return self._declare(kind, place.namespace, "ByName", _BY_NAME), name
        key = f"{_BY_NAMESPACE} + '/' + {_BY_NAME}"
        return self._declare(kind, ANY, "ByName", key), f"{place.data} + '/' + {name}"

    def _declare(
        self, kind: ReadKind, namespace: str, suffix: str = "", key: str = "", labels: JSON = None
    ) -> str:
        if self.within and namespace not in (SAME, self.within):
            raise Unreadable("a policy of a namespace reads objects of this namespace only")
        read: JSONObject = {"apiVersion": kind.api_version, "kind": kind.kind}
        # Nobody knows offline that a custom kind has no namespaces.
        if namespace != SAME and (kind.namespaced or not kind.built_in):
            read["namespace"] = namespace
        if labels:
            read["labelSelector"] = labels
        if key:
            read["key"] = key
        same = [one for _, one in self._declared if {**one, "name": ""} == {"name": "", **read}]
        if same:
            return f"reads.{same[0]['name']}"
        plain = kind.words + suffix
        alike = [one for _, one in self._declared if one["name"].rstrip("0123456789") == plain]
        name = f"{plain}{len(alike) + 1}" if alike else plain
        self._declared.append((kind.resource, {"name": name, **read}))
        return f"reads.{name}"

    def added_to(self, spec: JSONObject) -> JSONObject:
        """Return the ``spec`` of a Policy with the reads that its expressions use. They show the
        stored version of the request's own object, as an API server does.
        """
        names = {*re.findall(r"\breads\.(\w++)", json.dumps(spec))}
        requested = frozenset(_requested(spec))
        used = [
            {**read, **({"self": True} if {resource, "*"} & requested else {})}
            for resource, read in self._declared
            if read["name"] in names
        ]
        return {**spec, "reads": used} if used else spec


@cache
def _custom_kinds() -> dict[tuple[str, str], tuple[str, bool]]:
    """Return kinds of well-known projects, and whether they are in namespaces."""
    table = json.loads(Path(__file__).with_name("custom_kinds.json").read_bytes())
    return {
        (group, plural(kind)): (kind, scope == "namespaced")
        for scope, groups in table.items()
        for group, kinds in groups.items()
        for kind in kinds.split()
    }


def _requested(spec: JSONObject) -> Iterator[str]:
    """Yield the resources that the requests of a policy may be for."""
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        yield from (name.partition("/")[0] for name in rule.get("resources") or ())
    if spec.get("podControllers"):
        yield from _WORKLOADS


def selected_labels(text: str) -> JSONObject:
    """Return a label selector such as ``a=b,c in (d,e)`` as a read has it. Raises Unreadable."""
    try:
        terms = selector_terms(text)["matchExpressions"]
    except ValueError as error:
        raise Unreadable(f"`{text}` is not {error}") from None
    if all(each["operator"] == "In" and len(each["values"]) == 1 for each in terms):
        labels = {each["key"]: each["values"][0] for each in terms}
        if len(labels) == len(terms):
            return {"matchLabels": labels}
    return {"matchExpressions": terms}
