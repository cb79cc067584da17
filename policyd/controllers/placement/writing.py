"""``serve --register --in-tree``: writes the documents with which the API server enforces policies.

The holder of the Lease writes. Documents are deleted only while the webhook has been registered for
their policies for some time; they are left as they are when a server stops.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Protocol

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.placement.following import PlacedPolicies
from policyd.controllers.trouble import Trouble, reason
from policyd.controllers.wakening import Wakening
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.ownership import MANAGER
from policyd.placement.comparing import in_step
from policyd.placement.documents import (
    Key,
    is_binding,
    key_of,
    label_of,
    owned_by,
    path_of,
    policy_of,
)
from policyd.placement.placement import PolicyPart
from policyd.placement.planning import PlacementPlan
from policyd.placement.stored import (
    DocumentStep,
    Wanted,
    binding_writes,
    policy_writes,
    removals,
    replacing,
    type_warnings,
)
from policyd.placement.times import BINDING_SECONDS, WIDE_SECONDS
from policyd.policy.compile.policy_set import CompiledPolicySet

LONGEST_PAUSE = 60.0
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0
# After this many writing passes somebody else keeps changing a document: repair less often.
REPAIRS = 10
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


class RegisteredRules(Protocol):
    """What is known of the webhook's rules: ``registration.registrar.Registration``."""

    @property
    def owner(self) -> JSONObject | None:
        """The Namespace with which everything that policyd registers is deleted."""

    def settled(self, policies: CompiledPolicySet, left_out: frozenset[PolicyPart]) -> float:
        """For how many seconds the rules have had all policies but these; negative: not at all."""


