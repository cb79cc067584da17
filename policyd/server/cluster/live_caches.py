"""The namespaces, params and objects of reads that the policies in use may need, kept in step with
the cluster.

A list is followed as long as a policy set needs it. Until it is complete, and without permission
to follow it, each namespace or param is looked up when a request needs it; reads are never looked
up.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.params import KindOf
from policyd.admission.lookups.wanted import (
    WantedNamespaces,
    WantedParams,
    WantedReads,
    wanted_lookups,
)
from policyd.observability.logs import Log
from policyd.observability.metrics.scrape import CacheState, ReadState
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.server.cluster.followed_lists import FIRST_LIST_SECONDS, FollowedLists, Following

if TYPE_CHECKING:
    from policyd.cluster.cached.reads import ReadList
    from policyd.cluster.client import ClusterClient
    from policyd.cluster.objects import ObjectClient
    from policyd.policy.kinds.served_resource import Served

# How often a waiting policy set checks whether its reads are complete.
PREPARED_SECONDS = 0.05
# Seconds until policyd lists objects again that took too much memory: there may be fewer.
FULL_SECONDS = (300.0, 600.0)
# Seconds until policyd looks up a kind again that the cluster does not serve.
KIND_SECONDS = (1.0, 5.0)


class LiveCaches:
    """The caches of one server. ``lookups`` is the LookupClient that reads them, and requests
    missing objects from ``client``.
    """

    def __init__(
        self, client: "ClusterClient", timeout: float, log: Log, max_read_bytes: int
    ) -> None:
        from policyd.cluster.cached.lookups import CachedLookups

        self.lookups: CachedLookups = CachedLookups(client, max_read_bytes)
        self.client = client
        self._timeout = timeout
        self._objects: ObjectClient | None = None
        self.namespaces = FollowedLists("namespaces", self._follow_namespaces, log)
        self.params = FollowedLists("params", self._follow_params, log)
        self.reads = FollowedLists(
            "reads",
            self._follow_reads,
            log,
            "policies that read these objects cannot be evaluated",
            needed=True,
        )

    def follow(self, policies: CompiledPolicySet) -> None:
        """Follow the objects that these policies may need, and nothing else. Runs on the event
        loop when the set comes into use, because it must not read objects of other sets.
        """
        wanted = wanted_lookups(policies)
        namespaces = frozenset({wanted.namespaces} if wanted.namespaces else ())
        if namespaces != self.namespaces.wanted:
            self.lookups.namespaces = None
        self.lookups.keep_params(self.params.wanted & wanted.params)
        self.namespaces.want(namespaces)
        self.params.want(wanted.params)
        self.lookups.reads.want(wanted.reads)
        self.reads.want(wanted.reads)

    async def prepare(self, policies: CompiledPolicySet) -> None:
        """Also follow the reads of a policy set that will come into use, and wait until each list
        is complete or has failed. Failing lists are awaited as long as readiness waits.
        """
        wanted = wanted_lookups(policies).reads
        new = self.lookups.reads.expect(wanted)
        self.reads.want(self.reads.wanted | wanted)
        until = monotonic() + FIRST_LIST_SECONDS
        while not await self.lookups.reads.fill(new):
            if monotonic() >= until and not self.reads.coming(new):
                break
            await asyncio.sleep(PREPARED_SECONDS)

    def waiting(self) -> list[str]:
        """Describe the lists that readiness waits for."""
        lists = (self.namespaces, self.params, self.reads)
        return [f"waiting for the first list of {each.name}" for each in lists if each.waiting]

    def states(self) -> Mapping[str, CacheState]:
        """The state of each cache, for metrics."""
        return {
            "namespaces": self.namespaces.state,
            "params": self.params.state,
            "reads": self.reads.state,
        }

    def read_states(self) -> Mapping[str, ReadState]:
        """The state of each kind that policies read, such as Ingress.v1.networking.k8s.io, for
        metrics; its namespaces are combined.
        """
        cached = self.lookups.reads
        lists: dict[tuple[str, str], list[ReadList | None]] = {}
        for named, listed in cached.in_use():
            lists.setdefault(named, []).append(listed)
        found: dict[str, ReadState] = {}
        for (api_version, kind), all_of_it in sorted(lists.items()):
            group, _, version = api_version.rpartition("/")
            known = [each for each in all_of_it if each is not None]
            found[f"{kind}.{version}.{group}".removesuffix(".")] = ReadState(
                sum(map(len, known)),
                sum(each.bytes for each in known),
                sum(each.key_errors for each in known),
                cached.events[api_version, kind],
                max((each.reflector.staleness for each in known), default=0.0),
                len(known) == len(all_of_it),
            )
        return found

    def objects(self) -> "ObjectClient":
        """The client that follows lists, created when it is first needed."""
        from policyd.cluster.objects import ObjectClient

        if self._objects is None:
            self._objects = ObjectClient(self.client.config, self._timeout)
        return self._objects

    async def close(self) -> None:
        """Close all connections to the cluster."""
        if self._objects is not None:
            await self._objects.close()
            self._objects = None
        await self.client.close()

    async def _follow_namespaces(self, wanted: WantedNamespaces, following: Following) -> None:
        from policyd.cluster import namespaces
        from policyd.cluster.watching import Reflector, Watched

        keep = namespaces.kept(wanted)
        while following.wanted:
            reflector = Reflector(self.objects(), Watched(namespaces.PATH), keep=keep)
            self.lookups.namespaces = reflector
            await following.run(reflector)

    async def _follow_params(self, wanted: WantedParams, following: Following) -> None:
        from policyd.cluster.cached.lookups import CachedParams

        async for resource in self._served(wanted, following):
            if not isinstance(resource, Failure):
                cached = CachedParams(self.objects(), resource, wanted)
                self.lookups.add_params(wanted, cached)
                await following.run(cached.reflector)

    async def _follow_reads(self, wanted: WantedReads, following: Following) -> None:
        from policyd.cluster.cached.reads import ReadList

        async for resource in self._served(wanted, following):
            if isinstance(resource, Failure):
                self.lookups.reads.failed(wanted, resource.why)
                continue
            cached = self.lookups.reads
            listed = ReadList(self.objects(), resource, wanted, cached)
            cached.add(listed)
            await following.run(listed.reflector, until=listed.is_full)
            if listed.full:
                cached.failed(wanted, listed.problem)
                following.nothing(listed.problem, lost=True)
                await following.pause(random.uniform(*FULL_SECONDS))  # noqa: S311 - a pause

    async def _served(
        self, wanted: WantedParams | WantedReads, following: Following
    ) -> "AsyncIterator[Served | Failure]":
        """Yield the resource of a kind when the cluster serves it, or why it has none; again if it
        was gone since.
        """
        while following.wanted:
            kinds = await self.client.kind(KindOf(wanted.api_version, wanted.kind))
            if isinstance(kinds, Failure):
                following.nothing(kinds.why)
                yield kinds
            elif not kinds:
                following.nothing()
                yield Failure(f"the cluster has no kind {wanted.kind} of {wanted.api_version}")
            elif following.wanted:
                yield kinds[0]
            await following.pause(random.uniform(*KIND_SECONDS))  # noqa: S311 - a pause
