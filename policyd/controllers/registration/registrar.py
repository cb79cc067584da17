"""``serve --register``: keeps the webhook configurations in step with the policies in use.

The Lease holder writes, once it is ready. It removes nothing when a server stops or when policies
are broken: the policies in use decide.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from http import HTTPStatus
from math import inf
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.controller import LookingController, Trouble, reason
from policyd.controllers.reconciling import Aim, Reconciler
from policyd.controllers.registration import configurations
from policyd.controllers.registration.configurations import (
    NARROWING_SECONDS,
    desired,
    is_ours,
    uncovered,
)
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField
from policyd.observability.logs import Log
from policyd.ownership import owned_by
from policyd.placement.placement import PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.configuration_paths import RESOURCES, path_of
from policyd.webhooks.endpoints import endpoint_slices, ready_endpoints
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

# How often to check the state without a change, and how soon after an error: doubled each time.
LONGEST_PAUSE = 60.0
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0
# How long an endpoint of the Service must be ready before anything calls it, because nodes learn
# about it a moment later.
KNOWN_SECONDS = 2.0
# How long that may take before it counts as a problem.
UNKNOWN_SECONDS = 60.0


# Generation, version, bundle, and left-out parts.
_Key = tuple[str, str, bytes, frozenset[PolicyPart]]


@dataclass(frozen=True, slots=True)
class RegistrationInputs:
    """The policies to register, and the bundle of the certificate. The API server itself enforces
    the parts that are ``left_out``.
    """

    policies: CompiledPolicySet
    bundle: bytes
    left_out: frozenset[PolicyPart] = frozenset()


@dataclass(frozen=True)
class ConfigurationAim(Aim):
    """The wanted state of one configuration: ``target``, or nothing. With ``narrow`` it loses
    unneeded rules. No webhook may cover the ``excluded`` namespaces.
    """

    target: JSONObject | None
    narrow: bool
    excluded: Sequence[str]

    def wanted(self, found: JSONObject | None) -> JSONObject | None:
        """Return the object to store. Raises ConfigError if policyd does not own the stored one."""
        if found is None:
            return self.target
        found = {**found, "kind": self.key[0]}
        if not is_ours(found):
            raise ConfigError(
                f"the {self.name} has no label app.kubernetes.io/name: policyd; delete it, or set"
                " --webhook-name"
            )
        return desired(found, self.target, narrow=self.narrow, excluded=self.excluded)

    def differences(self, found: JSONObject, wanted: JSONObject) -> Sequence[ManagedField]:
        return configurations.differences(found, wanted)

    def replacing(self, found: JSONObject, wanted: JSONObject) -> JSONObject:
        return configurations.replacing(found, wanted)

    def urgent(self, found: JSONObject | None) -> bool:
        """Whether some policies are not enforced, or policyd is not reachable."""
        return self.target is not None and configurations.sends_less(found, self.target)

    def written(self, stored: JSONObject | None) -> str:
        if stored is None:
            return f"the {self.name} was deleted: no policy needs it"
        webhooks = ", ".join(each["name"] for each in stored.get("webhooks") or ())
        return f"the {self.name} was written: {webhooks or 'no policy needs it'}"


@dataclass(eq=False, repr=False)
class Registration(LookingController):
    """The registration by one replica. ``inputs`` returns the webhooks to register, or the reason
    to wait; ``holds``: whether this replica writes; ``writes`` counts results.
    """

    name = "registration"

    client: ObjectClient
    options: RenderOptions
    configurations: WatchedConfigurations
    log: Log
    _: KW_ONLY
    holds: Callable[[], bool]
    inputs: Callable[[], RegistrationInputs | str]
    writes: dict[str, int]
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        super().__init__()
        self._reconciler = Reconciler(
            self.client,
            "registration",
            self.log,
            holds=self.holds,
            writes=self.writes,
            clock=self.clock,
        )
        self._trouble = Trouble("registration", self.log)
        self._key: _Key | None = None  # of the wanted configurations
        self._in_step: tuple[_Key, float] | None = None  # registered, and since when
        self._owner: JSONObject | None = None
        self._wanted: dict[str, JSONObject] = {}
        self._since = 0.0  # when it changed
        self._retry = RETRY_SECONDS
        self._called = False  # the Service may be called
        self._waits_since = inf  # for an endpoint of the Service
        self._known_from = inf  # when the nodes know an endpoint

    @property
    def problem(self) -> str:
        """Why the configurations are not in step; empty if they are."""
        return self._trouble.problem or self.configurations.problem

    @property
    def wanted(self) -> list[JSONObject]:
        """The wanted configurations, as far as they are known."""
        return list(self._wanted.values())

    @property
    def active(self) -> bool:
        """Whether this replica currently keeps the configurations in step."""
        return self.holds() and not isinstance(self.inputs(), str)

    def settled(self, policies: CompiledPolicySet, left_out: frozenset[PolicyPart]) -> float:
        """Return for how many seconds the webhook has been registered for all policies except these
        parts; negative if it is not.
        """
        if self._in_step is None or not self.active:
            return -1.0
        (generation, version, _, parts), since = self._in_step
        known = (generation, version, parts)
        same = known == (policies.generation, str(policies.version), left_out)
        return self.clock() - since if same else -1.0

    async def look(self) -> float:
        """Check everything once; return the seconds until the next check."""
        if not self.holds():
            self._key = self._in_step = None  # the next holder narrows only after some time
            self._reconciler.forget_all()
            return LONGEST_PAUSE
        inputs = self.inputs()
        if isinstance(inputs, str) or not self.configurations.synced:
            return RETRY_SECONDS
        if not await self._may_be_called():
            return RETRY_SECONDS
        try:
            pause = await self._keep_in_step(inputs)
        except ObjectError as error:
            self._failed(f"cannot read the namespace of policyd: {reason(error)}")
        except ConfigError as error:
            self._failed(f"cannot render the webhook configurations: {error}")
        else:
            self._retry = RETRY_SECONDS
            return pause
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS)
        return self._retry

    async def _may_be_called(self) -> bool:
        """Whether the Service has a ready replica: with failurePolicy Fail, unanswered requests are
        denied. Also True if webhooks already call it, or if its endpoints are not known; then it
        stays so.
        """
        service = self.options.service
        if service is None or self._called:
            return True
        if any(each.get("webhooks") for each in self.configurations.found.values()):
            ready = None
        else:
            ready = await self._ready_endpoints(service)
        now = self.clock()
        if ready == 0:
            self._known_from = inf
            if now - self._waits_since >= UNKNOWN_SECONDS:
                where = f"{service.namespace}/{service.name}"
                self._trouble.begin(
                    f"no webhook is registered: the Service {where} has no ready endpoint"
                )
            self._waits_since = min(self._waits_since, now)
        else:
            self._known_from = min(self._known_from, now + (KNOWN_SECONDS if ready else 0.0))
            self._called = now >= self._known_from
        return self._called

    async def _ready_endpoints(self, service: ServiceAddress) -> int | None:
        """The number of ready endpoints of the Service; None if policyd cannot know them, 0 if the
        API server does not answer.
        """
        try:
            found = await self.client.get(*endpoint_slices(service.namespace, service.name))
        except ObjectError as error:
            return None if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND) else 0
        return ready_endpoints(found["items"]) if found.get("items") else None

    async def _keep_in_step(self, inputs: RegistrationInputs) -> float:
        await self._render(inputs)
        own = self.options.namespace
        covering = [
            name
            for each in self._wanted.values()
            for name in uncovered(each["webhooks"], [own] if own else [])
        ]
        if covering:
            raise ConfigError(
                f"the webhooks {', '.join(covering)} would be called for the Pods, Leases or"
                f" Secrets of policyd's own namespace {own}"
            )
        narrows_in = self._since + NARROWING_SECONDS - self.clock()
        aims = [self._aim(kind, narrow=narrows_in <= 0) for kind in RESOURCES]
        found = self.configurations.found
        steps = [await self._reconciler.step(each, found.get(each.key[0])) for each in aims]
        if not all(each.in_step for each in steps):
            self._in_step = None
        elif self._key is not None and (self._in_step is None or self._in_step[0] != self._key):
            self._in_step = self._key, self.clock()
        if self._reconciler.problem:
            self._trouble.begin(self._reconciler.problem)
        else:
            self._trouble.end("the webhook configurations are in step again")
        pauses = [narrows_in if narrows_in > 0 else LONGEST_PAUSE, LONGEST_PAUSE]
        return min(*pauses, *(each.pause for each in steps))

    def _aim(self, kind: str, *, narrow: bool) -> ConfigurationAim:
        own = self.options.namespace
        return ConfigurationAim(
            (kind, self.options.name),
            path_of(kind, self.options.name),
            f"{kind} {self.options.name}",
            (self._key, narrow),
            self._wanted.get(kind),
            narrow,
            (*self.options.excluded_namespaces, *([own] if own else [])),
        )

    async def _render(self, inputs: RegistrationInputs) -> None:
        policies = inputs.policies
        key = (policies.generation, str(policies.version), inputs.bundle, inputs.left_out)
        if key == self._key:
            return
        options = replace(self.options, ca_bundle=inputs.bundle)
        # On a thread: many policies take some time, for which requests must not wait.
        rendered = await asyncio.to_thread(
            lambda: render(policies.without(inputs.left_out), options)
        )
        owner = await self.owner()
        self._wanted = {each["kind"]: owned_by(each, owner) for each in rendered}
        self._key, self._since = key, self.clock()

    async def owner(self) -> JSONObject | None:
        """Return the Service's Namespace, whose deletion deletes everything; None if policyd is
        called by URL or may not read it. Raises ObjectError.
        """
        service = self.options.service
        if self._owner is None and service is not None:
            try:
                self._owner = await self.client.get(f"api/v1/namespaces/{service.namespace}")
            except ObjectError as error:
                if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
                    raise
        return self._owner

    def _failed(self, problem: str) -> None:
        self.writes["error"] += 1
        self._trouble.begin(problem)
