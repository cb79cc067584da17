"""What is remembered of verified tokens, and for how long."""

from hypothesis import given
from hypothesis import strategies as st

from policyd.tokens.verifier import VerifiedTokens


def test_expired_ones_make_room_before_the_oldest() -> None:
    now = [100.0]
    known = VerifiedTokens(2, lambda: now[0])
    known.add("old", "*", 200.0)
    known.add("short", "*", 101.0)
    now[0] = 102.0
    known.add("new", "apps", 200.0)
    assert [known.get(each) for each in ("old", "short", "new")] == ["*", None, "apps"]
    known.add("newer", "*", 200.0)
    assert [known.get(each) for each in ("old", "new", "newer")] == [None, "apps", "*"]
    known.clear()
    assert known.get("newer") is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50), st.integers(0, 5))))
def test_there_are_never_more_and_never_stale_ones(steps: list[tuple[int, int, int]]) -> None:
    now = 0
    known = VerifiedTokens(5, lambda: now)
    ends: dict[int, int] = {}
    for key, end, passes in steps:
        now += passes
        known.add(key, str(key), end)
        ends[key] = end
        assert len(known) <= 5
        for each, until in ends.items():
            found = known.get(each)
            assert found is None or (found == str(each) and now < until)
        assert (known.get(key) is not None) == (now < end)
