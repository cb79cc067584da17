"""The rotation of certificates, simulated: replicas that see late, writers that die, clocks that
jump. The certificates are real.

At no moment may an API server refuse a valid certificate that a replica serves.
"""

import json
from dataclasses import dataclass, field, replace
from functools import cache, partial
from random import Random
from typing import Any

import pytest

from policyd.controllers.certificates.material import Material, certificates, is_ours, read, secret
from policyd.controllers.certificates.rotation import (
    Situation,
    plan,
    pruned,
    recovered,
    with_authority,
)
from policyd.json_types import JSONObject
from policyd.tls.issuing import new_authority, new_leaf
from policyd.tls.pem import LIVES, KeyPair, validity
from policyd.tls.verifying import refusal

NAMES = ("policyd.policyd.svc", "policyd.policyd.svc.cluster.local", "policyd.policyd")
LIFE = 9000.0  # of a leaf; settling takes at most a tick
TICK = 100.0


@cache
def refused(bundle: bytes, leaf: KeyPair) -> str:
    """Why a client that trusts a bundle refuses a leaf, whatever the time is; empty if it does not."""
    return refusal(bundle, leaf, NAMES)


@cache
def _read(text: str) -> Material:
    return read(json.loads(text))


def held_in(stored: JSONObject) -> Material:
    """What a Secret holds. Reading it checks both keys, and most of the time it is what it was."""
    return _read(json.dumps(stored))


@dataclass
class Replica:
    """A replica: the Secret as it saw it last, and the leaf that it serves."""

    memory: Material = field(default_factory=Material)

    @property
    def serves(self) -> KeyPair | None:
        return self.memory.leaf

    def sees(self, stored: JSONObject | None) -> None:
        """What is damaged or gone changes nothing that is served."""
        found = Material() if stored is None else held_in(stored)
        if found.leaf is None:
            return
        self.memory = found if found.whole or not self.memory.whole else self.memory


@dataclass
class World:
    """The Secret, the caBundle of one webhook configuration (None: there is no configuration), and
    the one that API servers know.
    """

    now: float = 1_800_000_000.0
    secret: JSONObject | None = None
    configured: tuple[bytes, ...] | None = None
    known: tuple[bytes, ...] | None = None
    replicas: list[Replica] = field(default_factory=lambda: [Replica() for _ in range(3)])
    settled: bool = False
    actions: list[str] = field(default_factory=list)
    lifetime: float = LIFE

    @property
    def stored(self) -> Material:
        """What the Secret holds."""
        return Material() if self.secret is None else held_in(self.secret)

    def act(self, leader: Replica) -> None:
        """One step of the leader: at most one write of the Secret."""
        found = self.stored
        situation = Situation(
            self.now, NAMES, self.lifetime, self.configured or (), self.can_settle(found)
        )
        held = recovered(found, leader.memory, situation)
        if held.whole and not found.whole:
            self.write("repair", held)
            return
        step = plan(held, situation)
        if step.action == "prune":
            self.write("prune", pruned(held, self.now))
        elif step.action in ("authority", "first"):
            new = new_authority(self.now, LIVES * self.lifetime)
            held = with_authority(held, new, situation)
            leaf = held.leaf
            if step.action == "first":
                leaf = new_leaf(new, NAMES, self.now, self.lifetime)
            self.write(step.action, replace(held, leaf=leaf))
        elif step.action == "leaf":
            assert held.authority is not None
            leaf = new_leaf(held.authority, NAMES, self.now, self.lifetime)
            self.write("leaf", replace(held, leaf=leaf))

    def can_settle(self, held: Material) -> bool:
        return self.configured is None or (self.settled and self.configured == held.bundle)

    def write(self, action: str, material: Material) -> None:
        self.actions.append(action)
        self.secret = secret(material, "policyd", "policyd-tls", self.secret)

    def publish(self) -> None:
        """The leader copies the bundle into the configuration."""
        found = self.stored
        if self.configured is not None and found.bundle and found.bundle != self.configured:
            self.configured, self.settled = found.bundle, False

    def pass_time(self, seconds: float = TICK) -> None:
        """Longer than API servers take to see a configuration."""
        self.now += seconds
        self.known, self.settled = self.configured, True

    def check(self) -> None:
        """API servers accept what is served."""
        for replica in self.replicas:
            leaf = replica.serves
            if leaf is None or self.known is None or not self.known:
                continue
            if validity(leaf.certificate)[1] > self.now:
                assert refused(b"".join(self.known), leaf) == "", self.actions


def started() -> World:
    """A world in which everybody serves, and a configuration is registered."""
    world = World()
    world.act(world.replicas[0])
    for each in world.replicas:
        each.sees(world.secret)
    world.configured = world.stored.bundle
    world.pass_time()
    return world


