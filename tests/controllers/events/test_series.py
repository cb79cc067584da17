"""How denials are aggregated, when they are due, and what there is room for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.controllers.events.denials import Regarding, ReportedDenial
from policyd.controllers.events.series import (
    QUIET_SECONDS,
    REPEAT_SECONDS,
    EventTable,
)
from tests.controllers.events.denied import HandClock


def denied(note: str, namespace: str = "shop") -> ReportedDenial:
    return ReportedDenial(Regarding("v1", "Pod", namespace, "web", ""), "PolicyViolation", note)


@pytest.fixture
def time() -> HandClock:
    return HandClock()


def table(time: HandClock, most: int = 100, most_in_namespace: int = 100) -> EventTable:
    return EventTable(most, most_in_namespace, clock=time, wall=lambda: 1e9 + time())


def test_equal_denials_are_one_series(time: HandClock) -> None:
    events = table(time)
    first = events.add(denied("a"))
    time.now = 7.0
    assert events.add(denied("a")) is first
    assert events.add(denied("b")) is not first
    assert first is not None
    assert (first.count, first.first, first.last) == (2, 1e9, 1e9 + 7)
    assert events.pending == 3


def test_a_new_series_is_due_at_once_and_a_repeated_one_after_a_pause(time: HandClock) -> None:
    events = table(time)
    series = events.add(denied("a"))
    assert series is not None
    assert events.due() == [series]
    assert events.wrote(series, 1) == 1
    assert events.due() == []
    events.add(denied("a"))
    events.add(denied("a"))
    assert events.due() == []
    time.now = REPEAT_SECONDS
    assert events.due() == [series]
    assert events.wrote(series, 3) == 2
    assert events.pending == 0


def test_what_was_denied_during_a_write_is_still_to_be_written(time: HandClock) -> None:
    events = table(time)
    series = events.add(denied("a"))
    assert series is not None
    events.add(denied("a"))
    events.wrote(series, 1)
    assert series.pending == 1


def test_the_longest_waiting_are_first(time: HandClock) -> None:
    events = table(time)
    for number, note in enumerate("abc"):
        time.now = float(number)
        events.add(denied(note))
    time.now = 5.0
    events.add(denied("a"))  # heard last, waiting longest
    assert [each.denial.note for each in events.due()] == ["a", "b", "c"]


def test_after_a_quiet_time_the_same_is_another_event(time: HandClock) -> None:
    events = table(time)
    first = events.add(denied("a"))
    waiting = events.add(denied("b"))
    assert first is not None
    events.wrote(first, 1)
    time.now = QUIET_SECONDS + 1
    events.forget_quiet()
    assert len(events) == 1, "what is not written is not forgotten"
    second = events.add(denied("a"))
    assert second is not None
    assert second is not first
    assert second.name != first.name
    assert events.add(denied("b")) is waiting


def test_without_room_the_oldest_that_is_written_makes_room(time: HandClock) -> None:
    events = table(time, most=2)
    old = events.add(denied("a"))
    events.add(denied("b", "other"))
    assert events.add(denied("c", "third")) is None
    assert old is not None
    events.wrote(old, 1)
    assert events.add(denied("c", "third")) is not None
    assert {each.denial.note for each in events.waiting()} == {"b", "c"}


def test_a_namespace_has_only_its_part_of_the_room(time: HandClock) -> None:
    events = table(time, most_in_namespace=2)
    old = events.add(denied("a"))
    assert events.add(denied("b")) is not None
    assert events.add(denied("c")) is None
    assert events.add(denied("c", "other")) is not None
    assert events.add(denied("a")) is old, "what is known is counted"
    assert old is not None
    events.add(denied("b"))
    events.wrote(old, old.count)
    assert events.add(denied("c")) is not None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "write", "remove", "wait"]),
        st.sampled_from("abcdef"),
        st.sampled_from(["one", "two"]),
    ),
    max_size=80,
)


@given(STEPS)
def test_every_denial_is_written_refused_or_pending(steps: list[tuple[str, str, str]]) -> None:
    time = HandClock()
    events = table(time, most=4, most_in_namespace=3)
    added = written = lost = 0
    for what, note, namespace in steps:
        if what == "add":
            added += 1
            lost += events.add(denied(note, namespace)) is None
        elif what == "wait":
            time.now += QUIET_SECONDS / 3
            events.forget_quiet()
        elif series := next(iter(events.waiting()), None):
            if what == "write":
                written += events.wrote(series, series.count)
            else:
                lost += events.remove(series)
        assert added == written + lost + events.pending
        assert len(events) <= 4
        assert sum(map(len, events._namespaces.values())) == len(events)
        assert all(1 <= len(each) <= 3 for each in events._namespaces.values())
