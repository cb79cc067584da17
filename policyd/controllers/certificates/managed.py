"""Managed certificates: every replica serves the Secret's certificate; the Lease holder writes it.

``rotation.py`` decides what to write. The served certificate stays in use if the Secret is damaged
or deleted.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from http import HTTPStatus
from time import monotonic

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.cluster.watching import RELIST_SECONDS, Reflector, Watched
from policyd.controllers.certificates import bundles
from policyd.controllers.certificates.bundles import WebhookAddress
from policyd.controllers.certificates.material import Material, is_ours, read, secret
from policyd.controllers.certificates.rotation import (
    RotationPlan,
    Situation,
    plan,
    pruned,
    recovered,
    with_authority,
)
from policyd.controllers.controller import LookingController, Trouble, reason
from policyd.controllers.reconciling import Aim, Reconciler
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.errors import PolicydError
from policyd.json_types import JSONObject
from policyd.managed_fields import ManagedField, field_path, item
from policyd.observability.logs import Log
from policyd.tls.certificates import HeldPair
from policyd.tls.issued import IssuedPairs, IssuingError, issue
from policyd.tls.pem import KeyPair
from policyd.webhooks.configuration_paths import path_of

# How long every API server must have had a bundle before a certificate needs it: a part of the
# certificate's life, and at most this long.
SETTLING_SECONDS = 10.0
SETTLING_PART = 0.1
# How often to check the state without a change, and how soon after an error.
LONGEST_PAUSE = 60.0
RETRY_SECONDS = 2.0
# The longest time that the last write counts as the stored state before the watch shows it.
UNSEEN_SECONDS = 30.0
DONE = {
    "first": "the CA and the certificate were issued",
    "authority": "a new CA was issued; it signs once API servers know it",
    "leaf": "a new certificate was issued",
    "prune": "the former CA was removed from the bundle",
    "repair": "the Secret was written again",
}


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """The Secret of the certificates, their DNS names, their lifetime, and policyd's address."""

    namespace: str
    secret: str
    names: tuple[str, ...]
    lifetime: float
    address: WebhookAddress

    @property
    def settling(self) -> float:
        """Seconds for API servers to read a bundle."""
        return min(SETTLING_SECONDS, SETTLING_PART * self.lifetime)


class NotOurs(PolicydError):
    """The Secret has content that policyd did not write."""


@dataclass(frozen=True)
class BundleAim(Aim):
    """A webhook configuration that policyd does not own, with the caBundle of its certificates."""

    bundle: tuple[bytes, ...]
    address: WebhookAddress

    def wanted(self, found: JSONObject | None) -> JSONObject | None:
        """Return no configuration if none exists: policyd does not create it here."""
        if found is None:
            return None
        return bundles.with_bundle(found, self.address, self.bundle) or found

    def differences(self, found: JSONObject, wanted: JSONObject) -> Sequence[ManagedField]:
        pairs = zip(found.get("webhooks") or (), wanted.get("webhooks") or (), strict=True)
        at = field_path("clientConfig", "caBundle")
        return [
            (*field_path("webhooks"), item(one["name"]), *at)
            for one, other in pairs
            if one != other
        ]

    def urgent(self, found: JSONObject | None) -> bool:
        """Whether API servers cannot verify policyd, so that their calls fail."""
        return found is not None and not bundles.complete([found], self.address, self.bundle)

    def written(self, stored: JSONObject | None) -> str:
        return f"the caBundle of the {self.name} was written"


