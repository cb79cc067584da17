"""The part of ``--in-tree`` in a server: connects the controllers of placement. Decides nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from policyd.cluster.objects import ObjectClient
from policyd.config import Settings
from policyd.controllers.placement.following import PlacedPolicies
from policyd.controllers.placement.watched import WatchedDocuments
from policyd.controllers.placement.writing import PlacementWriter, RegisteredRules
from policyd.http.status import PolicyPlaces
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.documents import Sources
from policyd.webhooks.rendering.options import RenderOptions

Loop = Callable[[asyncio.Event], Awaitable[None]]


class InTreePolicies:
    """What the API server enforces itself, as one server follows it, and writes it if it may."""

    def __init__(
        self,
        client: ObjectClient,
        settings: Settings,
        options: RenderOptions,
        recorder: PrometheusRecorder,
        log: Log,
        *,
        policies: Callable[[], CompiledPolicySet | None],
        sources: Callable[[CompiledPolicySet], Sources],
        clock: Callable[[], float],
        noticed: Callable[[], None],
    ) -> None:
        self._client = client
        self._options = options
        self._recorder = recorder
        self._log = log
        self._noticed = noticed
        self._placed = PlacedPolicies(
            policies,
            sources,
            options,
            cast(PlacementMode, settings.in_tree),
            log,
            clock=clock,
            noticed=noticed,
        )
        self._documents = WatchedDocuments(client, self._document_changed)
        self._placed.documents = self._documents
        self.writer: PlacementWriter | None = None
        recorder.placed = self._rows

    def write(self, rules: RegisteredRules, holds: Callable[[], bool]) -> None:
        """Write documents, too, while this replica holds the Lease."""
        self.writer = PlacementWriter(
            self._client,
            self._options.name,
            self._placed,
            rules,
            self._log,
            holds=holds,
            writes=self._recorder.placements,
        )

    def loops(self) -> dict[str, Loop]:
        """The controllers, by name; each runs until its event is set."""
        loops: dict[str, Loop] = {
            "documents": self._documents.run,
            "placement": self._placed.run,
        }
        if self.writer is not None:
            loops["placed documents"] = self.writer.run
        return loops

    def changed(self) -> None:
        """Policies changed."""
        self._placed.changed()

    def in_use(self, policies: CompiledPolicySet) -> CompiledPolicySet:
        """What the webhook evaluates of a set."""
        return self._placed.in_use(policies)

    def left_out(self, policies: CompiledPolicySet) -> frozenset[PolicyPart] | None:
        """What the API server enforces of a set; None if it is not known."""
        found = self._placed.left_out
        return found[1] if found is not None and found[0] is policies else None

    @property
    def problem(self) -> str:
        """Why placement does not work; empty if it does."""
        written = "" if self.writer is None else self.writer.problem
        return written or self._documents.problem

    @property
    def placed(self) -> Mapping[tuple[str, str], PolicyPlaces]:
        """Where each policy runs now, by kind and name."""
        found: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
        for kind, policy, webhook, engine, why in self._placed.places():
            found.setdefault((kind, policy), {})[webhook] = engine, why
        return found

    def _rows(self) -> list[tuple[str, str, str]]:
        places = self._placed.places()
        return [(policy, webhook, engine) for _, policy, webhook, engine, _ in places]

    def _document_changed(self, key: tuple[str, str] | None) -> None:
        self._placed.document_changed(key)
        if self.writer is not None:
            self.writer.changed()
