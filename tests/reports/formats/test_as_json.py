"""The JSON of a summary: every key, with every value of the summary."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

from policyd.reports.formats.as_json import json_text
from policyd.reports.summary import (
    NamespaceResults,
    PolicyResults,
    ReportedFinding,
    ReportWrites,
    Summary,
)
from tests.builders.summaries import FINDINGS, finding, summary


def test_the_whole() -> None:
    made = json.loads(json_text(summary(findings=FINDINGS[2:3], problems=("p",))))
    assert made.pop("policies")[1] == {
        "name": "require-probes",
        "kind": "Policy",
        "category": "Availability",
        "severity": "low",
        "rollout": "25 percent",
        "idle": False,
        "results": {"pass": 1200, "fail": 0, "warn": 1, "error": 0, "skip": 0},
    }
    assert made == {
        "cluster": "https://10.0.0.1:443",
        "clusterVersion": "1.37",
        "reportVersion": "openreports.io/v1alpha1",
        "started": "2026-11-23T18:00:05.250000Z",
        "seconds": 4.25,
        "complete": False,
        "interrupted": False,
        "namespaces": [],
        "objects": 1234,
        "owned": 56,
        "results": {"pass": 1230, "fail": 2, "warn": 1, "error": 1, "skip": 1},
        "byNamespace": [
            {
                "namespace": "",
                "objects": 3,
                "results": {"pass": 2, "fail": 1, "warn": 0, "error": 0, "skip": 0},
            },
            {
                "namespace": "mail",
                "objects": 231,
                "results": {"pass": 300, "fail": 0, "warn": 1, "error": 0, "skip": 0},
            },
            {
                "namespace": "shop",
                "objects": 1000,
                "results": {"pass": 928, "fail": 1, "warn": 0, "error": 1, "skip": 1},
            },
        ],
        "findings": [
            {
                "namespace": "",
                "apiVersion": "v1",
                "kind": "Namespace",
                "name": "stage",
                "policy": "require-labels",
                "rule": "team",
                "result": "fail",
                "category": "Labels",
                "severity": "medium",
                "message": "metadata.labels must have the key team",
                "field": "",
                "rollout": "namespace stage is not in the 25 percent (its number is 61)",
                "exception": "",
            }
        ],
        "moreFindings": 0,
        "reports": {"written": 4, "unchanged": 1, "deleted": 2, "failed": 0, "dryRun": False},
        "problems": ["p"],
        "moreProblems": 0,
    }


def values(value: Any) -> int:
    """The number of fields and members in it."""
    if is_dataclass(value):
        return sum(1 + values(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, dict):
        return sum(1 + values(each) for each in value.values())
    return sum(map(values, value)) if isinstance(value, list | tuple) else 0


def test_no_field_is_forgotten() -> None:
    """A field that is added to the summary must be added here: only ``complete`` is computed."""
    known = (NamespaceResults, PolicyResults, ReportedFinding, ReportWrites, Summary)
    assert all(is_dataclass(each) for each in known)
    assert values(json.loads(json_text(summary()))) == values(summary()) + 1


def test_strings_are_kept_as_they_are() -> None:
    hostile = '</script>\x1b[31m\u202e"\\\n'
    (found,) = json.loads(json_text(summary(findings=(finding(message=hostile),))))["findings"]
    assert found["message"] == hostile