def run(world: World, seconds: float) -> None:
    end = world.now + seconds
    while world.now < end:
        world.act(world.replicas[0])
        world.publish()
        for each in world.replicas:
            each.sees(world.secret)
        world.check()
        world.pass_time()
        world.check()


def test_the_first_write_has_everything() -> None:
    world = World()
    world.act(world.replicas[0])
    assert world.actions == ["first"]
    found = world.stored
    assert found.whole
    assert found.problems == ()
    assert refusal(found.bundle_pem, found.leaf or KeyPair(b"", b""), NAMES) == ""
    assert world.secret is not None
    assert world.secret["type"] == "kubernetes.io/tls"


def test_a_leaf_is_renewed_after_two_thirds_of_its_life_and_a_ca_likewise() -> None:
    world = started()
    run(world, 6.6 * LIFE)
    assert set(world.actions) == {"first", "leaf"}
    assert len(world.actions) == 10
    run(world, LIFE)
    assert world.actions[10:].count("authority") == 1
    authority = world.actions.index("authority")
    assert world.actions[authority + 1] == "leaf"
    assert len(world.stored.bundle) == 2
    run(world, LIFE)
    assert world.actions.count("prune") == 1
    assert len(world.stored.bundle) == 1


def test_the_plan_says_when_to_plan_again() -> None:
    world = started()
    situation = Situation(world.now, NAMES, LIFE, world.configured, settled=True)
    step = plan(world.replicas[0].memory, situation)
    assert step.action == "wait"
    assert step.at == pytest.approx(world.now - TICK + 2 * LIFE / 3, abs=2)


def test_a_new_leaf_waits_until_the_bundle_is_known() -> None:
    world = started()
    world.pass_time(6.7 * LIFE)
    world.act(world.replicas[0])  # the leaf has expired
    world.act(world.replicas[0])
    assert world.actions[-2:] == ["leaf", "authority"]
    for _ in range(5):
        world.act(world.replicas[0])
    assert world.actions[-1] == "authority"
    world.publish()
    world.act(world.replicas[0])
    assert world.actions[-1] == "authority"
    world.pass_time()
    world.act(world.replicas[0])
    assert world.actions[-1] == "leaf"


def test_without_the_configurations_nothing_is_replaced_that_clients_trust() -> None:
    world = started()
    held = world.replicas[0].memory
    for now, action in ((0.7 * LIFE, "leaf"), (6.8 * LIFE, "leaf"), (11 * LIFE, "wait")):
        situation = Situation(world.now + now, NAMES, LIFE, None)
        assert plan(held, situation).action == action
    assert plan(Material(), Situation(world.now, NAMES, LIFE, None)).action == "wait"


CLOCKS = [
    (-400.0, "leaf"),  # before the certificate is valid
    (-200.0, "wait"),
    (0.0, "wait"),
    (0.66 * LIFE, "wait"),
    (0.67 * LIFE, "leaf"),
    (1.5 * LIFE, "leaf"),
    (10.5 * LIFE, "authority"),
]


@pytest.mark.parametrize(("jump", "action"), CLOCKS)
def test_a_clock_that_jumps(jump: float, action: str) -> None:
    world = started()
    world.pass_time(-TICK)
    held = replace(world.replicas[0].memory)
    issued = validity(held.bundle[0])[0]
    # The CA was made earlier, so that it is valid in all of these rows but the last.
    assert issued < world.now
    situation = Situation(world.now + jump, NAMES, LIFE, world.configured, settled=True)
    expected = "authority" if jump < -300 else action
    assert plan(held, situation).action == expected


def test_other_names_need_another_leaf_of_the_same_ca() -> None:
    world = started()
    situation = Situation(world.now, ("policyd.other.svc",), LIFE, world.configured)
    assert plan(world.replicas[0].memory, situation).action == "leaf"


def test_a_longer_lifetime_needs_another_ca_and_a_shorter_one_does_not() -> None:
    world = started()
    held = world.replicas[0].memory
    situation = Situation(world.now, NAMES, LIFE, world.configured, settled=True)
    assert plan(held, replace(situation, lifetime=LIFE * 2)).action == "authority"
    assert plan(held, replace(situation, lifetime=LIFE / 2)).action == "wait"


