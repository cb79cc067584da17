"""Plans the next step of the managed certificates. Has no I/O and reads no clock.

A new CA first enters the bundle, which is then published. Its first leaf is written only after API
servers have had time to read the bundle; until then replicas serve the leaf of the former CA. The
key of the former CA is dropped when the new CA is issued, so its last leaf is older than the new CA
and lives a tenth of a CA's life: after that time no replica, not even one that missed all updates,
can serve a leaf of the former CA, which then leaves the bundle. No replica has to confirm anything.
``issuing.py`` limits the lifetimes of leaves accordingly.

Each step is one write of the Secret, and the next step depends only on the Secret and the webhook
configurations: another replica can continue.
"""

from dataclasses import dataclass, replace
from typing import Literal

from policyd.controllers.certificates.material import Material
from policyd.tls.pem import BACKDATED, LIVES, KeyPair, validity
from policyd.tls.verifying import refusal

# first: a CA and a leaf at once; prune: remove CAs from the bundle.
RotationAction = Literal["first", "authority", "leaf", "prune", "wait"]
# Seconds after its expiry when no replica can still serve a leaf.
MARGIN = 5.0
# Certificates of a bundle. Two are in use; others come from edits of a caBundle by hand.
LONGEST_BUNDLE = 8


@dataclass(frozen=True, slots=True)
class Situation:
    """The situation: the time, the ``names`` and ``lifetime`` of leaves.

    ``published`` are the certificates in the webhook configurations, None if not known;
    ``settled``: every configuration has had the complete bundle for some time.
    """

    now: float
    names: tuple[str, ...]
    lifetime: float
    published: tuple[bytes, ...] | None = ()
    settled: bool = False


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """The step to take now, and the reason; if none, ``at`` is the latest time to plan again."""

    action: RotationAction
    why: str = ""
    at: float = float("inf")


@dataclass(frozen=True, slots=True)
class _Life:
    """When a certificate was issued and when it expires."""

    issued: float
    ends: float

    @property
    def length(self) -> float:
        return self.ends - self.issued

    @property
    def due(self) -> float:
        """When to replace it."""
        return self.issued + 2 * self.length / 3

    def valid(self, now: float) -> bool:
        return self.issued - BACKDATED <= now < self.ends


def plan(held: Material, situation: Situation) -> RotationPlan:
    """The next step."""
    authority = held.authority
    if authority is None:
        return _without_authority(held, situation)
    life = _life(authority.certificate)
    if not life.valid(situation.now):
        return _new_authority(situation, "the CA has expired or is not valid yet")
    leaf = held.leaf
    if leaf is None or refusal(authority.certificate, leaf, ()):
        return _of_new_authority(leaf, situation)
    lives = _life(leaf.certificate)
    if situation.now >= lives.due or not lives.valid(situation.now):
        return RotationPlan("leaf", "two thirds of the certificate's life are over")
    if refusal(authority.certificate, leaf, situation.names):
        return RotationPlan("leaf", "the certificate does not have the names of the webhook")
    if situation.now >= life.due or life.length < 0.99 * LIVES * situation.lifetime - 1:
        # The former CA no longer signs: its leaf must last until API servers have read the bundle.
        if lives.ends - situation.now < lives.length / 2:
            return RotationPlan("leaf", "the CA is about to be replaced")
        return _new_authority(situation, "the CA is due for replacement")
    if pruned(held, situation.now) != held:
        return RotationPlan("prune", "no certificate of the former CA is valid any more")
    ends = [_out_of_use(each, authority.certificate) for each in held.bundle[1:]]
    return RotationPlan("wait", at=min([lives.due, life.due, *ends]))


def _without_authority(held: Material, situation: Situation) -> RotationPlan:
    if situation.published is None:
        return RotationPlan("wait", "the webhook configurations cannot be read")
    if held.leaf is None and not held.bundle and not situation.published:
        return RotationPlan("first", "there is no certificate yet")
    return RotationPlan("authority", "there is no CA that can sign")


def _new_authority(situation: Situation, why: str) -> RotationPlan:
    """Plan a new CA. Its bundle keeps the published certificates, which must be known."""
    if situation.published is None:
        return RotationPlan("wait", f"{why}, but the webhook configurations cannot be read")
    return RotationPlan("authority", why)


def _of_new_authority(leaf: KeyPair | None, situation: Situation) -> RotationPlan:
    """Plan for a CA that has no leaf yet."""
    if situation.settled:
        return RotationPlan("leaf", "API servers know the new CA")
    if leaf is not None and not _life(leaf.certificate).valid(situation.now):
        return RotationPlan("leaf", "the certificate has expired")
    return RotationPlan(
        "wait", "the webhook configurations do not have the new CA yet", situation.now
    )


def with_authority(held: Material, new: KeyPair, situation: Situation) -> Material:
    """The material with another CA; the bundle keeps all CAs that clients may need."""
    former = dict.fromkeys([*held.bundle, *(situation.published or ())])
    kept = [each for each in former if each != new.certificate]
    valid = [each for each in kept if _life(each).ends > situation.now]
    return replace(
        held, authority=new, bundle=(new.certificate, *valid[: LONGEST_BUNDLE - 1]), problems=()
    )


def recovered(found: Material, memory: Material, situation: Situation) -> Material:
    """The material of a Secret, completed from memory if it is damaged or deleted.

    Material from memory is written again only if nothing newer was published, which others may
    serve. Otherwise a new CA follows, with everything in its bundle.
    """
    if found.whole or situation.published is None:
        return found
    if memory.whole and set(situation.published).issubset(memory.bundle):
        return replace(memory, problems=())
    known = set(memory.bundle).issubset(found.bundle)
    return Material(
        found.leaf or memory.leaf,
        found.authority if known else None,
        tuple(dict.fromkeys([*found.bundle, *memory.bundle])),
    )


def pruned(held: Material, now: float) -> Material:
    """The material without the CAs whose leaves have all expired."""
    current = held.bundle[0]
    former = [each for each in held.bundle[1:] if now < _out_of_use(each, current)]
    return replace(held, bundle=(current, *former))


def _out_of_use(former: bytes, current: bytes) -> float:
    """The time when the last leaf of a former CA expires: it issued none after the current CA."""
    life = _life(former)
    return min(life.ends, _life(current).issued + life.length / LIVES + MARGIN)


def _life(certificate: bytes) -> _Life:
    begins, ends = validity(certificate)
    return _Life(begins + BACKDATED, ends)
