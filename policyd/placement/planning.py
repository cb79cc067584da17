"""The plan for one cluster: the documents that its API server needs and stores. No I/O."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.placement.choosing import choose
from policyd.placement.document_steps import Stored, Wanted, foreign, parts_in_step
from policyd.placement.placed_documents import ServedKinds, is_binding, placed_documents
from policyd.placement.placement import Placement, PlacementMode, PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.needs.webhook_needs import WebhookNeed, needs_of
from policyd.webhooks.rendering.configurations import excluded_namespaces
from policyd.webhooks.rendering.options import RenderOptions


class ExcludedNamespaces:
    """The namespaces that webhooks for these policies leave out: the API server must not enforce a
    policy where the webhook would not. Only the options ``namespace`` and ``excluded_namespaces``
    count.

    A binding's namespaceSelector has the same meaning as a webhook's: it never skips a
    cluster-scoped object, except a Namespace, by its own labels.
    """

    def __init__(self, policies: CompiledPolicySet, options: RenderOptions) -> None:
        self._options = options
        self._needs: dict[PolicyPart, list[WebhookNeed]] = {}
        for need in needs_of(policies):
            self._needs.setdefault((need.policy.name, need.webhook), []).append(need)

    def of(self, part: PolicyPart) -> frozenset[str]:
        """Return the namespaces that one part of a policy leaves out."""
        return frozenset(excluded_namespaces(self._needs.get(part, ()), self._options))

    def left_out(self, exports: Iterable[ExportedPolicy]) -> tuple[ExportedPolicy, ...]:
        """Return the exports with bindings that leave out these namespaces."""
        return tuple(
            replace(each, parts=tuple(self._part(each.name, part) for part in each.parts))
            for each in exports
        )

    def _part(self, policy: str, part: ExportedPart) -> ExportedPart:
        excluded = self.of((policy, part.webhook))
        documents = tuple(_leaving_out(each, excluded) for each in part.documents)
        return replace(part, documents=documents)


def _leaving_out(document: JSONObject, excluded: Collection[str]) -> JSONObject:
    if not excluded or not is_binding(document["kind"]):
        return document
    match = document["spec"].get("matchResources") or {}
    selector = match.get("namespaceSelector") or {}
    others = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted(excluded)}
    expressions = [*(selector.get("matchExpressions") or ()), others]
    selector = {**selector, "matchExpressions": expressions}
    match = {**match, "namespaceSelector": selector}
    return {**document, "spec": {**document["spec"], "matchResources": match}}


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """The placement, and the documents of each part for the API server."""

    placement: Placement = field(default_factory=Placement)
    wanted: Wanted = field(default_factory=dict)

    def in_force(self, stored: Stored) -> frozenset[PolicyPart]:
        """Return the parts whose stored documents are in step."""
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
        """Plan for a cluster; ``refused`` are the parts its API server refused, with reasons."""
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