class PlacementWriter:
    """The writes of one replica. ``holds``: whether it writes; ``writes`` counts results."""

    def __init__(
        self,
        client: ObjectClient,
        registration: str,
        placed: PlacedPolicies,
        rules: RegisteredRules,
        log: Log,
        *,
        holds: Callable[[], bool],
        writes: dict[str, int],
    ) -> None:
        self._client = client
        self._registration = registration
        self._placed = placed
        self._rules = rules
        self._log = log
        self._holds = holds
        self._writes = writes
        self.changed = Wakening()
        self._trouble = Trouble("placement", log)
        # What was written last, and the version that it replaced: the watch may be late.
        self._written: dict[Key, tuple[JSONObject | None, str]] = {}
        self._policies_at: dict[Key, float] = {}  # when a policy was written
        self._unbound_at: dict[Key, float] = {}  # when a policy or its binding was deleted
        self._retry = RETRY_SECONDS
        self._plan: PlacementPlan | None = None
        self._repairs = 0  # passes with a write since there was another plan
        self._not_before = 0.0
        self._warned: set[str] = set()

    @property
    def problem(self) -> str:
        """Why the documents are not in step; empty if they are."""
        return self._trouble.problem

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the documents in step while this replica holds the Lease, until ``stop``."""
        while not stop.is_set():
            await self.changed.wait(stop, await self._pass())

    async def _pass(self) -> float:
        """Look at everything once; return the seconds until it is to be looked at again."""
        if not self._holds():
            self._written.clear()
            return LONGEST_PAUSE
        documents, plan, left_out = (
            self._placed.documents,
            self._placed.plan,
            self._placed.left_out,
        )
        if documents is not None and not documents.usable and documents.problem:
            self._trouble.begin(f"cannot follow the policies of the cluster: {documents.problem}")
        if documents is None or not documents.usable or plan is None or left_out is None:
            return RETRY_SECONDS
        if plan[0] is not left_out[0]:
            return RETRY_SECONDS  # the plan is that of former policies
        try:
            pause = await self._keep_in_step(*plan, left_out[1])
        except ObjectError as error:
            if error.status == HTTPStatus.CONFLICT:
                return RETRY_SECONDS / 4  # the watch shows what changed
            self._writes["error"] += 1
            self._trouble.begin(f"cannot write the documents of policies: {reason(error)}")
        else:
            self._retry = RETRY_SECONDS
            return pause
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS)
        return self._retry

    async def _keep_in_step(
        self, policies: CompiledPolicySet, plan: PlacementPlan, left_out: frozenset[PolicyPart]
    ) -> float:
        if plan.placement.problems:
            listed = "; ".join(plan.placement.problems)
            self._trouble.begin(f"--in-tree is only, and nothing is changed: {listed}")
            return LONGEST_PAUSE
        if plan != self._plan:
            self._plan, self._repairs, self._not_before = plan, 0, 0.0
        if monotonic() < self._not_before:
            return self._not_before - monotonic()
        wanted = {
            part: tuple(owned_by(each, self._rules.owner) for each in documents)
            for part, documents in plan.wanted.items()
        }
        successes = self._writes["success"]
        broken = [each.name for each in policies.policies if each.problem]
        surplus = removals(wanted, self._stored(), self._registration, broken)
        pauses = [await self._remove(surplus, self._rules.settled(policies, left_out))]
        for step in policy_writes(wanted, self._stored()):
            pauses.append(await self._apply(step, wanted, self._unbound_at))
        for step in list(binding_writes(wanted, self._stored())):
            pauses.append(await self._apply(step, wanted, self._policies_at))
        self._warn(wanted)
        self._trouble.end("the documents of policies are in step again")
        if self._writes["success"] > successes:
            self._repairs += 1
        if self._repairs > REPAIRS:
            more = min(RETRY_SECONDS * 2.0 ** (self._repairs - REPAIRS), LONGEST_PAUSE)
            self._not_before = monotonic() + more
        return min(pauses)

    async def _remove(self, steps: Sequence[DocumentStep], registered: float) -> float:
        """Delete documents if the webhook has been registered for their policies long enough;
        return the seconds until then.
        """
        if steps and registered < WIDE_SECONDS:
            return RETRY_SECONDS if registered < 0 else WIDE_SECONDS - registered
        for step in steps:
            key, metadata = key_of(step.document), step.document["metadata"]
            await self._client.delete(path_of(step.document), uid=str(metadata.get("uid") or ""))
            self._written[key] = None, _version(step.document)
            self._unbound_at[policy_of(step.document)] = monotonic()
            self._wrote(f"{label_of(key)} was deleted")
        return LONGEST_PAUSE

    async def _apply(self, step: DocumentStep, wanted: Wanted, after: Mapping[Key, float]) -> float:
        """Apply a document if all API servers know what had to come before it; return the seconds
        until then.
        """
        left = after.get(policy_of(step.document), 0.0) + BINDING_SECONDS - monotonic()
        if left > 0:
            return left
        if not self._holds():
            return LONGEST_PAUSE
        document, key = step.document, key_of(step.document)
        path = path_of(document)
        try:
            stored = await self._client.apply(path, document, MANAGER, force=True)
            if not in_step(stored, document):
                # What somebody else added to a list is not removed by applying.
                stored = await self._client.replace(path, replacing(stored, document))
        except ObjectError as error:
            if error.status not in _REFUSED:
                raise
            self._refuse(step, wanted, f"the API server refuses it: {reason(error)}")
            return LONGEST_PAUSE
        self._written[key] = stored, _version(step.found)
        if not is_binding(key[0]):
            self._policies_at[key] = monotonic()
        if in_step(stored, document):
            self._wrote(f"{label_of(key)} was written")
        else:
            self._refuse(step, wanted, "the API server stores it otherwise than it was written")
        return RETRY_SECONDS

    def _refuse(self, step: DocumentStep, wanted: Wanted, why: str) -> None:
        """Leave to the webhook what the API server cannot do."""
        self._writes["error"] += 1
        for part, documents in wanted.items():
            if step.document in documents:
                message = f"{label_of(key_of(step.document))}: {why}"
                self._log.write("warning", "placement", message, policy=part[0])
                self._placed.refuse(part, message)

    def _stored(self) -> dict[Key, JSONObject]:
        """The documents as the watch or the last writes have them, whichever are newer."""
        documents = self._placed.documents
        found = {} if documents is None else documents.stored
        for key, (written, replaced) in tuple(self._written.items()):
            if _version(found.get(key)) != replaced:
                del self._written[key]
            elif written is None:
                del found[key]
            else:
                found[key] = written
        return found

    def _wrote(self, message: str) -> None:
        self._writes["success"] += 1
        self._log.write("info", "placement", message)

    def _warn(self, wanted: Wanted) -> None:
        """Log once what the type checking of a controller in the cluster found."""
        stored = self._stored()
        for documents in wanted.values():
            for each in documents:
                for warning in type_warnings(stored.get(key_of(each)) or {}):
                    message = f"{label_of(key_of(each))}: {warning}"
                    if message not in self._warned:
                        self._warned.add(message)
                        self._log.write("warning", "placement", message)


def _version(found: JSONObject | None) -> str:
    return str(((found or {}).get("metadata") or {}).get("resourceVersion") or "")
