"""The HTML page: what it shows, that nothing of a cluster gets out of its cell, and its size."""

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.reports.formats.page import html_page
from policyd.reports.formats.page_tables import MOST_ROWS
from policyd.reports.summary import (
    MOST_FINDINGS,
    MOST_PROBLEMS,
    NamespaceResults,
    ReportWrites,
    Summary,
)
from tests.builders.summaries import FINDINGS, counts, finding, policy_results, summary
from tests.reports.formats.html_tree import Element, parsed
from tests.sampling import examples

PAGE = parsed(html_page(summary()))
HOSTILE = (
    "<script>alert(1)</script>",
    "</style></title></script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "&lt;b&gt; &amp;#60;",
    "<!-- -->",
    "]]>",
    "javascript:alert(1)",
    "\x00\x1b[31mred\x7f",
    "\u202etxt.exe",
    "\ud800",
)


def table(page: Element, name: str) -> list[list[str]]:
    """The texts of the cells of a table, by row; heads first."""
    (found,) = (each for each in page.all("table") if each.attributes["id"] == f"table-{name}")
    return [[cell.text for cell in row.children] for row in found.all("tr")]


def strings(text: str) -> Summary:
    """A summary with this string wherever one comes from a cluster or a policy."""
    one = finding(**dict.fromkeys(FINDINGS[0].__dataclass_fields__, text))
    return summary(
        cluster=text,
        cluster_version=text,
        api=text,
        namespaces=(text,),
        policies=(replace(policy_results(text), kind=text, category=text, severity=text,
                          rollout=text),),
        by_namespace=(NamespaceResults(text, 1, counts()),),
        findings=(one,),
        problems=(text,),
    )  # fmt: skip


def shape(page: Element) -> list[tuple[str, list[str]]]:
    """The tags and the names of their attributes, in order."""
    return [(each.tag, sorted(each.attributes)) for each in page.inside()]


def test_tables() -> None:
    assert table(PAGE, "policies") == [
        ["Policy", "Kind", "Category", "Severity", "Rollout", "Fail", "Error", "Warn", "Skip", "Pass"],
        ["require-labels", "Policy", "Labels", "high", "", "2", "1", "0", "1", "30"],
        ["require-probes", "Policy", "Availability", "low", "25 percent", "0", "0", "1", "0", "1,200"],
        ["unused", "Policy", "Labels", "high", "", "–", "–", "–", "–", "–"],
    ]  # fmt: skip
    assert table(PAGE, "namespaces") == [
        ["Namespace", "Objects", "Fail", "Error", "Warn", "Skip", "Pass"],
        ["shop", "1,000", "1", "1", "0", "1", "928"],
        ["(cluster-scoped)", "3", "1", "0", "0", "0", "2"],
        ["mail", "231", "0", "0", "1", "0", "300"],
    ]
    label = "metadata.labels must have the key team"
    outside = "not enforced: namespace stage is not in the 25 percent (its number is 61)"
    assert table(PAGE, "findings")[:4] == [
        ["Result", "Namespace", "Object", "Policy", "Severity", "Message"],
        ["fail", "shop", "Deployment/webapps/v1", "require-labelsteam", "high", label],
        ["warn", "mail", "Deployment/imapapps/v1", "require-probesvalidations[0]", "low", "containers[0] has no readinessProbe"],
        ["fail", "(cluster-scoped)", "Namespace/stagev1", "require-labelsteam", "medium", label + outside],
    ]  # fmt: skip
    assert table(PAGE, "findings")[4][-1] == "exception billing-legacy applies"


def test_what_has_the_worst_findings_comes_first_and_what_has_no_objects_last() -> None:
    named = {
        "a-idle": policy_results("a-idle", idle=True),
        "b-fine": policy_results("b-fine", passed=9),
        "c-warns": policy_results("c-warns", passed=9, warn=50),
        "d-fails": policy_results("d-fails", passed=9, fail=1),
        "e-errors": policy_results("e-errors", error=3),
        "f-fails-too": policy_results("f-fails-too", fail=1, skip=1),
        "g-fails-most": policy_results("g-fails-most", fail=2),
    }
    page = parsed(html_page(summary(policies=tuple(named.values()))))
    assert [row[0] for row in table(page, "policies")[1:]] == [
        "g-fails-most", "f-fails-too", "d-fails", "e-errors", "c-warns", "b-fine", "a-idle",
    ]  # fmt: skip


def test_a_column_without_a_value_is_left_out() -> None:
    plain = replace(policy_results("p", passed=1), category="", severity="")
    rated = replace(plain, name="q", severity="low")
    policies = table(parsed(html_page(summary(policies=(plain, plain)))), "policies")
    assert policies[0] == ["Policy", "Kind", "Fail", "Error", "Warn", "Skip", "Pass"]
    assert policies[1] == ["p", "Policy", "0", "0", "0", "0", "1"]
    policies = table(parsed(html_page(summary(policies=(plain, rated)))), "policies")
    assert policies[0][:4] == ["Policy", "Kind", "Severity", "Fail"]
    assert [row[2] for row in policies[1:]] == ["", "low"]
    page = parsed(html_page(summary(findings=(finding(severity=""),))))
    assert table(page, "findings")[0] == ["Result", "Namespace", "Object", "Policy", "Message"]
    assert {len(row) for row in table(page, "findings")} == {5}
    names = [each.attributes["name"] for each in page.all("select")]
    assert names == ["result", "namespace", "policy"]