def test_what_others_published_stays_in_the_bundle_until_its_leaves_have_expired() -> None:
    """Certificates that were mounted before, or a Secret that was lost with every replica."""
    former = new_authority(1_800_000_000.0 - 5 * LIFE, LIVES * LIFE)
    served = new_leaf(former, NAMES, 1_800_000_000.0, LIFE)
    world = World(configured=(former.certificate,))
    world.pass_time(1)
    world.replicas[2].memory = Material(served)
    leader = world.replicas[0]
    for _ in range(4):
        world.act(leader)
        world.publish()
        leader.sees(world.secret)
        world.check()
    assert world.actions == ["authority"]
    world.pass_time()
    run(world, 0.9 * LIFE)
    assert world.actions[1] == "leaf"
    assert former.certificate in (world.configured or ())
    run(world, 0.3 * LIFE)
    assert former.certificate not in (world.configured or ())


DAMAGE: list[tuple[str, str]] = [
    ("tls.crt", "!"),
    ("tls.crt", ""),
    ("tls.key", "eA=="),
    ("ca.crt", "eA=="),
    ("ca.crt", ""),
    ("ca.key", ""),
    ("ca.key", "eA=="),
]


@pytest.mark.parametrize("memory", [True, False], ids=["held", "forgotten"])
@pytest.mark.parametrize(("key", "value"), DAMAGE)
def test_a_damaged_secret_is_repaired(key: str, value: str, memory: bool) -> None:
    world = started()
    before = world.stored
    assert world.secret is not None
    world.secret["data"][key] = value
    damaged = world.stored
    assert not damaged.whole
    assert damaged.problems
    if not memory:
        world.replicas[0] = Replica()
    run(world, 3 * TICK)
    assert world.stored.whole
    assert (world.stored == before) is memory


def test_a_deleted_secret_is_written_again_from_memory() -> None:
    world = started()
    before = world.stored
    world.secret = None
    run(world, TICK)
    assert world.stored == before


def test_a_secret_of_others_is_not_policyds() -> None:
    assert is_ours({"metadata": {}, "data": {}})
    assert is_ours({"metadata": {}, "data": {"tls.crt": "", "tls.key": ""}})
    assert not is_ours({"metadata": {"labels": {"a": "b"}}, "data": {"tls.crt": "eA=="}})
    labels = {"app.kubernetes.io/managed-by": "policyd"}
    assert is_ours({"metadata": {"labels": labels}, "data": {"tls.crt": "eA=="}})


def test_the_secret_keeps_what_others_wrote_beside_it() -> None:
    metadata = {"resourceVersion": "7", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    made: Any = secret(Material(), "ns", "name", {"metadata": metadata, "type": "Opaque"})
    assert made["metadata"]["resourceVersion"] == "7"
    assert made["metadata"]["annotations"] == {"c": "d"}
    assert made["metadata"]["labels"]["a"] == "b"
    assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "policyd"
    assert made["type"] == "Opaque"


def test_certificates_of_a_bundle_are_found_once_each() -> None:
    one, two = (new_authority(0, 1e6).certificate for _ in range(2))
    assert certificates(b"# comment\n" + one + two + one) == (one, two)
    with pytest.raises(ValueError, match="expected a certificate"):
        certificates(b"")


@pytest.mark.parametrize("stop", range(8))
def test_a_writer_that_dies_after_any_write_leaves_nothing_uncovered(stop: int) -> None:
    """The leader dies after write number ``stop``, of the Secret or of the configuration; another
    replica, which knows nothing but what is stored, continues.
    """
    world = started()
    world.pass_time(6.3 * LIFE)
    run(world, 2 * TICK)
    writes, leader = 0, world.replicas[0]
    for _ in range(160):
        for write in (partial(world.act, leader), world.publish):
            before = (world.secret, world.configured)
            write()
            world.check()
            writes += (world.secret, world.configured) != before
            if writes == stop + 1:
                writes += 1
                world.replicas[0] = leader = Replica()
                break
        world.replicas[1].sees(world.secret)
        world.check()
        world.pass_time()
        world.check()
        world.replicas[2].sees(world.secret)
        leader.sees(world.secret)
        world.check()
    assert "authority" in world.actions
    assert "prune" in world.actions
    found = world.stored
    assert len(found.bundle) == 1
    assert all(each.serves == found.leaf for each in world.replicas)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_happens_leaves_a_served_certificate_uncovered(seed: int) -> None:
    """Random events; a replica may see nothing for as long as its certificate lives."""
    random, world = Random(seed), started()
    for _ in range(250):
        event = random.randrange(12)
        leader = random.choice(world.replicas)
        if event <= 3:
            world.act(leader)
        elif event <= 5:
            world.publish()
        elif event <= 7:
            random.choice(world.replicas).sees(world.secret)
        elif event <= 9:
            world.pass_time(random.choice([1.0, TICK, LIFE / 5]))
        elif event == 10 and random.random() < 0.1:
            world.secret = None
        elif event == 11 and random.random() < 0.2:
            world.replicas[random.randrange(3)] = Replica()
        world.check()
