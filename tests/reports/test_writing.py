"""Which reports a run may delete."""

import pytest

from policyd.reports.stored_reports import StoredReport
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


@pytest.mark.parametrize(("resource", "namespace", "incomplete", "discovered", "may"), CASES)
def test_only_what_was_listed_completely_is_covered(
    resource: str, namespace: str, incomplete: set[tuple[str, str]], discovered: bool, may: bool
) -> None:
    coverage = ScanCoverage(LISTED, frozenset(incomplete), discovered)
    assert coverage.covers(StoredReport(namespace, "uid", "own", "1", resource, "")) == may
