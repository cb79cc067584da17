"""Who may hold a Lease, by what was seen of it and when. The clock is a variable."""

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from policyd.controllers.election import LEASE_SECONDS, RENEW_SECONDS, Election
from policyd.json_types import JSONObject


@dataclass
class Clock:
    """A clock that stands still."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Stored:
    """A Lease in an API server, which refuses what was not read before."""

    lease: JSONObject | None = None
    version: int = 0
    writes: list[JSONObject] = field(default_factory=list)

    def write(self, lease: JSONObject) -> JSONObject | None:
        """The Lease as it was stored; None for a conflict."""
        given = lease["metadata"].get("resourceVersion")
        known = (self.lease or {}).get("metadata", {}).get("resourceVersion")
        if given != known:
            return None
        self.version += 1
        metadata = {**lease["metadata"], "resourceVersion": str(self.version)}
        self.lease = {**lease, "metadata": metadata}
        self.writes.append(self.lease)
        return self.lease


def attempt(election: Election, stored: Stored, at: float) -> None:
    """Read, and write if that is allowed, as the loop does."""
    election.saw(stored.lease)
    wanted = election.wanted("ns", "policyd")
    if wanted is not None:
        made = stored.write(wanted)
        if made is not None:
            election.wrote(made, at)


def pair() -> tuple[Clock, Stored, Election, Election]:
    clock = Clock()
    a, b = Election("a", clock, lambda: clock() - 1000), Election("b", clock, lambda: 9e9)
    return clock, Stored(), a, b


def test_the_first_takes_it_and_the_second_waits_until_it_has_seen_no_renewal() -> None:
    clock, stored, a, b = pair()
    attempt(a, stored, clock.now)
    attempt(b, stored, clock.now)
    assert (a.holds, b.holds) == (True, False)
    clock.now += LEASE_SECONDS - 1
    attempt(b, stored, clock.now)
    assert (a.holds, b.holds) == (False, False)  # the holder stops before anyone can follow
    clock.now += 1
    attempt(b, stored, clock.now)
    assert b.holds
    assert b.holder == "b"
    attempt(a, stored, clock.now)
    assert not a.holds


def test_renewals_keep_it_whatever_the_holders_clock_says() -> None:
    """The wall clocks of the two are centuries apart."""
    clock, stored, a, b = pair()
    for _ in range(50):
        attempt(a, stored, clock.now)
        attempt(b, stored, clock.now)
        clock.now += 2
        assert (a.holds, b.holds) == (True, False)


def test_a_released_lease_is_taken_at_once() -> None:
    clock, stored, a, b = pair()
    attempt(a, stored, clock.now)
    attempt(b, stored, clock.now)
    freed = a.freed("ns", "policyd")
    assert freed is not None
    made = stored.write(freed)
    assert made is not None
    a.wrote(made, clock.now)
    attempt(b, stored, clock.now)
    assert (a.holds, b.holds) == (False, True)
    assert a.freed("ns", "policyd") is None


def test_a_conflict_means_that_another_was_faster() -> None:
    clock, stored, a, b = pair()
    a.saw(None)
    b.saw(None)
    first, second = a.wanted("ns", "policyd"), b.wanted("ns", "policyd")
    assert first is not None and second is not None
    made = stored.write(first)
    assert made is not None
    a.wrote(made, clock.now)
    assert stored.write(second) is None
    assert (a.holds, b.holds) == (True, False)


def test_a_holder_whose_renewals_fail_stops_in_time() -> None:
    clock, stored, a, _ = pair()
    attempt(a, stored, clock.now)
    clock.now += RENEW_SECONDS - 0.1
    assert a.holds
    clock.now += 0.1
    assert not a.holds


def test_the_time_of_a_renewal_is_when_its_request_was_sent() -> None:
    clock, stored, a, _ = pair()
    sent = clock.now
    clock.now += RENEW_SECONDS  # the response came this late
    attempt(a, stored, sent)
    assert not a.holds


def test_a_deleted_lease_ends_the_holding_and_may_be_made_again() -> None:
    clock, stored, a, _ = pair()
    attempt(a, stored, clock.now)
    stored.lease = None
    a.saw(None)
    assert not a.holds
    attempt(a, stored, clock.now)
    assert a.holds


def test_transitions_are_counted_and_renewals_keep_the_time_of_acquisition() -> None:
    clock, stored, a, b = pair()
    attempt(a, stored, clock.now)
    attempt(b, stored, clock.now)
    attempt(a, stored, clock.now)
    clock.now += LEASE_SECONDS
    attempt(b, stored, clock.now)
    specs: list[Any] = [each["spec"] for each in stored.writes]
    assert [each["leaseTransitions"] for each in specs] == [0, 0, 1]
    assert specs[0]["acquireTime"] == specs[1]["acquireTime"] == "1970-01-01T00:00:00.000000Z"
    assert specs[2]["acquireTime"] != specs[0]["acquireTime"]
    assert specs[0]["leaseDurationSeconds"] == LEASE_SECONDS


def test_labels_of_others_stay() -> None:
    clock, stored, a, _ = pair()
    attempt(a, stored, clock.now)
    assert stored.lease is not None
    stored.lease["metadata"]["labels"] = {"app": "x"}
    attempt(a, stored, clock.now)
    assert stored.lease["metadata"]["labels"] == {"app": "x"}


def test_an_empty_lease_is_free() -> None:
    clock, stored, a, _ = pair()
    stored.lease = {"metadata": {"name": "policyd"}, "spec": {}}
    attempt(a, stored, clock.now)
    assert a.holds


def test_never_two_hold_it() -> None:
    for seed in range(200):
        simulated(seed)


def simulated(seed: int) -> None:
    """Three candidates that read, write, hang, lose requests and restart at random."""
    random, clock, stored = Random(seed), Clock(), Stored()
    candidates = [Election(f"{number}", clock) for number in range(3)]
    under_way: list[tuple[Election, JSONObject, float]] = []
    for step in range(400):
        clock.now += random.choice([0.0, 0.1, 1.0, 5.0])
        each = random.choice(candidates)
        action = random.randrange(6)
        if action <= 2:
            attempt(each, stored, clock.now)
        elif action == 3:  # a request that arrives later
            each.saw(stored.lease)
            wanted = each.wanted("ns", "policyd")
            if wanted is not None:
                under_way.append((each, wanted, clock.now))
        elif action == 4 and under_way:
            sender, lease, sent = under_way.pop(random.randrange(len(under_way)))
            made = stored.write(lease)
            if made is not None:
                sender.wrote(made, sent)
        elif action == 5 and random.random() < 0.1:
            candidates[candidates.index(each)] = Election(f"{step + 10}", clock)
        holding = [one.identity for one in candidates if one.holds]
        assert len(holding) <= 1, (seed, holding)
    transitions = [each["spec"]["leaseTransitions"] for each in stored.writes]
    assert all(one <= two <= one + 1 for one, two in pairwise(transitions)), seed
