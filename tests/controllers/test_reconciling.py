"""Objects are brought in step with what is wanted, whoever else changes them, and at a bounded
rate.
"""

import json
from io import BytesIO
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from policyd.cluster.objects import ObjectClient
from policyd.controllers.reconciling import (
    LATE_SECONDS,
    LONGEST_ERROR_SECONDS,
    LONGEST_GONE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    PAUSE_SECONDS,
    QUICK_REPAIRS,
    QUIET_SECONDS,
    SPREAD,
    Reconciler,
    ReconcileStep,
)
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import WRITES
from tests.controllers.contested import FOREIGN, Contested, at_once, spec_aim
from tests.sampling import examples

HERE = "things/a"
SPEC = {"a": 1, "b": 2}


class Running:
    """A reconciler, the API server, and the time."""

    def __init__(self, spec: dict[str, int] | None = SPEC) -> None:
        self.api = Contested()
        self.now = 1000.0
        self.holds = True
        self.counts = dict.fromkeys(WRITES, 0)
        self.lines = BytesIO()
        self.aim = spec_aim(HERE, spec)
        self.reconciler = Reconciler(
            cast(ObjectClient, self.api),
            "registration",
            Log(self.lines),
            holds=lambda: self.holds,
            writes=self.counts,
            clock=lambda: self.now,
        )

    def once(self) -> ReconcileStep:
        """One look, with what the watch has shown until now."""
        return at_once(self.reconciler.step(self.aim, self.api.seen.get(HERE)))

    def look(self) -> ReconcileStep:
        """One look, with everything that happened."""
        self.api.relist()
        return self.once()

    @property
    def right(self) -> bool:
        """Whether the API server holds what is wanted."""
        found = self.api.stored.get(HERE)
        return (None if found is None else found["spec"]) == self.aim.spec

    @property
    def logged(self) -> list[JSONObject]:
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]

    def until_right(self, seconds: float) -> None:
        """Look whenever that is due; nobody else does anything."""
        end = self.now + seconds
        step = self.look()
        while not (step.in_step and self.right):
            assert self.now < end, f"not in step after {seconds} s"
            self.now += max(step.pause, 0.001)
            step = self.look()


def test_an_object_is_written_once() -> None:
    run = Running()
    assert run.once() == ReconcileStep(True, wrote=True)
    assert run.right
    run.look()
    assert run.api.sent == [f"GET {HERE}", f"APPLY {HERE}"]
    assert [each["message"] for each in run.logged] == [f"Thing {HERE} was written"]


def test_a_watch_that_is_late_causes_no_second_write() -> None:
    run = Running()
    run.once()
    for _ in range(3):
        assert run.once() == ReconcileStep(True, LATE_SECONDS), "the API server holds it"
    assert run.counts == {"success": 1, "error": 0, "conflict": 0}


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("spec", [SPEC, None])
def test_what_is_undone_before_the_watch_shows_it_is_restored(
    times: int, spec: dict[str, int] | None
) -> None:
    """A create and the deletion after it may arrive together, and nothing else follows."""
    run = Running(spec)
    for _ in range(times):
        if spec is None:
            run.api.put(HERE, SPEC)
            run.look()
            run.api.put(HERE, SPEC)
        else:
            run.look()
            if run.right:
                run.api.remove(HERE)
        run.now += 0.001
    run.until_right(LONGEST_GONE_SECONDS * SPREAD[1] + 1)


def test_what_others_leave_of_an_object_is_replaced() -> None:
    run = Running()
    run.api.forced = True
    run.api.put(HERE, {"c": 3})
    assert run.look() == ReconcileStep(True, wrote=True)
    assert run.right
    assert run.api.sent[-2:] == [f"APPLY {HERE}", f"PUT {HERE}"]


def war(run: Running, seconds: float, *, delete: bool = False) -> list[float]:
    """Somebody undoes each write at once; when policyd wrote."""
    times, end = [], run.now + seconds
    run.look()
    while run.now < end:
        if run.right:
            if delete:
                run.api.remove(HERE)
            else:
                run.api.put(HERE, {**SPEC, "a": 9})
        step = run.look()
        if step.wrote:
            times.append(run.now)
            assert len(times) < 1000, "a write for each change"
        else:
            assert step.pause > 0
            run.now += step.pause
    return times


