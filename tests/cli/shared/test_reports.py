"""Reports for other programs: what they must be so that those read them."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from policyd.cli.shared.reports import ReportEntry, github, junit, sarif

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


def test_sarif_names_rules_places_and_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sarif(ENTRIES, {"limits": "Containers have limits", "unused": "Never found"})
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["labels", "limits", "unused"]
    assert run["tool"]["driver"]["rules"][1]["shortDescription"]["text"] == "Containers have limits"
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("limits", 1, "error")
    assert first["message"]["text"] == "Pod a/web: no limit\nset one"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pods.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 1}
    assert "region" not in second["locations"][0]["physicalLocation"]


URIS = [
    ("policies/a b.yaml", "policies/a%20b.yaml"),
    (str(Path.cwd() / "policies/a.yaml"), "policies/a.yaml"),
    ("/elsewhere/a.yaml", "file:///elsewhere/a.yaml"),
]


@pytest.mark.parametrize("file, uri", URIS)
def test_sarif_places_are_relative_to_the_tree(file: str, uri: str) -> None:
    log = sarif([ReportEntry("r", "error", "m", file=file)], {})
    location = log["runs"][0]["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_what_came_on_standard_input_has_no_place() -> None:
    entries = [ReportEntry("r", "error", "m", file="-", line=2)]
    assert "locations" not in sarif(entries, {})["runs"][0]["results"][0]
    assert github(entries) == "::error line=2,title=r::m"


def test_github_commands_are_escaped() -> None:
    assert github(ENTRIES).split("\n") == [
        "::error file=pods.yaml,line=3,col=1,title=limits::Pod a/web: no limit%0Aset one",
        "::warning file=more.yaml,title=labels::Pod a/db: 50%25 <labelled>, at most: \x00",
    ]
    tricky = ReportEntry("a:b,c", "note", "m", file="x,y:z.yaml")
    assert github([tricky]) == "::notice file=x%2Cy%3Az.yaml,title=a%3Ab%2Cc::m"
