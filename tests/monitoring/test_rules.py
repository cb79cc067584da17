"""The alert rules: they are valid, name what exists, lead to a runbook, and fire when they should."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitoring.programs import promtool
from tests.monitoring.series import problems, selectors
from tests.shared import ROOT

FILE = ROOT / "deploy/chart/files/alerts.yaml"
RUNBOOK = ROOT / "docs/operate/alerts.md"
CALM = ROOT / "tests/monitoring/rules/calm.yaml"
RULE_TESTS = sorted((ROOT / "tests/monitoring/rules").glob("*.yaml"))
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load(FILE.read_text())["groups"]
    for rule in group["rules"]
}
PARTS = ("Meaning", "Impact", "Diagnosis", "Mitigation")
Known = Mapping[str, Mapping[str, set[str]]]


def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(FILE))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", RULE_TESTS, ids=lambda each: each.stem)
def test_alerts_fire_when_they_should(file: Path) -> None:
    done = promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_somewhere() -> None:
    asked = [
        sample["labels"]
        for file in RULE_TESTS
        for test in yaml.safe_load(file.read_text())["tests"]
        for each in test["promql_expr_test"]
        for sample in each["exp_samples"]
    ]
    assert set(re.findall(r'alertname="(\w+)"', " ".join(asked))) == ALERTS.keys()


def test_a_quiet_day_has_series_of_every_rule() -> None:
    (test,) = yaml.safe_load(CALM.read_text())["tests"]
    quiet = {each["series"].partition("{")[0] for each in test["input_series"]}
    assert {name for rule in ALERTS.values() for name, _ in selectors(rule["expr"])} == quiet
    assert [each["exp_samples"] for each in test["promql_expr_test"]] == [[]]


@pytest.mark.parametrize("name", ALERTS)
def test_what_an_alert_names_exists(name: str, known: Known) -> None:
    assert problems(ALERTS[name]["expr"], known) == []


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_is_about(name: str) -> None:
    rule = ALERTS[name]
    assert re.fullmatch(r"Policyd[A-Z]\w+", name)
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    summary = rule["annotations"]["summary"]
    assert len(summary) < 80
    assert summary.endswith(".")
    assert rule["annotations"]["description"].endswith(".")
    assert rule["annotations"]["runbook_url"].endswith(f"/docs/operate/alerts#{name.lower()}")


def test_each_alert_has_a_runbook_in_their_order() -> None:
    sections = re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", RUNBOOK.read_text(), re.M | re.S)
    assert [name for name, _ in sections] == list(ALERTS)
    for name, text in sections:
        assert tuple(re.findall(r"^\*\*(\w+)\.\*\* ", text, re.M)) == PARTS, name