@dataclass(eq=False, repr=False)
class ManagedCertificates(LookingController):
    """The certificates of one replica. ``pair`` is the served one; ``serve`` is called after it
    changed, and ``noticed`` after any change of the Secret.

    ``holds``: whether this replica writes. ``publishes``: whether another controller currently
    writes the bundle to the webhook configurations; if not, this one does. ``rotations`` counts
    results of writing the Secret, ``writes`` errors of writing webhook configurations.
    """

    name = "managed certificates"

    client: ObjectClient
    options: CertificateOptions
    configurations: WatchedConfigurations
    log: Log
    _: KW_ONLY
    pair: HeldPair
    clock: Callable[[], float]
    holds: Callable[[], bool]
    publishes: Callable[[], bool]
    serve: Callable[[], None]
    noticed: Callable[[], None]
    rotations: dict[str, int]
    writes: dict[str, int]

    def __post_init__(self) -> None:
        super().__init__()
        self._where = f"{self.options.namespace}/{self.options.secret}"
        self._list = f"api/v1/namespaces/{self.options.namespace}/secrets"
        selector = f"metadata.name={self.options.secret}"
        self._reflector = Reflector(
            self.client,
            Watched(self._list, field_selector=selector),
            changed=lambda *_: self.changed(),
            relist=RELIST_SECONDS,
        )
        self._damage = Trouble("certificate", self.log)
        self._trouble = Trouble("certificate", self.log)
        self._found = Material()  # the content of the Secret
        self._read: JSONObject | None = None  # the Secret that it was read from
        self._memory = Material()  # the last whole one
        # The last write, until the watch has passed it, and its time.
        self._written: tuple[JSONObject, float] | None = None
        self._reconciler = Reconciler(
            self.client, "certificate", self.log, holds=self.holds, writes=self.writes
        )
        self._complete: tuple[tuple[bytes, ...], float] | None = None  # which bundle, since when
        self._why = "the replica that holds the Lease has not written it yet"

    @property
    def bundle(self) -> bytes:
        """The CAs that clients should trust; empty before there are any."""
        return self._found.bundle_pem or self._memory.bundle_pem

    @property
    def problem(self) -> str:
        """The problem of the certificates; empty if there is none."""
        troubles = (self._trouble, self._damage, self._reflector, self._reconciler)
        return next((each.problem for each in troubles if each.problem), "")

    @property
    def unready(self) -> str:
        """Why there is no certificate to serve; empty if there is one."""
        if self.pair.pair is not None:
            return ""
        return f"no certificate in the Secret {self._where}: {self.problem or self._why}"

    async def run(self, stop: asyncio.Event) -> None:
        """Serve, and write while this replica holds the Lease, until ``stop`` is set."""
        watching = asyncio.get_running_loop().create_task(self._reflector.run(stop))
        try:
            await super().run(stop)
        finally:
            await watching

    async def look(self) -> float:
        """Check everything once; return the seconds until the next check."""
        if not self._reflector.synced:
            return RETRY_SECONDS
        self._look()
        if not self.holds():
            self._complete = None
            self._reconciler.forget_all()
            return LONGEST_PAUSE
        try:
            pause = await self._lead()
        except ObjectError as error:
            if error.status == HTTPStatus.CONFLICT:
                return RETRY_SECONDS / 4  # the watch will show the other write
            self._failed(f"cannot write the certificates: {reason(error)}")
            return RETRY_SECONDS
        except (IssuingError, NotOurs) as error:
            self._failed(str(error))
            return RETRY_SECONDS
        self._trouble.end("the certificates can be written again")
        return pause

    def _look(self) -> None:
        """Read the Secret if it changed, and serve its certificate."""
        current = self._current()
        if current is self._read:
            return
        self._read = current
        self._found = Material() if current is None else read(current)
        if current is None:
            self._damage.begin(
                f"the Secret {self._where} was deleted; the previous certificate is served"
            )
        elif self._found.problems and is_ours(current):
            problems = "; ".join(self._found.problems)
            self._damage.begin(
                f"the Secret {self._where} cannot be used, so the previous certificate is served:"
                f" {problems}"
            )
            self.rotations["error"] += 1
        else:
            self._damage.end(f"the Secret {self._where} can be used again")
        if self._found.whole:
            self._memory = self._found
        leaf = self._found.leaf
        if leaf is not None and leaf != self.pair.pair:
            self.pair.pair = leaf
            self.serve()
        self.noticed()

    def _current(self) -> JSONObject | None:
        """The Secret of the watch or of the last write, whichever is newer. A deletion after the
        write is newer, although the watch then shows the same as before the write.
        """
        if self._written is not None:
            written, at = self._written
            late = not self._reflector.passed(str(written["metadata"]["resourceVersion"]))
            if late and monotonic() - at < UNSEEN_SECONDS:
                return written
            self._written = None
        return self._reflector.objects.get((self.options.namespace, self.options.secret))

    async def _lead(self) -> float:
        """Take the next step if one is due; return the seconds until the next may be due."""
        current, configurations = self._current(), self.configurations
        if current is not None and not is_ours(current):
            raise NotOurs(
                f"the Secret {self._where} was not written by policyd: delete it, or name another"
                " one with --certificate-secret"
            )
        found = list(configurations.found.values())
        situation = Situation(
            self.clock(),
            self.options.names,
            self.options.lifetime,
            bundles.published(found, self.options.address) if configurations.synced else None,
            self._settled(found),
        )
        held = recovered(self._found, self._memory, situation)
        if held.whole and not self._found.whole:
            await self._write(held, current, "repair")
            return 0.0
        rotation = plan(held, situation)
        if rotation.action == "wait":
            self._why = rotation.why or self._why
            published = await self._publish(found)
            if rotation.why and configurations.problem:
                self._why = f"{rotation.why}: {configurations.problem}"
            pause = rotation.at - situation.now
            if rotation.why:
                pause = self.options.settling / 2
            return min(max(pause, 0.05), published, LONGEST_PAUSE)
        await self._write(await self._step(held, situation, rotation), current, rotation.action)
        return 0.0

    async def _step(self, held: Material, situation: Situation, rotation: RotationPlan) -> Material:
        """The next write."""
        options = self.options
        if rotation.action == "prune":
            return pruned(held, situation.now)
        if rotation.action == "leaf":
            issued = await self._issue(options.names, situation, held.authority)
            return replace(held, leaf=issued.leaf, problems=())
        names = options.names if rotation.action == "first" else ()
        issued = await self._issue(names, situation, None)
        if issued.authority is None:
            raise IssuingError("cannot issue certificates: no CA was issued")
        return replace(
            with_authority(held, issued.authority, situation), leaf=issued.leaf or held.leaf
        )

    async def _issue(
        self, names: tuple[str, ...], situation: Situation, authority: KeyPair | None
    ) -> IssuedPairs:
        return await asyncio.to_thread(
            issue, situation.now, self.options.lifetime, names, authority
        )

    async def _write(self, material: Material, former: JSONObject | None, action: str) -> None:
        if not self.holds():
            return  # this replica lost the Lease while it issued a certificate
        body = secret(material, self.options.namespace, self.options.secret, former)
        if former is None:
            stored = await self.client.create(self._list, body)
        else:
            stored = await self.client.replace(f"{self._list}/{self.options.secret}", body)
        self._written = stored, monotonic()
        self.rotations["success"] += 1
        self.log.write("info", "certificate", f"{DONE[action]} in the Secret {self._where}")
        self._look()

    async def _publish(self, found: list[JSONObject]) -> float:
        """Write the bundle to the webhook configurations, unless another controller does; return
        the seconds until the next step may be due.
        """
        if self.publishes() or not self._found.bundle or not self.configurations.synced:
            return LONGEST_PAUSE
        pause = LONGEST_PAUSE
        for each in found:
            key = each["kind"], self.configurations.webhook_name
            bundle, address = self._found.bundle, self.options.address
            aim = BundleAim(key, path_of(*key), " ".join(key), bundle, bundle, address, whole=True)
            step = await self._reconciler.step(aim, each)
            if step.error is not None:
                raise step.error
            pause = min(pause, step.pause)
        return pause

    def _settled(self, found: list[JSONObject]) -> bool:
        """Whether every configuration has had the complete bundle for long enough."""
        bundle = self._found.bundle
        if not self.configurations.synced or not bundles.complete(
            found, self.options.address, bundle
        ):
            self._complete = None
            return False
        if self._complete is None or self._complete[0] != bundle:
            self._complete = bundle, monotonic()
        return monotonic() - self._complete[1] >= self.options.settling

    def _failed(self, problem: str) -> None:
        self.rotations["error"] += problem != self._trouble.problem
        self._trouble.begin(problem)


def names_of(address: WebhookAddress, host: str) -> tuple[str, ...]:
    """The DNS names that API servers may call; ``host`` is a URL's, empty for a Service."""
    if host:
        return (host,)
    short = f"{address.service}.{address.namespace}"
    return (f"{short}.svc", f"{short}.svc.cluster.local", short)
