"""The summary as tables: what is listed, how columns line up, and what cannot disguise itself."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.reports.formats.tables import MOST_LISTED, tables_text
from policyd.reports.summary import ReportWrites
from tests.builders.summaries import FINDINGS, counts, finding, policy_results, summary

WHOLE = """\
Cluster:   https://10.0.0.1:443 (Kubernetes 1.37)
Scanned:   1234 objects in the whole cluster
Left out:  56 objects whose owners were checked instead
Started:   2026-11-23 18:00:05 UTC, took 4.2 s
Reports:   openreports.io/v1alpha1: 4 written, 1 unchanged, 2 deleted, 0 failed

POLICY          KIND    CATEGORY      SEVERITY  ROLLOUT     FAIL  ERROR  WARN  SKIP  PASS
require-labels  Policy  Labels        high      -              2      1     0     1    30
require-probes  Policy  Availability  low       25 percent     0      0     1     0  1200
unused          Policy  Labels        high      -              -      -     -     -     -

NAMESPACE         OBJECTS  FAIL  ERROR  WARN  SKIP  PASS
(cluster-scoped)        3     1      0     0     0     2
mail                  231     0      0     1     0   300
shop                 1000     1      1     0     1   928

RESULT  NAMESPACE  OBJECT             POLICY          RULE            SEVERITY  MESSAGE
fail    shop       Deployment/web     require-labels  team            high      metadata.labels \
must have the key team
warn    mail       Deployment/imap    require-probes  validations[0]  low       containers[0] has no \
readinessProbe
fail    -          Namespace/stage    require-labels  team            medium    metadata.labels \
must have the key team (not enforced: namespace stage is not in the 25 percent (its number is 61))
skip    shop       Deployment/legacy  require-labels  -               high      exception \
billing-legacy applies
error   shop       Deployment/broken  require-labels  -               -         no such key: team

1 policy (-) without a resource to scan
1235 results: 2 fail, 1 error, 1 warn, 1 skip, 1230 pass
"""


def test_the_whole() -> None:
    assert tables_text(summary()) == WHOLE


FIELDS = [
    ("", "no tag", "no tag"),
    ("spec.containers[0].image", "no tag", "spec.containers[0].image: no tag"),
    ("spec.a", "no tag (spec.a: expected *:*)", "no tag (spec.a: expected *:*)"),
    ("spec.a", "spec.a must be set", "spec.a must be set"),
]


@pytest.mark.parametrize(("field", "message", "shown"), FIELDS)
def test_a_finding_names_its_field_once(field: str, message: str, shown: str) -> None:
    found = finding(field=field, message=message)
    assert tables_text(summary(findings=(found,))).count(f"  {shown}\n") == 1


def test_a_run_without_findings_is_short() -> None:
    clean = summary(
        findings=(),
        by_namespace=(),
        namespaces=("shop",),
        owned=0,
        objects=1,
        results=counts(passed=1),
        policies=(policy_results("one", passed=1),),
        cluster_version="",
    )
    text = tables_text(clean)
    assert "Cluster:   https://10.0.0.1:443\n" in text
    assert "1 object in namespace shop\n" in text
    assert "Left out" not in text
    assert "NAMESPACE" not in text
    assert "OBJECT" not in text
    assert text.endswith("1 result: 0 fail, 0 error, 0 warn, 0 skip, 1 pass\n")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"problems": ("cannot list secrets",)}, "incomplete: 1 problem"),
        ({"problems": ("x", "y"), "more_problems": 2}, "incomplete: 4 problems"),
        ({"interrupted": True}, "incomplete: interrupted"),
    ],
)
def test_an_incomplete_run_says_so(changes: dict[str, object], line: str) -> None:
    assert tables_text(summary(**changes)).splitlines()[-2] == line
    assert "incomplete" not in WHOLE


@pytest.mark.parametrize(
    ("failed", "dry", "end"),
    [
        (0, True, "v1alpha1: 4 would be written, 1 unchanged, 2 would be deleted, 0 failed"),
        (3, False, "v1alpha1: 4 written, 1 unchanged, 2 deleted, 3 failed"),
    ],
)
def test_what_happened_to_the_reports(failed: int, dry: bool, end: str) -> None:
    writes = ReportWrites(written=4, unchanged=1, deleted=2, failed=failed, dry_run=dry)
    assert tables_text(summary(reports=writes)).splitlines()[4].endswith(end)


def test_many_findings_are_counted() -> None:
    many = summary(findings=(finding(),) * (MOST_LISTED + 7), more_findings=1000)
    text = tables_text(many)
    assert text.count("Deployment/web") == MOST_LISTED
    assert "... and 1007 more findings (the reports have all of them)\n" in text


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_line_is_a_line_and_no_sequence_reaches_the_terminal(name: str, message: str) -> None:
    hostile = summary(
        findings=(finding(name=name, message=message, namespace=name, policy=name),),
        problems=(message,),
        cluster=message,
        policies=(replace(policy_results(name), rollout=message, category=message),),
    )
    plain = summary(findings=(finding(),), problems=("x",), policies=(policy_results("x"),))
    text = tables_text(hostile)
    assert len(text.split("\n")) == len(tables_text(plain).split("\n"))
    categories = {unicodedata.category(each) for each in text if each != "\n"}
    assert not categories & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(text) & set("\u202e\u202d\u2066\u2067\u200f")


def test_long_strings_are_cut() -> None:
    long = summary(findings=(finding(message="x" * 10**6, name="y" * 10**6),))
    assert len(tables_text(long)) < 5000


def test_all_findings_of_the_example_are_listed() -> None:
    assert all(each.name in tables_text(summary()) for each in FINDINGS)


def test_an_exception_is_named_once() -> None:
    unnamed = finding(result="skip", exception="billing-legacy", message="exempt")
    assert "exempt (exception billing-legacy)\n" in tables_text(summary(findings=(unnamed,)))
