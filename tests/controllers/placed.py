"""A replica that follows and writes placed documents, without an API server. No tests here."""

import asyncio
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from typing import cast

import pytest

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.placement import placed_policies as following
from policyd.controllers.placement.placed_policies import PlacedPolicies
from policyd.controllers.placement.placement_writer import PlacementWriter
from policyd.controllers.placement.watched_documents import WatchedDocuments
from policyd.controllers.registration.registrar import Registration
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import WRITES
from policyd.placement.placed_documents import RESOURCES, Key, ServedKinds
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.kinds import ADMISSION_GROUP
from policyd.policy.source.loaded_documents import Sources
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.controllers.stored_objects import StoredObjects
from tests.policy_sets import loaded

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
API = f"apis/{ADMISSION_GROUP}/v1"


class Watched:
    """What WatchedDocuments would have seen, at once."""

    problem = ""
    usable = True
    served = ServedKinds(dict.fromkeys(RESOURCES, f"{ADMISSION_GROUP}/v1"))

    def __init__(self, server: "Placing") -> None:
        self._server = server

    @property
    def stored(self) -> dict[Key, JSONObject]:
        kinds = {resource: kind for kind, resource in RESOURCES.items()}
        found = {}
        for path, each in self._server.stored.objects.items():
            resource, _, name = path.removeprefix(f"{API}/").partition("/")
            if resource in kinds:
                found[kinds[resource], name] = {"kind": kinds[resource], **each}
        return found

    @property
    def written(self) -> dict[Key, str]:
        now = datetime.fromtimestamp(self._server.written, UTC).isoformat()
        return dict.fromkeys(self.stored, now)


class Placing:
    """One replica with everything around it; time passes by ``later``."""

    def __init__(
        self, patch: pytest.MonkeyPatch, *policies: JSONObject, mode: PlacementMode = "auto"
    ) -> None:
        self.now = self.written = 1000.0
        patch.setattr(following, "monotonic", lambda: self.now)
        self.stored = StoredObjects()
        self.watched = Watched(self)
        self.holds = True
        self.namespace: JSONObject | ObjectError | None = None
        self.registered: tuple[frozenset[PolicyPart], float] | None = None
        self.writes = dict.fromkeys(WRITES, 0)
        self.lines = BytesIO()
        self.noticed = 0
        self.use(*policies)
        self.placed = PlacedPolicies(
            lambda: (self.policies, self.sources),
            cast(WatchedDocuments, self.watched),
            OPTIONS,
            mode,
            Log(self.lines),
            clock=lambda: self.now,
            noticed=self._notice,
        )
        self.writer = PlacementWriter(
            cast(ObjectClient, self.stored),
            OPTIONS.name,
            self.placed,
            cast(Registration, self),
            Log(self.lines),
            holds=lambda: self.holds,
            writes=self.writes,
            clock=lambda: self.now,
        )

    sources: Sources
    policies: CompiledPolicySet

    def use(self, *policies: JSONObject) -> None:
        """Load other policies."""
        former = getattr(self, "policies", None)
        self.sources = loaded(*policies)
        self.policies = compiler.compile_sources(self.sources, former)

    def settled(self, policies: CompiledPolicySet, left_out: frozenset[PolicyPart]) -> float:
        """The registration follows at once."""
        if self.registered is None or self.registered[0] != left_out:
            self.registered = left_out, self.now
        return self.now - self.registered[1]

    async def owner(self) -> JSONObject | None:
        """What the registration knows of its Namespace."""
        if isinstance(self.namespace, ObjectError):
            raise self.namespace
        return self.namespace

    def _notice(self) -> None:
        self.noticed += 1

    def later(self, seconds: float) -> None:
        """Let time pass, and everything happen every half a second."""
        self.once()
        for _ in range(int(2 * seconds)):
            self.now += 0.5
            self.once()

    def once(self) -> None:
        async def both() -> None:
            sent = len(self._changing())
            while await self.placed.look() == 0.0:
                pass
            await self.writer.look()
            if len(self._changing()) > sent:
                self.written = self.now
                self.placed.document_changed(None)

        asyncio.run(both())

    def _changing(self) -> list[str]:
        return [each for each in self.stored.sent if not each.startswith("GET")]

    @property
    def evaluated(self) -> list[str]:
        """The names of the policies that the webhook evaluates."""
        return [each.name for each in self.placed.evaluated(self.policies).policies]

    @property
    def documents(self) -> list[str]:
        """What is stored, such as ``validatingadmissionpolicies/p``."""
        return sorted(path.removeprefix(f"{API}/") for path in self.stored.objects)

    @property
    def sent(self) -> list[str]:
        """The requests that changed something, in their order."""
        return [each.replace(f"{API}/", "") for each in self._changing()]


def refused(status: HTTPStatus, message: str) -> ObjectError:
    return ObjectError(message, status, "", {"message": message})
