"""The pages about reports: the report fits the public definition, the keys are those of the JSON."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from policyd.reports.apis import INSTALL
from policyd.reports.formats.as_json import json_text
from tests.builders.summaries import summary
from tests.deploy.rendering import CHART
from tests.shared import ROOT

GUIDE = (ROOT / "docs/observe/reports.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "docs/reference/report-format.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(each) for each in re.findall("```yaml\n(.*?)```", GUIDE, re.DOTALL)]


def keys(value: Any) -> set[str]:
    """Every key in it, at any depth."""
    if isinstance(value, dict):
        return value.keys() | set().union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_the_report_fits_the_public_definition() -> None:
    (report,) = (each for each in BLOCKS if each.get("kind") == "Report")
    file = ROOT / "tests/reports/data/openreports.io_reports.yaml"
    (version,) = yaml.safe_load(file.read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    Draft202012Validator(schema).validate(report)
    assert (
        report["results"][0].keys() <= schema["properties"]["results"]["items"]["properties"].keys()
    )
    assert report["metadata"]["name"] == report["scope"]["uid"]


def test_what_to_install_is_what_the_tests_use() -> None:
    """The versions of tests/reports/data, in the message, the guide and the notes of the chart."""
    used = (ROOT / "tests/reports/data/README.md").read_text()
    notes = (CHART / "templates/NOTES.txt").read_text()
    for url in (url for urls in INSTALL.values() for url in urls):
        version, _, file = url.removeprefix("https://").partition("/v")[2].partition("/")
        assert f"v{version}" in used
        assert url in GUIDE or (f"/v{version}/" in GUIDE and Path(file).name in GUIDE)
    assert INSTALL["openreports.io/v1alpha1"][0] in notes


def test_every_key_of_the_json_is_described_and_no_other() -> None:
    table = FORMAT.partition("| key | value |\n")[2].partition("\n\n")[0]
    described = set(re.findall(r"`([a-zA-Z]+)`", table))
    assert described == keys(json.loads(json_text(summary())))


def test_values_are_those_of_the_chart() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())["report"]
    named = set(re.findall(r"`report\.(\w+)[`=]", GUIDE))
    (shown,) = (each["report"] for each in BLOCKS if "report" in each)
    assert named | shown.keys() <= values.keys()


def test_the_alert_is_a_rule() -> None:
    (group,) = next(each["groups"] for each in BLOCKS if "groups" in each)
    (rule,) = group["rules"]
    assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
    names = re.findall(r"cronjob=~\"(.*?)\"", rule["expr"])
    jobs = ("policyd-report", "gate-policyd-report", "policyd-prod-report")
    assert all(re.fullmatch(each, job) for each in names for job in jobs)
    assert len(names) == 2
