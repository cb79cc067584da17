"""What is remembered of the reports that a cluster has."""

from hypothesis import given
from hypothesis import strategies as st

from policyd.reports.stored_reports import KnownReports

PLACES = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["x", "y", "z", "a/x"]))
CONTENTS = st.sampled_from(["1", "2", ""])


@given(st.dictionaries(PLACES, CONTENTS), st.lists(st.tuples(PLACES, CONTENTS)))
def test_it_answers_as_a_table_would(
    stored: dict[tuple[str, str], str], asked: list[tuple[tuple[str, str], str]]
) -> None:
    known = KnownReports()
    for place, content in stored.items():
        known.add(*place, content)
    assert (len(known), known.stale) == (len(stored), len(stored))
    for place, content in asked:
        assert known.keep(*place, content) == (stored.get(place) == content)
    kept = {place for place, _ in asked}
    assert known.stale == len(stored.keys() - kept)
    for place in (*stored, *kept):
        for content in ("1", "2"):
            stale = place in stored.keys() - kept and stored[place] == content
            assert known.is_stale(*place, content) == stale


def test_a_report_that_was_listed_twice_is_kept_once_and_for_all() -> None:
    known = KnownReports()
    known.add("shop", "a", "1")
    known.add("shop", "a", "1")
    assert known.keep("shop", "a", "1")
    assert not known.is_stale("shop", "a", "1")
