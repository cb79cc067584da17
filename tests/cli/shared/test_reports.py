"""Reports for other programs: what they must be so that those read them; of SARIF, what GitHub code
scanning requires of a log before it shows its results.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.shared.reports import (
    MAX_RESULTS,
    ReportEntry,
    ReportLevel,
    ReportRule,
    github,
    gitlab,
    junit,
    sarif,
)
from policyd.json_types import JSONObject
from policyd.policy.lint.lint_rules import RULES
from tests.builders.policies import demand, policy, suite
from tests.cli.folder import write

ENTRIES = [
    ReportEntry(
        "limits", "error", "no limit\nset one", "Pod a/web", "pods.yaml", "pods.yaml", 3, 1, 0.25
    ),
    ReportEntry("limits", "none", "", "Pod a/db", "pods.yaml", "pods.yaml", 9, 1, 0.5),
    ReportEntry(
        "labels", "warning", "50% <labelled>, at most: \x00", "Pod a/db", "more.yaml", "more.yaml"
    ),
]
LIMITS = ReportRule("Containers have limits", "Set resources.limits.", "warning")


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
    assert failure.text == "pods.yaml:3:1: no limit\nset one"
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


SEVERITIES = {
    # The severity of a policy, or the level of a result that no policy with a severity denies.
    ("critical", "error"): "blocker",
    ("high", "error"): "critical",
    ("medium", "error"): "major",
    ("low", "error"): "minor",
    ("info", "error"): "info",
    ("", "error"): "major",
    ("critical", "warning"): "minor",
    ("critical", "note"): "info",
}


@pytest.mark.parametrize(("known", "want"), SEVERITIES.items())
def test_gitlab_has_the_severity_of_the_policy(known: tuple[str, ReportLevel], want: str) -> None:
    severity, level = known
    rules = {"r": ReportRule("about", severity=severity)}
    (found,) = gitlab([ReportEntry("r", level, "m"), ReportEntry("r", "none", "")], rules)
    assert found["severity"] == want


def test_gitlab_names_places_and_tells_results_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that is not below the root of the repository is none that GitLab could show."""
    monkeypatch.chdir(tmp_path)
    here = ReportEntry("r", "error", "m", file=str(tmp_path / "a b.yaml"), line=7, column=2)
    found = gitlab([*ENTRIES, here, here, ReportEntry("r", "note", "m", "Pod a/x", file="-")], {})
    assert [(each["location"]["path"], each["location"]["lines"]["begin"]) for each in found] == [
        ("pods.yaml", 3), ("more.yaml", 1), ("a b.yaml", 7), ("a b.yaml", 7), ("Pod/a/x", 1),
    ]  # fmt: skip
    assert found[0]["description"] == "Pod a/web: no limit"
    assert found[0]["check_name"] == "limits"
    assert len({each["fingerprint"] for each in found}) == len(found)