def test_who_undoes_every_write_is_repaired_ever_less_often() -> None:
    run = Running()
    times = war(run, 3600)
    pauses = [after - before for before, after in pairwise(times)]
    assert times[0] == 1000.0, "the first time at once"
    assert all(pause <= PAUSE_SECONDS * SPREAD[1] for pause in pauses[:QUICK_REPAIRS])
    assert LONGEST_PAUSE_SECONDS * SPREAD[0] <= pauses[-1] <= LONGEST_PAUSE_SECONDS * SPREAD[1]
    assert len(times) < 30
    assert len(set(pauses)) == len(pauses), "at times that nobody foresees"
    assert run.counts["conflict"] == len(times)
    [first, *_, last] = [each for each in run.logged if each["level"] == "warning"]
    assert (
        first["message"]
        == f"the Thing {HERE} was changed by {FOREIGN} (spec.a); it was written again"
    )
    assert (first["manager"], first["repairs"], last["repairs"]) == (FOREIGN, 1, len(times))
    assert run.reconciler.problem == (
        f"the Thing {HERE} is changed by {FOREIGN} (spec.a) each time it is written,"
        " so it is written less and less often"
    )
    run.until_right(LONGEST_PAUSE_SECONDS * SPREAD[1] + 1)
    assert run.reconciler.problem, "nobody knows yet whether it is over"
    run.now += QUIET_SECONDS
    assert run.look() == ReconcileStep(True)
    assert run.reconciler.problem == ""
    run.api.put(HERE, {})
    assert run.look().wrote, "at once again"


def test_what_is_deleted_again_and_again_is_never_gone_for_long() -> None:
    run = Running()
    times = war(run, 600, delete=True)
    pauses = [after - before for before, after in pairwise(times)]
    assert max(pauses) <= LONGEST_GONE_SECONDS * SPREAD[1]
    assert len(times) <= QUICK_REPAIRS + 600 / (LONGEST_GONE_SECONDS * SPREAD[0]) + 2
    assert run.logged[-1]["message"] == f"the Thing {HERE} was deleted; it was written again"


def test_what_somebody_makes_again_is_deleted_ever_less_often() -> None:
    run = Running(None)
    run.api.put(HERE, SPEC)
    wrote = 0
    for _ in range(1000):
        if run.right:
            run.api.put(HERE, SPEC)
        step = run.look()
        wrote += step.wrote
        run.now += 1.0
    assert wrote < 20
    assert (
        run.logged[-1]["message"] == f"the Thing {HERE} was made by {FOREIGN}; it was deleted again"
    )


def test_what_is_wanted_newly_is_written_at_once_in_a_war_too() -> None:
    run = Running()
    war(run, 3600)
    run.until_right(400)
    run.api.put(HERE, {"a": 9})
    assert not run.look().wrote
    run.aim = spec_aim(HERE, {"a": 5})
    step = run.look()
    assert step.in_step and step.wrote
    run.api.put(HERE, {"a": 9})
    assert not run.look().wrote, "that does not end the war"


def test_errors_are_tried_again_ever_later_and_forgotten_after_a_success() -> None:
    run = Running()
    pauses = []
    for _ in range(8):
        run.api.errors = [0, 403]
        step = run.look()
        assert step.error is not None and step.error.status == 403
        pauses.append(step.pause)
        run.now += step.pause
    assert pauses == sorted(pauses[:-2]) + pauses[-2:]
    assert pauses[0] <= PAUSE_SECONDS * SPREAD[1]
    assert pauses[-1] <= LONGEST_ERROR_SECONDS * SPREAD[1]
    assert run.counts == {"success": 0, "error": 8, "conflict": 0}
    assert run.reconciler.problem.startswith(f"cannot write the Thing {HERE}: ")
    assert run.look().wrote
    assert run.reconciler.problem == ""
    run.api.put(HERE, {})
    assert run.look().wrote, "errors are no conflicts"


