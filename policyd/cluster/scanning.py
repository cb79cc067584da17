"""Reads the objects of a cluster that policies match, each as a request that would create it now.

Reads objects page by page and keeps none. Needs no client library: the reader is an argument.
Evaluates nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.admission.lookups.sources import LookedUpNamespaces, NamespaceName
from policyd.cluster.listing import (
    ApiReader,
    ApiReadError,
    Page,
    document_of,
    list_path,
    pages,
    pages_of,
    served,
)
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.kinds.match_targets import ListedResource, MatchTargets, PolicyKey
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.reviews import build_review

NAMESPACES = Served("", "v1", "namespaces", "Namespace", False)
# Called with the current action, the number of processed objects, and the total.
ScanProgress = Callable[[str, int, int], None]


class ParamReader(Protocol):
    """Reads params of any kind; returns the reason if it cannot."""

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """Look up the resource of a params kind; empty if it is not served."""

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Look up params that no document contains."""


@dataclass(frozen=True, slots=True)
class ScannedObject:
    """An object, its request and the policies to evaluate; none if they check its owner."""

    document: Document
    review: JSONObject
    policies: frozenset[PolicyKey]


class Scan:
    """One pass over a cluster: ``start``, then ``objects`` of each target, in order.

    ``user_info`` is the user of the requests. Without ``namespaces`` the scan covers all of them,
    and cluster-scoped objects. ``owned``: also check objects whose owner the same policy checks.
    ``unread`` lists failed reads with their reasons; ``incomplete`` are the resources, with the
    namespace or "" for all, whose list is incomplete.
    """

    def __init__(
        self,
        reader: ApiReader,
        reach: MatchTargets,
        *,
        user_info: JSONObject,
        namespaces: tuple[str, ...] = (),
        owned: bool = False,
    ) -> None:
        self._reader = reader
        self._reach = reach
        self._user_info = user_info
        self._names = tuple(dict.fromkeys(namespaces))
        self._owned = owned
        self._namespaces: dict[str, JSONObject] = {}
        # The kinds of objects that each policy has checked: (group, kind).
        self._seen: dict[PolicyKey, set[tuple[str, str]]] = {}
        self.unread: list[str] = []
        self.incomplete: set[tuple[Served, str]] = set()

    def start(self) -> list[ListedResource]:
        """Return the resources to list, owners before the objects that they create.

        Raises ConfigError if the cluster cannot be queried at all, or a namespace is missing.
        """
        try:
            resources = served(self._reader, self._reach.names_group, self.unread.append)
            targets = self._reach.targets(resources)
        except ApiReadError as error:
            raise ConfigError(f"cannot discover the cluster's resources: {error}") from None
        self._read_namespaces()
        if self._names:
            return [each for each in targets if each.served.namespaced or each.served == NAMESPACES]
        return targets

    # Namespaces

    def namespaces(self) -> LookedUpNamespaces:
        """The Namespaces of the cluster, for an evaluation."""
        return LookedUpNamespaces(self._namespace)

    def uids_of_namespaces(self) -> frozenset[str]:
        """The UIDs of the selected Namespaces; empty if all are."""
        found = (self._namespaces[name] for name in self._names)
        return frozenset(str(each["metadata"].get("uid") or "") for each in found)

    def _read_namespaces(self) -> None:
        try:
            if not self._names:
                for page in pages(self._reader, list_path(NAMESPACES)):
                    self._namespaces |= {each["metadata"]["name"]: each for each in page.items}
        except ApiReadError:
            pass  # each Namespace is then looked up when a policy needs it
        for name in self._names:
            found = self._namespace(NamespaceName(name))
            if isinstance(found, Failure):
                raise ConfigError(f"--namespace {name}: {found.why}")

    def _namespace(self, question: NamespaceName) -> JSONObject | Failure:
        known = self._namespaces.get(question.name)
        if known is not None:
            return known
        try:
            found = self._reader.get(f"{list_path(NAMESPACES)}/{question.name}")
        except ApiReadError as error:
            return Failure(str(error))
        self._namespaces[question.name] = found
        return found

    # Objects

    def objects(self, target: ListedResource, advance: ScanProgress) -> Iterator[ScannedObject]:
        """Yield the objects of a resource; record failed reads, and continue."""
        doing, done = f"checking {target.served.label}", 0
        for namespace, listed in self._lists(target.served):
            try:
                for page in listed:
                    total = done + len(page.items) + page.remaining
                    advance(doing, done, total)
                    for item in page.items:
                        document = document_of(item, target.served)
                        review = self._review(document, target.served)
                        yield ScannedObject(document, review, self._policies_for(item, target))
                        done += 1
                        advance(doing, done, total)
            except ApiReadError as error:
                where = f" in {namespace}" if namespace else ""
                self.unread.append(f"cannot list {target.served.label}{where}: {error}")
                self.incomplete.add((target.served, namespace))
        if done:
            for key in target.policies:
                self._seen.setdefault(key, set()).add((target.served.group, target.served.kind))

    def _lists(self, resource: Served) -> Iterator[tuple[str, Iterator[Page]]]:
        """Yield lists of pages, each with its namespace."""
        if not self._names:
            yield "", pages_of(self._reader, resource)
        elif resource == NAMESPACES:
            yield "", iter([Page([self._namespaces[name] for name in self._names], 0)])
        else:
            for name in self._names:
                yield name, pages_of(self._reader, resource, name)

    def _policies_for(self, item: JSONObject, target: ListedResource) -> frozenset[PolicyKey]:
        """The policies that check the object: not those that have checked its owner's kind."""
        if self._owned:
            return target.policies
        for owner in item["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                group = str(owner.get("apiVersion", "")).rpartition("/")[0]
                kind = (group, str(owner.get("kind")))
                checked_owner = {key for key in target.policies if kind in self._seen.get(key, ())}
                return target.policies - checked_owner
        return target.policies

    def _review(self, document: Document, resource: Served) -> JSONObject:
        overrides: dict[str, Any] = {
            "resource": {
                "group": resource.group,
                "version": resource.version,
                "resource": resource.resource,
            },
            "userInfo": self._user_info,
        }
        if resource != NAMESPACES:  # the namespace of a Namespace is its own name
            overrides["namespace"] = document.namespace
        return build_review(document.raw, operation="CREATE", overrides=overrides)
