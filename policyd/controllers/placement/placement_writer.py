"""``serve --register --in-tree``: writes the documents with which the API server enforces policies.

The Lease holder writes. It deletes documents only after the webhook has been registered for their
policies for some time. When a server stops, the documents stay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from math import inf
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.controller import LookingController, Trouble, reason
from policyd.controllers.placement.placed_policies import PlacedPolicies
from policyd.controllers.reconciling import Aim, Reconciler
from policyd.controllers.registration.registrar import Registration
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField
from policyd.observability.logs import Log
from policyd.ownership import owned_by
from policyd.placement.comparing import differences, in_step
from policyd.placement.document_steps import (
    BINDING_SECONDS,
    WIDE_SECONDS,
    DocumentStep,
    Wanted,
    binding_writes,
    policy_writes,
    removals,
    replacing,
    type_warnings,
)
from policyd.placement.placed_documents import (
    Key,
    belongs_to,
    is_binding,
    key_of,
    label_of,
    path_of,
    policy_of,
)
from policyd.placement.placement import PolicyPart
from policyd.placement.planning import PlacementPlan
from policyd.policy.compile.policy_set import CompiledPolicySet

LONGEST_PAUSE = 60.0
RETRY_SECONDS = 1.0
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


@dataclass(frozen=True)
class DocumentAim(Aim):
    """The wanted state of one document: ``document``, or deleted. A document that this
    ``registration`` did not place is left alone.
    """

    document: JSONObject
    registration: str

    def wanted(self, found: JSONObject | None) -> JSONObject | None:
        if found is not None and not belongs_to(found, self.registration):
            return found
        return None if self.version is None else self.document

    def differences(self, found: JSONObject, wanted: JSONObject) -> Sequence[ManagedField]:
        return () if found is wanted else differences(found, wanted)

    def replacing(self, found: JSONObject, wanted: JSONObject) -> JSONObject:
        return replacing(found, wanted)


@dataclass(eq=False, repr=False)
class PlacementWriter(LookingController):
    """The writes of one replica. ``holds``: whether it writes; ``writes`` counts results."""

    name = "placed documents"

    client: ObjectClient
    registration: str
    placed: PlacedPolicies
    rules: Registration
    log: Log
    _: KW_ONLY
    holds: Callable[[], bool]
    writes: dict[str, int]
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        super().__init__()
        self._reconciler = Reconciler(
            self.client,
            "placement",
            self.log,
            holds=self.holds,
            writes=self.writes,
            clock=self.clock,
        )
        self._trouble = Trouble("placement", self.log)
        self._policies_at: dict[Key, float] = {}  # when a policy was written
        self._unbound_at: dict[Key, float] = {}  # when a policy or its binding was deleted
        self._warned: set[str] = set()

    @property
    def problem(self) -> str:
        """Why the documents are not in step; empty if they are."""
        return self._trouble.problem or self.placed.documents.problem

    async def look(self) -> float:
        """Check everything once; return the seconds until the next check."""
        if not self.holds():
            self._reconciler.forget_all()
            return LONGEST_PAUSE
        documents, plan, left_out = (
            self.placed.documents,
            self.placed.plan,
            self.placed.left_out,
        )
        if not documents.usable and documents.problem:
            self._trouble.begin(f"cannot follow the policies of the cluster: {documents.problem}")
        if not documents.usable or plan is None or left_out is None:
            return RETRY_SECONDS
        if plan[0] is not left_out[0]:
            return RETRY_SECONDS  # the plan is for former policies
        try:
            owner = await self.rules.owner()
        except ObjectError as error:
            self._trouble.begin(f"cannot read the namespace of policyd: {reason(error)}")
            return RETRY_SECONDS
        return await self._keep_in_step(*plan, left_out[1], owner)

    async def _keep_in_step(
        self,
        policies: CompiledPolicySet,
        plan: PlacementPlan,
        left_out: frozenset[PolicyPart],
        owner: JSONObject | None,
    ) -> float:
        if plan.placement.problems:
            listed = "; ".join(plan.placement.problems)
            self._trouble.begin(f"nothing is changed, because --in-tree is only: {listed}")
            return LONGEST_PAUSE
        wanted = {
            part: tuple(owned_by(each, owner) for each in documents)
            for part, documents in plan.wanted.items()
        }
        found = self.placed.documents.stored
        documents = {key_of(each): each for part in wanted.values() for each in part}
        there = {key: each for key, each in documents.items() if key in found}
        rest = {key: each for key, each in there.items() if in_step(found[key], each)}
        pauses = [self._reconciler.rest(rest, known=documents.keys() | found.keys())]
        broken = [each.name for each in policies.policies if each.problem]
        surplus = removals(wanted, found, self.registration, broken)
        pauses.append(await self._remove(surplus, self.rules.settled(policies, left_out)))
        for step in policy_writes(wanted, found):
            pauses.append(await self._apply(step, wanted, self._unbound_at))
        for step in list(binding_writes(wanted, self.placed.documents.stored)):
            pauses.append(await self._apply(step, wanted, self._policies_at))
        self._warn(wanted)
        if self._reconciler.problem:
            self._trouble.begin(self._reconciler.problem)
        else:
            self._trouble.end("the documents of policies are in step again")
        return min(*pauses, LONGEST_PAUSE)

    async def _remove(self, steps: Sequence[DocumentStep], registered: float) -> float:
        """Delete documents if the webhook has been registered for their policies long enough;
        return the seconds until then.
        """
        if steps and registered < WIDE_SECONDS:
            return RETRY_SECONDS if registered < 0 else WIDE_SECONDS - registered
        pause = inf
        for step in steps:
            aim = self._aim(step.document, None)
            done = await self._reconciler.step(aim, step.found)
            if done.wrote:
                self._unbound_at[policy_of(step.document)] = self.clock()
            pause = min(pause, done.pause)
        return pause

    async def _apply(self, step: DocumentStep, wanted: Wanted, after: Mapping[Key, float]) -> float:
        """Apply a document once all API servers know its prerequisites; return the seconds until
        then.
        """
        left = after.get(policy_of(step.document), 0.0) + BINDING_SECONDS - self.clock()
        if left > 0:
            return left
        aim = self._aim(step.document, step.document)
        done = await self._reconciler.step(aim, step.found)
        if done.wrote and not is_binding(aim.key[0]):
            self._policies_at[aim.key] = self.clock()
        if done.error is not None and done.error.status in _REFUSED:
            self._refuse(aim, wanted, f"the API server refuses it: {reason(done.error)}")
            return LONGEST_PAUSE
        if done.wrote and not done.in_step:
            self._refuse(
                aim, wanted, "the API server stores a different document than policyd wrote"
            )
        return RETRY_SECONDS if done.wrote else done.pause

    def _aim(self, document: JSONObject, version: JSONObject | None) -> DocumentAim:
        key = key_of(document)
        path, name = path_of(document), label_of(key)
        return DocumentAim(key, path, name, version, document, self.registration)

    def _refuse(self, aim: DocumentAim, wanted: Wanted, why: str) -> None:
        """Leave a part that the API server cannot enforce to the webhook."""
        self._reconciler.forget(aim.key)
        for part, documents in wanted.items():
            if aim.document in documents:
                message = f"{aim.name}: {why}"
                self.log.write("warning", "placement", message, policy=part[0])
                self.placed.refuse(part, message)

    def _warn(self, wanted: Wanted) -> None:
        """Log once the type-checking warnings of a controller in the cluster."""
        stored = self.placed.documents.stored
        for documents in wanted.values():
            for each in documents:
                for warning in type_warnings(stored.get(key_of(each)) or {}):
                    message = f"{label_of(key_of(each))}: {warning}"
                    if message not in self._warned:
                        self._warned.add(message)
                        self.log.write("warning", "placement", message)
