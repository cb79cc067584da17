"""Decides, from stored documents, which policies the webhook leaves to the API server.

Every replica decides for itself. It leaves a policy to the API server when the policy's documents,
as the replica itself exports them, have been stored for so long that every API server enforces
them. When one of them changes or disappears, the replica evaluates the policy again immediately.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from time import monotonic

from policyd.controllers.controller import LookingController
from policyd.controllers.placement.watched_documents import WatchedDocuments
from policyd.export.exported_policies import exported
from policyd.observability.logs import Log
from policyd.placement.document_steps import SEEN_SECONDS, UNSEEN_SECONDS, Stored, observed
from policyd.placement.placed_documents import Key, key_of
from policyd.placement.placement import Engine, PlacementMode, PolicyPart
from policyd.placement.planning import PlacementPlan, PlacementPlanner
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.webhooks.rendering.options import RenderOptions

LONGEST_PAUSE = 60.0
# After the start, registration waits this long for existing placements: otherwise each new replica
# would again register policies that the API server has long enforced.
FIRST_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Derived:
    """The part of a set that the webhook evaluates."""

    of: CompiledPolicySet
    policies: CompiledPolicySet
    parts: frozenset[PolicyPart]  # left out of the set


@dataclass(eq=False, repr=False)
class PlacedPolicies(LookingController):
    """The placement as seen by one replica.

    ``in_use`` returns the set in use and its sources, ``clock`` the API server's time.
    ``noticed`` is called when the plan or the parts left to the API server change.
    """

    name = "placement"

    in_use: Callable[[], tuple[CompiledPolicySet, Sources] | None]
    documents: WatchedDocuments
    options: RenderOptions
    mode: PlacementMode
    log: Log
    _: KW_ONLY
    clock: Callable[[], float]
    noticed: Callable[[], None]

    def __post_init__(self) -> None:
        super().__init__()
        self._began: float | None = None  # when the first policies were loaded
        # With the policies whose rollouts were not over at that time: they could not be exported.
        self._planner: tuple[CompiledPolicySet, list[str], PlacementPlanner] | None = None
        self._plan: tuple[CompiledPolicySet, PlacementPlan] | None = None
        self._derived: _Derived | None = None
        self._former_parts: frozenset[PolicyPart] = frozenset()  # those left out last
        self._refused: dict[PolicyPart, str] = {}
        # Since when the documents of a part are in force, and their uids and generations.
        self._since: dict[PolicyPart, tuple[object, float]] = {}
        self._changes = 0  # of documents of the plan

    @property
    def problem(self) -> str:
        """Why the documents are not in step; empty if they are."""
        return self.documents.problem

    def evaluated(self, policies: CompiledPolicySet) -> CompiledPolicySet:
        """Return the policies in use that the webhook evaluates: all while nothing is known."""
        derived = self._derived
        return derived.policies if derived is not None and derived.of is policies else policies

    @property
    def left_out(self) -> tuple[CompiledPolicySet, frozenset[PolicyPart]] | None:
        """The parts that the API server enforces, and the set that they belong to; None while not
        known.
        """
        if self._derived is None:
            return None
        began = monotonic() if self._began is None else self._began
        if self._plan is None and monotonic() - began < FIRST_SECONDS:
            return None
        return self._derived.of, self._derived.parts

    @property
    def plan(self) -> tuple[CompiledPolicySet, PlacementPlan] | None:
        """The plan and its set; None before the first plan."""
        return self._plan

    def places(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield kind, policy, webhook, engine and reason of each part, as it currently runs."""
        if self._plan is None:
            return
        parts = frozenset[PolicyPart]() if self._derived is None else self._derived.parts
        for each in self._plan[1].placement.parts:
            runs: Engine = "api-server" if each.part in parts else "webhook"
            why = each.why
            if runs == "webhook" and each.engine == "api-server":
                why = "the API server does not enforce it yet"
            yield each.kind, each.policy, each.webhook, runs, why

    @property
    def placed(self) -> Mapping[tuple[str, str], Mapping[str, tuple[str, str]]]:
        """Engine and reason by webhook for each policy, by kind and name."""
        found: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
        for kind, policy, webhook, engine, why in self.places():
            found.setdefault((kind, policy), {})[webhook] = engine, why
        return found

    def refuse(self, part: PolicyPart, why: str) -> None:
        """Plan without this part, which the API server refused, until the policies change."""
        self._refused[part] = why
        self.changed()

    def document_changed(self, key: Key | None) -> None:
        """Evaluate policies that the API server may no longer enforce at once, and check again."""
        if self._plan is None or self._derived is None:
            self.changed()
            return
        _, plan = self._plan
        wanted = {key_of(each) for documents in plan.wanted.values() for each in documents}
        if key is None or key in wanted:
            self._changes += 1
            if not self._derived.parts <= plan.in_force(self.documents.stored):
                # Building another index takes time, and no request may wait for it.
                self._derived = None
        self.changed()

    async def look(self) -> float:
        """Check everything once; return the seconds until the next check."""
        found = self.in_use()
        if found is None:
            return LONGEST_PAUSE
        policies, sources = found
        if self._began is None:
            self._began = monotonic()
        if self._derived is None or self._derived.of is not policies:
            await self._leave_out(policies, self._carried(policies))
        planner = await self._planner_of(policies, sources)
        documents = self.documents
        if not documents.usable:
            await self._leave_out(policies, frozenset())
            return LONGEST_PAUSE
        changes, stored = self._changes, documents.stored
        plan = await asyncio.to_thread(planner.plan, documents.served, stored, dict(self._refused))
        parts, pause = self._settled(plan, stored, documents.written)
        if self._changes != changes or not self._is_in_use(policies):
            return 0.0
        known, self._plan = self._plan, (policies, plan)
        await self._leave_out(policies, parts)
        in_force = plan.in_force(self.documents.stored)
        if self._derived is not None and not self._derived.parts <= in_force:
            self._derived = None  # a document changed meanwhile
            return 0.0
        if known is None or known != self._plan:
            self.noticed()
        return pause

    def _is_in_use(self, policies: CompiledPolicySet) -> bool:
        found = self.in_use()
        return found is not None and found[0] is policies

    async def _planner_of(self, policies: CompiledPolicySet, sources: Sources) -> PlacementPlanner:
        staged = [each.name for each in policies.policies if each.rollout and not each.rollout.over]
        known = self._planner
        if known is not None and known[0] is policies and known[1] == staged:
            return known[2]
        planner = await asyncio.to_thread(self._planned, policies, sources)
        self._planner, self._refused = (policies, staged, planner), {}
        return planner

    def _planned(self, policies: CompiledPolicySet, sources: Sources) -> PlacementPlanner:
        """Export the policies, on a separate thread."""
        # Only sources without problems are exported; broken policies are never placed.
        sound = [each for each in sources.documents if not each.is_policy or each.model is not None]
        sources = replace(sources, documents=tuple(sound), problems=())
        return PlacementPlanner(policies, exported(sources), self.options, self.mode)

    def _carried(self, policies: CompiledPolicySet) -> frozenset[PolicyPart]:
        """Return the parts left out of the former set whose policies have not changed."""
        if self._plan is None:
            return frozenset()
        former, plan = self._plan
        same = {(each.name, each.made_of) for each in policies.policies if each.made_of}
        kept = {each.name for each in former.policies if (each.name, each.made_of) in same}
        in_force = self._former_parts & plan.in_force(self.documents.stored)
        return frozenset(part for part in in_force if part[0] in kept)

    async def _leave_out(self, policies: CompiledPolicySet, parts: frozenset[PolicyPart]) -> None:
        former = self._derived
        if former is not None and former.of is policies and former.parts == parts:
            return
        left = await asyncio.to_thread(policies.without, parts)
        self._derived, self._former_parts = _Derived(policies, left, parts), parts
        if parts or (former is not None and former.parts):
            names = ", ".join(sorted({name for name, _ in parts})) or "none"
            self.log.write(
                "info", "placement", f"policies that only the API server evaluates: {names}"
            )
        self.noticed()

    def _settled(
        self, plan: PlacementPlan, stored: Stored, written: Mapping[Key, str]
    ) -> tuple[frozenset[PolicyPart], float]:
        """Return the parts that have been in force long enough, and the seconds until the next."""
        now, wall = monotonic(), self.clock()
        found: set[PolicyPart] = set()
        pause = LONGEST_PAUSE
        since: dict[PolicyPart, tuple[object, float]] = {}
        for part in plan.in_force(stored):
            documents = [stored[key_of(each)] for each in plan.wanted[part]]
            version = tuple(_version(each["metadata"]) for each in documents)
            known = self._since.get(part)
            if known is None or known[0] != version:
                last = max(_seconds(written[key_of(each)]) for each in documents)
                known = version, now - max(0.0, wall - last)
            since[part] = known
            needed = SEEN_SECONDS if observed(documents) else UNSEEN_SECONDS
            left = known[1] + needed - now
            if left <= 0:
                found.add(part)
            else:
                pause = min(pause, left)
        self._since = since
        return frozenset(found), pause


def _version(metadata: Mapping[str, object]) -> tuple[object, object]:
    """A value that changes with the spec of a document but not with its status."""
    return metadata.get("uid"), metadata.get("generation")


def _seconds(time: str) -> float:
    """Return the Unix time of a timestamp of the API server."""
    return datetime.fromisoformat(time).timestamp()
