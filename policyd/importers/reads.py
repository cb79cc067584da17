"""The reads of a Policy that is being converted: which kinds can be read, and what is declared so
far. Knows no engine.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix

from policyd.json_types import JSON, JSONObject
from policyd.option_values import selector_terms
from policyd.policy.checks.reads import is_secret
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.reads import ANY, SAME
from policyd.policy.source.loaded_documents import Document

_WORKLOADS = frozenset(
    {
        "pods", "deployments", "statefulsets", "daemonsets", "replicasets",
        "replicationcontrollers", "jobs", "cronjobs",
    }
)  # fmt: skip
BY_NAME = "item.metadata.name"
BY_NAMESPACE = "item.metadata.namespace"
BY_BOTH = "item.metadata.namespace + '/' + item.metadata.name"
_SUFFIXES = {BY_NAME: "ByName", BY_BOTH: "ByName", BY_NAMESPACE: "ByNamespace"}


class Unreadable(ValueError):
    """Raised for what no read shows; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ReadKind:
    """The kind of a resource of the API."""

    api_version: str
    kind: str
    resource: str
    namespaced: bool

    @property
    def built_in(self) -> bool:
        """Whether every cluster has it."""
        return (self.api_version, self.kind) in BUILTIN_KINDS


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
        """Return the kind of a resource; ``placed``: a namespace is named. Raises Unreadable."""
        group = api_version.rpartition("/")[0]
        for kind in self.mapper.kinds_of(group):
            namespaced = self.mapper.namespaced_kind((api_version, kind))
            if namespaced is None or self.mapper.of(api_version, kind).resource != resource:
                continue
            if is_secret(group, kind):
                raise Unreadable(f"policyd reads no {resource}, which hold credentials")
            return ReadKind(api_version, kind, resource, namespaced)
        if (group, resource) in self.matched:
            return ReadKind(api_version, self.matched[group, resource], resource, placed)
        raise Unreadable(
            f"neither Kubernetes nor a CustomResourceDefinition of the sources has {resource} "
            f"of {api_version}"
        )

    def declare(
        self, kind: ReadKind, *, namespace: str = ANY, key: str = "", labels: JSON = None
    ) -> str:
        """Return ``reads.NAME`` for objects of a kind. Raises Unreadable."""
        if self.within and namespace not in (SAME, self.within):
            raise Unreadable("a policy of a namespace reads objects of this namespace only")
        read: JSONObject = {"apiVersion": kind.api_version, "kind": kind.kind}
        if kind.namespaced and namespace != SAME:
            read["namespace"] = namespace
        if labels:
            read["labelSelector"] = labels
        if key:
            read["key"] = key
        same = [one for _, one in self._declared if {**one, "name": ""} == {"name": "", **read}]
        if same:
            return f"reads.{same[0]['name']}"
        name, number = _name(kind) + _SUFFIXES.get(key, ""), 2
        while any(one["name"] == name for _, one in self._declared):
            name, number = f"{name.rstrip('0123456789')}{number}", number + 1
        self._declared.append((kind.resource, {"name": name, **read}))
        return f"reads.{name}"

    def added_to(self, spec: JSONObject) -> JSONObject:
        """Return the ``spec`` of a Policy with the reads that its expressions use. They show the
        stored version of the request's own object, as an API server does.
        """
        text = json.dumps(spec)
        names = frozenset(_requested(spec))
        used = [
            {**read, **({"self": True} if {resource, "*"} & names else {})}
            for resource, read in self._declared
            if re.search(rf"\breads\.{read['name']}\b", text)
        ]
        return {**spec, "reads": used} if used else spec


def _name(kind: ReadKind) -> str:
    """Return the plural of a kind in the letters of the kind.

    >>> _name(ReadKind("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes", True))
    'httpRoutes'
    """
    shared = len(commonprefix([kind.kind.lower(), kind.resource]))
    words = (kind.kind[:shared] + kind.resource[shared:]).replace("-", "_")
    first = re.match(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]", words)
    return words if first is None else first[0].lower() + words[first.end() :]


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