def test_large_numbers_have_one_form() -> None:
    large = summary(
        objects=1234,
        owned=5678,
        by_namespace=(NamespaceResults("a", 4321, counts(passed=9876)),),
        reports=ReportWrites(2345, 3456, 4567, 5678, dry_run=False),
        more_findings=6789,
        problems=("x",),
        more_problems=7890,
    )
    text = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", html_page(large), flags=re.DOTALL)
    assert set(re.findall(r"[0-9]{4,}", text)) == {"2026"}, "the year"
    for shown in ("1,234 objects", "5,678 objects", "2,345 written", "6,789 more", "7,890 more"):
        assert shown in text


def test_totals_and_facts() -> None:
    totals = [each.text for each in PAGE.all("li")]
    assert totals[0] == "Fail 2 violations"
    assert totals[4] == "Pass 1,230 no finding"
    bars = [float(each.attributes["width"]) for each in PAGE.all("rect")]
    assert sum(bars) == pytest.approx(1000, abs=0.1)
    facts = dict(
        zip([each.text for each in PAGE.all("dt")], [each.text for each in PAGE.all("dd")], strict=True)
    )  # fmt: skip
    assert facts["Cluster"] == "https://10.0.0.1:443 (Kubernetes 1.37)"
    assert (
        facts["Reports"] == "openreports.io/v1alpha1: 4 written, 1 unchanged, 2 deleted, 0 failed"
    )


def test_an_empty_run_has_no_tables_and_no_form() -> None:
    empty = summary(policies=(), by_namespace=(), findings=(), results=counts(), objects=0)
    page = parsed(html_page(empty))
    assert page.all("table") == page.all("form") == page.all("svg") == []
    assert "None." in page.text


@pytest.mark.parametrize(
    ("changes", "notice"),
    [
        ({"interrupted": True}, "The run was interrupted"),
        ({"problems": ("cannot list secrets",)}, "Incomplete: something could not be read"),
        ({"problems": ("x",), "more_problems": 3}, "and 3 more problems"),
        ({"reports": ReportWrites(1, 2, 3, 0, dry_run=True)}, "Dry run: no report was written"),
        ({"more_findings": 9}, "9 more findings not shown"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, object], notice: str) -> None:
    assert notice in parsed(html_page(summary(**changes))).text
    assert notice not in PAGE.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_text(text: str) -> None:
    page = parsed(html_page(strings(text)))
    assert shape(page) == shape(parsed(html_page(strings("plain"))))
    shown = table(page, "findings")[1][5]
    assert "".join(each for each in text if each.isprintable()) in shown.replace("\ufffd", "")


@settings(max_examples=examples(60), deadline=None)
@given(st.text())
def test_no_string_changes_the_page(text: str) -> None:
    """With any string the page has the elements it has with another of that sort."""
    plain = "plain" if text.strip() else text
    assert shape(parsed(html_page(strings(text)))) == shape(parsed(html_page(strings(plain))))


def test_only_its_own_style_and_script_are_allowed() -> None:
    (policy,) = (
        each.attributes["content"]
        for each in PAGE.all("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (only,) = PAGE.all(tag)
        digest = base64.b64encode(hashlib.sha256(only.text.encode()).digest()).decode()
        assert rules.pop(rule) == f"'sha256-{digest}'"
    assert rules == {"base-uri": "'none'", "form-action": "'none'", "img-src": "data:"}


def test_nothing_is_loaded_and_nothing_is_inline() -> None:
    for each in PAGE.inside():
        assert not [name for name in each.attributes if name.startswith("on") or name == "style"]
        assert not {"src", "srcset", "action", "formaction", "data"} & each.attributes.keys()
        assert each.attributes.get("href", "#")[:1] == "#" or each.attributes["href"] == "data:,"
    (style,), (script,) = PAGE.all("style"), PAGE.all("script")
    assert not re.search(r"url\(|@import|@font-face|expression", style.text)
    assert not re.search(r"fetch|XMLHttp|import|innerHTML|insertAdjacent|eval|https?:", script.text)


def test_without_the_script_everything_is_shown() -> None:
    hidden = [each for each in PAGE.inside() if "hidden" in each.attributes]
    assert [each.tag for each in hidden] == ["form"], "only what the script needs"
    assert len(table(PAGE, "findings")) == 1 + len(FINDINGS)


def test_the_largest_page_is_bounded() -> None:
    """Findings and problems are bounded by the summary, all else by the page."""
    long = "<&\">'" * 1000
    most = replace(
        strings(long),
        policies=(replace(policy_results(long), category=long),) * (3 * MOST_ROWS),
        by_namespace=(NamespaceResults(long, 1, counts()),) * (3 * MOST_ROWS),
        findings=(finding(**dict.fromkeys(FINDINGS[0].__dataclass_fields__, long)),)
        * MOST_FINDINGS,
        problems=(long,) * MOST_PROBLEMS,
    )
    assert len(html_page(most)) < 24 * 2**20
    usual = summary(findings=(finding(),) * MOST_FINDINGS)
    assert len(html_page(usual)) < 2**20


def test_of_too_many_rows_the_worst_are_kept() -> None:
    quiet = [NamespaceResults(f"a{i}", 1, counts(passed=1)) for i in range(MOST_ROWS)]
    bad = NamespaceResults("z", 1, counts(fail=1))
    page = parsed(html_page(summary(by_namespace=(*quiet, bad))))
    names = [row[0] for row in table(page, "namespaces")[1:]]
    assert len(names) == MOST_ROWS
    assert names[0] == "z"
    assert "1 more namespace with fewer failures not shown." in page.text
