"""The plan for one cluster: which documents its API server needs, and what is there. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policyd.export.model import ExportedPolicy
from policyd.placement.choosing import choose
from policyd.placement.document_steps import Stored, Wanted, foreign, parts_in_step
from policyd.placement.excluding import ExcludedNamespaces
from policyd.placement.placed_documents import placed_documents
from policyd.placement.placement import Placement, PlacementMode, PolicyPart
from policyd.placement.served import ServedKinds
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.rendering.options import RenderOptions


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """The placement, and the documents of each part that the API server is to do."""

    placement: Placement = field(default_factory=Placement)
    wanted: Wanted = field(default_factory=dict)

    def in_force(self, stored: Stored) -> frozenset[PolicyPart]:
        """Return the parts whose documents are stored as they are wanted."""
        return parts_in_step(self.wanted, stored)


class PlacementPlanner:
    """Plans for one set of policies and its exports."""

    def __init__(
        self,
        policies: CompiledPolicySet,
        exports: Iterable[ExportedPolicy],
        options: RenderOptions,
        mode: PlacementMode,
    ) -> None:
        self._policies = policies
        self._exports = ExcludedNamespaces(policies, options).left_out(exports)
        self._options = options
        self._mode: PlacementMode = mode

    def plan(
        self,
        served: ServedKinds,
        stored: Stored,
        refused: Mapping[PolicyPart, str] | None = None,
    ) -> PlacementPlan:
        """Plan for a cluster; ``refused`` says what its API server refused, and why."""
        known = dict(refused or {})
        while True:
            placement = choose(self._exports, self._policies, served, self._mode, known)
            wanted = {
                each.part: placed_documents(each.documents, each.policy, self._options.name)
                for each in placement.parts
                if each.documents
            }
            more = foreign(wanted, stored, self._options.name)
            if not more:
                return PlacementPlan(placement, wanted)
            known |= more
