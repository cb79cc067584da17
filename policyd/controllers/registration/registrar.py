"""``serve --register``: keeps the webhook configurations in step with the policies in use.

The holder of the Lease writes, when it is ready itself. Nothing is removed because a server stops
or because policies are broken: the policies in use decide.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.registration.configurations import (
    NARROWING_SECONDS,
    ConfigurationWrite,
    changes,
    in_step,
    is_ours,
    owned,
    replacing,
    uncovered,
)
from policyd.controllers.registration.watched import WatchedConfigurations
from policyd.controllers.trouble import Trouble, reason
from policyd.controllers.wakening import Wakening
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.ownership import MANAGER
from policyd.placement.placement import PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions
from policyd.webhooks.stored import path_of

# How often the state is looked at without a change, and again after an error: doubled each time.
LONGEST_PAUSE = 60.0
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0
# After this many repairs in a row somebody else keeps changing a configuration: repair less often.
REPAIRS = 5


# Generation, version, bundle, and parts that are left out.
_Key = tuple[str, str, bytes, frozenset[PolicyPart]]


@dataclass(frozen=True, slots=True)
class RegistrationInputs:
    """What is to be registered: the policies, and the bundle of the certificate. The API server
    itself enforces the parts that are ``left_out``.
    """

    policies: CompiledPolicySet
    bundle: bytes
    left_out: frozenset[PolicyPart] = frozenset()


class Registration:
    """The registration by one replica. ``inputs`` returns what to register, or why that must wait;
    ``holds``: whether this replica writes; ``writes`` counts results.
    """

    def __init__(
        self,
        client: ObjectClient,
        options: RenderOptions,
        configurations: WatchedConfigurations,
        log: Log,
        *,
        holds: Callable[[], bool],
        inputs: Callable[[], RegistrationInputs | str],
        writes: dict[str, int],
    ) -> None:
        self._client = client
        self._options = options
        self._configurations = configurations
        self._log = log
        self._holds = holds
        self._inputs = inputs
        self._writes = writes
        self.changed = Wakening()
        self._trouble = Trouble("registration", log)
        self._key: _Key | None = None  # of what is wanted
        self._in_step: tuple[_Key, float] | None = None  # what is registered, and since when
        self.owner: JSONObject | None = None  # the Namespace with which everything is deleted
        self._wanted: dict[str, JSONObject] = {}
        self._since = 0.0  # when that changed
        self._repairs = 0  # since then
        # By kind: what was written last, and the version that it replaced. The watch may not have
        # shown it yet.
        self._written: dict[str, tuple[JSONObject | None, str]] = {}
        self._retry = RETRY_SECONDS

    @property
    def problem(self) -> str:
        """Why the configurations are not in step; empty if they are."""
        return self._trouble.problem

    @property
    def active(self) -> bool:
        """Whether this replica keeps the configurations in step now."""
        return self._holds() and not isinstance(self._inputs(), str)

    def settled(self, policies: CompiledPolicySet, left_out: frozenset[PolicyPart]) -> float:
        """Return for how many seconds the webhook has been registered for all of the policies but
        these parts; negative if it is not.
        """
        if self._in_step is None or not self.active:
            return -1.0
        (generation, version, _, parts), since = self._in_step
        known = (generation, version, parts)
        same = known == (policies.generation, str(policies.version), left_out)
        return monotonic() - since if same else -1.0

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the configurations in step while this replica holds the Lease, until ``stop``."""
        while not stop.is_set():
            await self.changed.wait(stop, await self._pass())

    async def _pass(self) -> float:
        """Look at everything once; return the seconds until it is to be looked at again."""
        if not self._holds():
            self._key = self._in_step = None  # the next holder narrows only after some time
            return LONGEST_PAUSE
        inputs = self._inputs()
        if isinstance(inputs, str) or not self._configurations.synced:
            return RETRY_SECONDS
        try:
            pause = await self._keep_in_step(inputs)
        except ObjectError as error:
            if error.status == HTTPStatus.CONFLICT:
                return RETRY_SECONDS / 4  # the watch shows what changed
            self._failed(f"cannot write the webhook configurations: {reason(error)}")
        except ConfigError as error:
            self._failed(f"cannot render the webhook configurations: {error}")
        else:
            self._retry = RETRY_SECONDS
            return pause
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS)
        return self._retry

    async def _keep_in_step(self, inputs: RegistrationInputs) -> float:
        await self._render(inputs)
        own = self._options.namespace
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
        excluded = (*self._options.excluded_namespaces, *([own] if own else []))
        narrows_in = self._since + NARROWING_SECONDS - monotonic()
        found = self._found()
        foreign = [kind for kind, each in found.items() if not is_ours(each)]
        if foreign:
            raise ConfigError(
                f"the {' and the '.join(foreign)} {self._options.name} has no label"
                " app.kubernetes.io/name: policyd; delete it, or set --webhook-name"
            )
        due = list(changes(found, self._wanted, narrow=narrows_in <= 0, excluded=excluded))
        for each in due:
            await self._write(each)
        if self._key is not None and (self._in_step is None or self._in_step[0] != self._key):
            self._in_step = self._key, monotonic()
        self._trouble.end("the webhook configurations are in step again")
        if due:
            self._repairs += 1
        if due and self._repairs > REPAIRS:
            return min(RETRY_SECONDS * 2.0 ** (self._repairs - REPAIRS), LONGEST_PAUSE)
        return narrows_in if narrows_in > 0 else LONGEST_PAUSE

    def _found(self) -> dict[str, JSONObject]:
        """The configurations as the watch or the last writes have them, whichever are newer."""
        found = self._configurations.found
        for kind, (written, replaced) in tuple(self._written.items()):
            if _version(found.get(kind)) != replaced:
                del self._written[kind]
            elif written is None:
                del found[kind]
            else:
                found[kind] = written
        return found

    async def _render(self, inputs: RegistrationInputs) -> None:
        policies = inputs.policies
        key = (policies.generation, str(policies.version), inputs.bundle, inputs.left_out)
        if key == self._key:
            return
        options = replace(self._options, ca_bundle=inputs.bundle)
        # Many policies take some time, which requests must not wait for.
        rendered = await asyncio.to_thread(_rendered, inputs, options)
        self.owner = owner = await self._own_namespace()
        self._wanted = {
            each["kind"]: each if owner is None else owned(each, owner) for each in rendered
        }
        self._key, self._since, self._repairs = key, monotonic(), 0

    async def _own_namespace(self) -> JSONObject | None:
        """The Namespace of the Service; None if policyd is called by URL or may not read it."""
        if self._options.service is None:
            return None
        try:
            return await self._client.get(f"api/v1/namespaces/{self._options.service.namespace}")
        except ObjectError as error:
            if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
                raise
            return None

    async def _write(self, change: ConfigurationWrite) -> None:
        if not self._holds():
            return
        path = path_of(change.kind, self._options.name)
        name = f"{change.kind} {self._options.name}"
        if change.wanted is None:
            metadata = (change.found or {}).get("metadata") or {}
            await self._client.delete(
                path,
                uid=str(metadata.get("uid") or ""),
                resource_version=str(metadata.get("resourceVersion") or ""),
            )
            self._written[change.kind] = None, _version(change.found)
            message = f"the {name} was deleted: no policy needs it"
        else:
            stored = await self._apply(path, change.wanted, change.found)
            self._written[change.kind] = stored, _version(change.found)
            webhooks = ", ".join(each["name"] for each in stored.get("webhooks") or ())
            message = f"the {name} was written: {webhooks or 'no policy needs it'}"
        self._writes["success"] += 1
        self._log.write("info", "registration", message)

    async def _apply(self, path: str, wanted: JSONObject, found: JSONObject | None) -> JSONObject:
        """Apply; replace the whole object if what other managers wrote is still in it."""
        try:
            stored = await self._client.apply(path, wanted, MANAGER, force=True)
        except ObjectError as error:
            # Without a webhook that another manager also wrote to, a part of it would remain.
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY or found is None:
                raise
            stored = found
        if in_step(stored, wanted):
            return stored
        return await self._client.replace(path, replacing(stored, wanted))

    def _failed(self, problem: str) -> None:
        self._writes["error"] += 1
        self._trouble.begin(problem)


def _rendered(inputs: RegistrationInputs, options: RenderOptions) -> list[JSONObject]:
    return render(inputs.policies.without(inputs.left_out), options)


def _version(found: JSONObject | None) -> str:
    return str(((found or {}).get("metadata") or {}).get("resourceVersion") or "")