def test_a_loss_after_errors_is_repaired_at_once_and_put_off_if_that_repeats() -> None:
    run = Running()
    run.look()
    run.api.put(HERE, {**SPEC, "a": 9})
    run.look()
    run.api.put(HERE, {**SPEC, "a": 9})

    def failed() -> ReconcileStep:
        run.api.errors = [0, 403]
        step = run.look()
        run.api.errors = []
        return step

    for _ in range(8):
        run.now += max(failed().pause, 0.0)
    assert failed().pause > LONGEST_ERROR_SECONDS / 2
    run.now += 0.001
    run.api.remove(HERE)
    step = failed()
    assert step.error is not None, "tried at once"
    assert step.pause > LONGEST_ERROR_SECONDS / 2, "the same loss is put off"
    for _ in range(3):  # so is a new one soon after
        run.api.put(HERE, {**SPEC, "a": 9})
        assert run.look().pause > 0
        run.api.remove(HERE)
        assert run.look().pause > 0
    run.until_right(LONGEST_ERROR_SECONDS * SPREAD[1] + 1)
    run.now += QUIET_SECONDS
    run.api.put(HERE, {**SPEC, "a": 9})
    for _ in range(8):
        run.now += max(failed().pause, 0.0)
    failed()
    run.api.remove(HERE)
    assert run.look().wrote, "what was quiet for long is repaired at once again"


def test_a_replica_that_lost_the_lease_writes_nothing() -> None:
    run = Running()
    run.holds = False
    assert run.once() == ReconcileStep(False)
    assert run.api.writes == 0


class Fight(RuleBasedStateMachine):
    """Others change, create and delete; the watch is late and loses events; requests fail; the
    replica changes; what is wanted changes. Whatever happened: when they stop, it is in step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.run_ = Running()
        self.began = self.run_.now
        self.free = 1  # writes that need no pause: of something new, or by a new replica
        self.listed = False  # whether nothing happened since a list that the reconciler has seen

    @rule(spec=st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)))
    def change(self, spec: dict[str, int]) -> None:
        self.run_.api.put(HERE, spec)
        self.listed = False

    @precondition(lambda self: HERE in self.run_.api.stored)
    @rule()
    def remove(self) -> None:
        self.run_.api.remove(HERE)
        self.listed = False

    @rule(count=st.integers(1, 3))
    def deliver(self, count: int) -> None:
        self.run_.api.deliver(count)
        self.listed = False

    @rule(count=st.integers(1, 3))
    def lose(self, count: int) -> None:
        self.run_.api.lose(count)
        self.listed = False

    @rule()
    def relist(self) -> None:
        self.run_.api.relist()
        self.listed = True

    @rule(errors=st.lists(st.sampled_from([0, 403, 409, 422, 500]), min_size=1, max_size=3))
    def fail(self, errors: list[int]) -> None:
        self.run_.api.errors = errors

    @rule(forced=st.booleans())
    def force(self, forced: bool) -> None:
        self.run_.api.forced = forced

    @rule(spec=st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)))
    def want(self, spec: dict[str, int] | None) -> None:
        self.free += spec != self.run_.aim.spec
        self.run_.aim = spec_aim(HERE, spec)

    @rule()
    def lead_anew(self) -> None:
        self.run_.reconciler.forget_all()
        self.free += 2

    @rule(seconds=st.sampled_from([0.01, 0.5, 1.5, 10.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.run_.now += seconds
        self.free += seconds >= QUIET_SECONDS  # who was quiet for long is repaired at once again

    @rule(times=st.integers(2, 20))
    def fight(self, times: int) -> None:
        """Somebody undoes what was written, as soon as it was."""
        for number in range(times):
            self.run_.api.put(HERE, {"c": number})
            self.run_.api.deliver(9)
            self.look()

    @rule()
    def look(self) -> None:
        step = self.run_.once()
        if step.in_step and (step.wrote or step.pause == PAUSE_SECONDS or self.listed):
            assert self.run_.right, "it was read, written or listed just now"
        assert step.in_step or step.pause > 0 or step.error is not None
        self.listed &= not step.wrote

    @invariant()
    def writes_are_bounded(self) -> None:
        elapsed = self.run_.now - self.began
        tries = sum(each.startswith(("APPLY", "DELETE")) for each in self.run_.api.sent)
        # The first repair, the first attempt after an error, and that of a loss come at once.
        assert tries <= 3 * self.free + 3 + elapsed / (PAUSE_SECONDS * SPREAD[0])

    def teardown(self) -> None:
        self.run_.api.errors = []
        self.run_.until_right(2 * LONGEST_PAUSE_SECONDS * SPREAD[1] + 10)


TestFight = Fight.TestCase
TestFight.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
