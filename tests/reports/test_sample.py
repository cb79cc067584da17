"""Which findings a summary lists of too many."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from policyd.reports.formats.tables import tables_text
from policyd.reports.sample import FindingSample
from policyd.reports.summary import ReportedFinding
from tests.builders.summaries import finding, summary

FINDINGS = st.builds(
    finding,
    policy=st.sampled_from("abc"),
    namespace=st.sampled_from(["shop", "mail"]),
    result=st.sampled_from(["fail", "skip"]),
    name=st.sampled_from("xyz"),
)


@given(st.lists(FINDINGS, max_size=60), st.integers(1, 40))
def test_each_kind_of_finding_has_its_share(found: list[ReportedFinding], most: int) -> None:
    sample = FindingSample(most)
    for each in found:
        sample.add(each)
    kept = sample.findings
    assert len(kept) == min(most, len(found))
    assert len(kept) + sample.more == len(found)
    left = iter(found)
    assert all(each in left for each in kept), "in the order in which they were found"

    def groups(findings: list[ReportedFinding]) -> Counter[tuple[str, str, str]]:
        return Counter((each.policy, each.namespace, each.result) for each in findings)

    everything, chosen = groups(found), groups(kept)
    for group, count in everything.items():
        assert chosen[group] >= min(count, most // len(everything))


def test_the_first_ones_of_a_kind_are_kept() -> None:
    sample = FindingSample(4)
    for number in range(10):
        sample.add(finding(name=str(number)))
    sample.add(finding(name="error", result="error"))
    assert [each.name for each in sample.findings] == ["0", "1", "2", "error"]
    assert sample.more == 7


def test_a_table_lists_some_of_each_kind() -> None:
    many = (*[finding()] * 100, finding(name="broken", result="error"))
    assert "Deployment/broken" in tables_text(summary(findings=many))