def accepted(log: JSONObject) -> JSONObject:
    """The only run of a log that GitHub accepts and shows.

    From https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/
    sarif-support-for-code-scanning (the file of that name in the repository github/docs):

    - at most 20 runs, 25,000 results and rules a run, 20 tags a rule (10 are shown), 10 MB gzipped;
    - of the log $schema, version 2.1.0 and runs; of a run tool.driver with a name and results; of a
      rule id, shortDescription and help.text; of a result message.text, locations and
      partialFingerprints (only primaryLocationLineHash is used); of a location the URI and the
      region; none of them may be empty. The table also has fullDescription, which its schema does
      not demand: a rule that nothing describes has none;
    - names have at most 255 characters, descriptions 1024;
    - the level is note, warning or error, precision and problem.severity have fixed values;
    - a URI is relative to the root of the repository; lines and columns count from 1.
    """
    assert len(gzip.compress(json.dumps(log).encode())) <= 10_000_000
    assert log["$schema"].endswith("sarif-2.1.0.json") and log["version"] == "2.1.0"
    assert len(log["runs"]) <= 20
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and driver["version"]
    rules, results = driver["rules"], run["results"]
    assert len(rules) <= 25_000 and len(results) <= 25_000
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["id"] and 0 < len(rule["name"]) <= 255
        for field in {"shortDescription", "fullDescription"} & rule.keys():
            assert 0 < len(rule[field]["text"]) <= 1024
        assert "shortDescription" in rule
        assert rule["help"]["text"] and rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert 0 < len(rule["properties"]["tags"]) <= 10
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]
    assert all(prints) and len(set(prints)) == len(prints)
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("note", "warning", "error") and result["message"]["text"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w.~%-][\w./~%-]*|file:///.+", uri)
        region = location["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["startColumn"] >= 1
        assert (region["endLine"], region["endColumn"]) > (
            region["startLine"],
            region["startColumn"],
        )
    found: JSONObject = run
    return found


def test_sarif_names_rules_places_and_levels() -> None:
    run = accepted(sarif(ENTRIES, {"limits": LIMITS, "unused": ReportRule("Never found")}))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["labels", "limits", "unused"]
    assert rules[1]["shortDescription"]["text"] == "Containers have limits"
    assert rules[1]["fullDescription"]["text"] == "Containers have limits\nSet resources.limits."
    assert rules[1]["help"]["text"] == "Set resources.limits."
    assert rules[1]["defaultConfiguration"] == {"level": "warning"}
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("limits", 1, "error")
    assert first["message"]["text"] == "Pod a/web: no limit\nset one"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pods.yaml"
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (3, 1)
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


@pytest.mark.parametrize(
    "file, uri",
    [
        ("policies/a b.yaml", "policies/a%20b.yaml"),
        (str(Path.cwd() / "policies/a.yaml"), "policies/a.yaml"),
        ("/elsewhere/a.yaml", "file:///elsewhere/a.yaml"),
        ("-", "Pod/shop/web"),
        ("", "Pod/shop/web"),
    ],
)
def test_sarif_places_are_relative_to_the_tree(file: str, uri: str) -> None:
    run = accepted(sarif([ReportEntry("r", "error", "m", "Pod shop/web", file=file)], {}))
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == uri


def test_fingerprints_do_not_depend_on_lines() -> None:
    def prints(line: int) -> list[Any]:
        entries = [ReportEntry("r", "error", "m", "Pod a", file="a.yaml", line=line)] * 2
        run = accepted(sarif(entries, {}))
        return [each["partialFingerprints"] for each in run["results"]]

    assert prints(3) == prints(9)


def test_long_descriptions_and_results_beyond_the_limit_are_cut() -> None:
    entries = [ReportEntry("n", "note", f"n{at}") for at in range(MAX_RESULTS)]
    entries += [ReportEntry("e", "error", "e"), ReportEntry("w", "warning", "w")]
    run = accepted(sarif(entries, {"n": ReportRule("x" * 5000, "y" * 5000)}))
    assert [each["level"] for each in run["results"][:3]] == ["error", "warning", "note"]
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"].startswith("2 of the results are left out")


NO_TEAM = demand("'team' in object.metadata.labels", "no team")
POLICY = policy("team", description="Pods name their team.", validations=[NO_TEAM])
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("policy.yaml", POLICY)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def run(*arguments: str, text: str = "") -> JSONObject:
    done = CliRunner().invoke(policyd, [*arguments, "--format", "sarif"], input=text)
    return accepted(json.loads(done.stdout))


def test_the_log_of_apply_is_accepted(folder: Path) -> None:
    for given in ("pod.yaml", "-"):
        log = run("apply", "-p", "policy.yaml", given, text=POD)
        assert [each["ruleId"] for each in log["results"]] == ["team"]
    (rule,) = log["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "Pods name their team."
    assert "Policy team in policy.yaml:4" in rule["help"]["text"]
    (folder / "broken.yaml").write_text("a: [\n")
    log = run("apply", "-p", "policy.yaml", "pod.yaml", "broken.yaml")
    assert [each["ruleId"] for each in log["results"]] == ["team", "syntax"]


@pytest.mark.parametrize(
    ("severity", "score"),
    [("critical", "9.5"), ("High", "8.0"), ("medium", "5.5"), ("low", "2.0"), ("info", None)],
)
def test_policies_have_category_and_severity(folder: Path, severity: str, score: str) -> None:
    """As https://docs.github.com/en/code-security names the ranges of security-severity."""
    annotations = {"policyd.dev/category": "Ownership", "policyd.dev/severity": severity}
    write("policy.yaml", {**POLICY, "metadata": {"name": "team", "annotations": annotations}})
    log = run("apply", "-p", "policy.yaml", "pod.yaml")
    (rule,) = log["tool"]["driver"]["rules"]
    assert rule["properties"]["tags"] == ["kubernetes", "security", "Ownership"]
    assert rule["properties"].get("security-severity") == score


def test_a_policy_without_severity_is_not_about_security(folder: Path) -> None:
    (rule,) = run("apply", "-p", "policy.yaml", "pod.yaml")["tool"]["driver"]["rules"]
    assert rule["properties"]["tags"] == ["kubernetes"]
    assert "security-severity" not in rule["properties"]


def test_the_log_of_lint_has_the_remedy_of_every_rule(folder: Path) -> None:
    log = run("lint", "policy.yaml")
    assert [each["ruleId"] for each in log["results"]] == ["unguarded-field"]
    rules = {rule["id"]: rule for rule in log["tool"]["driver"]["rules"]}
    assert set(rules) == set(RULES)
    for name, rule in RULES.items():
        assert rules[name]["help"]["text"] == rule.remedy
        assert rule.about in rules[name]["fullDescription"]["text"]
    assert rules["unguarded-field"]["defaultConfiguration"] == {"level": "warning"}


def test_the_log_of_test_is_accepted(folder: Path) -> None:
    (folder / "suite.yaml").write_text(json.dumps(suite()))
    assert [each["ruleId"] for each in run("test", ".")["results"]] == ["case"]


COMMANDS = [
    (("lint", "policy.yaml"), "unguarded-field", "policy.yaml"),
    (("test", "."), "case", "suite.yaml"),
    (("apply", "-p", "policy.yaml", "pod.yaml"), "team", "pod.yaml"),
]


@pytest.mark.parametrize(("arguments", "rule", "file"), COMMANDS)
def test_every_command_has_a_report_for_gitlab(
    folder: Path, arguments: tuple[str, ...], rule: str, file: str
) -> None:
    (folder / "suite.yaml").write_text(json.dumps(suite()))
    (found,) = json.loads(CliRunner().invoke(policyd, [*arguments, "--format", "gitlab"]).stdout)
    assert (found["check_name"], found["location"]["path"]) == (rule, file)
