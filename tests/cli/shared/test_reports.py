"""Reports for other programs: what they must be so that those read them."""

from xml.etree import ElementTree

from policyd.cli.shared.reports import ReportEntry, github, junit

ENTRIES = [
    ReportEntry(
        "limits", "error", "no limit\nset one", "Pod a/web", "pods.yaml", "pods.yaml", 3, 1, 0.25
    ),
    ReportEntry("limits", "none", "", "Pod a/db", "pods.yaml", "pods.yaml", 9, 1, 0.5),
    ReportEntry(
        "labels", "warning", "50% <labelled>, at most: \x00", "Pod a/db", "more.yaml", "more.yaml"
    ),
]


def test_junit_has_a_suite_for_each_group_and_counts() -> None:
    root = ElementTree.fromstring(junit(ENTRIES, "policyd apply"))
    assert root.attrib == {
        "name": "policyd apply", "tests": "3", "failures": "1", "errors": "0", "time": "0.750000",
    }  # fmt: skip
    pods, more = root
    assert (pods.tag, pods.get("name"), pods.get("tests"), pods.get("failures")) == (
        "testsuite", "pods.yaml", "2", "1",
    )  # fmt: skip
    failed, passed = pods
    assert (failed.get("name"), failed.get("file"), failed.get("line")) == (
        "Pod a/web: limits", "pods.yaml", "3",
    )  # fmt: skip
    failure = failed.find("failure")
    assert failure is not None and failure.get("message") == "no limit"
    assert failure.text == "pods.yaml:3: no limit\nset one"
    assert list(passed) == []
    assert more[0].findtext("system-out") == "warning: 50% <labelled>, at most: �"


def test_junit_names_differ_and_what_could_not_be_evaluated_is_an_error() -> None:
    entries = [
        ReportEntry("a", "error", "one", "Pod x", "f", part="[0]"),
        ReportEntry("a", "error", "two", "Pod x", "f", part="[1]", failed=True),
        ReportEntry("a", "error", "binding b", "Pod x", "f", part="[1]"),
        ReportEntry("a", "warning", "w", "Pod x", "f", part="[1]", failed=True),
    ]
    root = ElementTree.fromstring(junit(entries, "policyd apply"))
    cases = list(root.iter("testcase"))
    assert [case.get("name") for case in cases] == [
        "Pod x: a[0]", "Pod x: a[1]", "Pod x: a[1] (2)", "Pod x: a[1] (3)",
    ]  # fmt: skip
    assert [each.tag for case in cases for each in case] == [
        "failure", "error", "failure", "system-out",
    ]  # fmt: skip
    assert (root.get("failures"), root.get("errors")) == ("2", "1")


def test_github_names_the_line_of_standard_input() -> None:
    assert github([ReportEntry("r", "error", "m", file="-", line=2)]) == "::error line=2,title=r::m"


def test_github_commands_are_escaped() -> None:
    assert github(ENTRIES).split("\n") == [
        "::error file=pods.yaml,line=3,col=1,title=limits::Pod a/web: no limit%0Aset one",
        "::warning file=more.yaml,title=labels::Pod a/db: 50%25 <labelled>, at most: \x00",
    ]
    tricky = ReportEntry("a:b,c", "note", "m", file="x,y:z.yaml")
    assert github([tricky]) == "::notice file=x%2Cy%3Az.yaml,title=a%3Ab%2Cc::m"
