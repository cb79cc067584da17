"""What is remembered of the reports that a cluster has, and which of them a run may delete."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.reports.stored_reports import KnownReports, StoredReport
from policyd.reports.writing import ScanCoverage

LISTED = frozenset({"pods", "namespaces"})
# (resource and namespace of a report, incomplete, discovered): whether it may go.
CASES: list[tuple[str, str, set[tuple[str, str]], bool, bool]] = [
    ("pods", "shop", set(), True, True),
    ("pods", "shop", set(), False, True),
    ("pods", "shop", {("pods", "")}, True, False),
    ("pods", "shop", {("pods", "shop")}, True, False),
    ("pods", "shop", {("pods", "mail")}, True, True),
    ("pods", "shop", {("secrets", "")}, True, True),
    ("secrets", "shop", set(), True, True),  # no policy is about them any more
    ("secrets", "shop", set(), False, False),  # or nobody knows
    ("", "shop", set(), False, False),
    ("namespaces", "", {("namespaces", "")}, True, False),
    ("namespaces", "", {("pods", "")}, True, True),
]
PLACES = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["x", "y", "z", "a/x"]))
CONTENTS = st.sampled_from(["1", "2", ""])


@pytest.mark.parametrize(("resource", "namespace", "incomplete", "discovered", "may"), CASES)
def test_only_what_was_listed_completely_is_covered(
    resource: str, namespace: str, incomplete: set[tuple[str, str]], discovered: bool, may: bool
) -> None:
    coverage = ScanCoverage(LISTED, frozenset(incomplete), discovered)
    assert coverage.covers(StoredReport(namespace, "uid", "own", "1", resource, "")) == may


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
