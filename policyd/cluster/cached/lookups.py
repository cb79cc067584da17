"""Answers lookups from followed lists if possible, and else from the API server.

An object that is not in a list may have been created a moment ago: only the API server can report
that it does not exist, as when Kubernetes looks for a namespace or a param.
"""

from collections.abc import Container

from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.admission.lookups.wanted import WantedParams
from policyd.cluster.cached.reads import CachedReads
from policyd.cluster.client import ClusterClient
from policyd.cluster.listing import list_path
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from policyd.policy.model.base import labels_of


class CachedParams:
    """The objects of one resource that bindings refer to, in one namespace or in all.

    They are kept whole, because an expression may read any field.
    """

    def __init__(self, client: ObjectClient, served: Served, wanted: WantedParams) -> None:
        path = list_path(served, wanted.namespace if served.namespaced else "")
        self.served = served
        fields, labels = _selectors(wanted)
        watched = Watched(path.lstrip("/"), labels, fields)
        self.reflector = Reflector(client, watched, keep=self._keep)
        self._wanted = wanted

    @property
    def usable(self) -> bool:
        """Whether the list is complete and in use."""
        return self.reflector.usable

    def find(self, question: ParamsOf) -> tuple[JSONObject, ...]:
        """The known objects; empty if there may be none."""
        if question.name:
            found = self.reflector.objects.get((question.namespace, question.name))
            return () if found is None else (found,)
        selector = self._wanted.selectors.get(question.selector)
        if selector is None:
            return ()
        return tuple(
            each
            for (namespace, _), each in self.reflector.objects.items()
            if namespace == question.namespace and selector.matches(labels_of(each))
        )

    def _keep(self, found: JSONObject) -> JSONObject | None:
        name = str(found["metadata"].get("name"))
        return found if self._wanted.covers(name, labels_of(found)) else None


class CachedLookups:
    """A LookupClient that combines ``client`` with lists, which may change at any time."""

    def __init__(self, client: ClusterClient, max_read_bytes: int) -> None:
        self._client = client
        # Unknown objects are requested one by one.
        self.may, self.namespace = client.may, client.namespace
        self.kind, self.params = client.kind, client.params
        self.namespaces: Reflector | None = None
        # By kind (apiVersion, kind), then by namespace: "" has the objects of all namespaces.
        self._params: dict[tuple[str, str], dict[str, tuple[WantedParams, CachedParams]]] = {}
        self.reads = CachedReads(max_read_bytes)
        self.known_table, self.table = self.reads.known_table, self.reads.table

    def add_params(self, wanted: WantedParams, cached: CachedParams) -> None:
        """Use this list for the wanted objects."""
        places = self._params.setdefault((wanted.api_version, wanted.kind), {})
        places[wanted.namespace] = wanted, cached

    def keep_params(self, wanted: Container[WantedParams]) -> None:
        """Use only the lists of wanted objects."""
        self._params = {
            kind: {place: each for place, each in places.items() if each[0] in wanted}
            for kind, places in self._params.items()
        }

    def known_namespace(self, name: str) -> JSONObject | None:
        """The Namespace if it is known."""
        listed = self.namespaces
        if listed is None or not listed.usable:
            return self._client.known_namespace(name)
        return listed.objects.get(("", name))

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """The resource of a kind if it is built in, listed or known otherwise."""
        for _, each in self._params.get((question.api_version, question.kind), {}).values():
            if each.usable:
                return (each.served,)
        return self._client.known_kind(question)

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """The params if they are known."""
        places = self._params.get((question.api_version, question.kind), {})
        listed = places.get("") or places.get(question.namespace)
        if listed is None or not listed[1].usable:
            return self._client.known_params(question)
        found = listed[1].find(question)
        if found:
            return found
        # Their absence is cached until one appears in the list, for a second at most.
        return () if self._client.known_params(question) == () else None


def _selectors(wanted: WantedParams) -> tuple[str, str]:
    """The field and label selectors that restrict a list to the wanted objects, if possible."""
    names, selections = [*wanted.names], [*wanted.selections]
    if len(names) == 1 and not selections:
        return f"metadata.name={names[0]}", ""
    return "", selections[0] if len(selections) == 1 and not names else ""
