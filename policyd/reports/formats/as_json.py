"""The summary as JSON. docs/reference/report-format.md describes the keys, which do not change."""

import json
from dataclasses import asdict
from datetime import UTC

from policyd.json_types import JSONObject
from policyd.reports.summary import (
    NamespaceResults,
    PolicyResults,
    ReportedFinding,
    ReportWrites,
    ResultCounts,
    ResultWord,
    Summary,
)

_WORDS: tuple[ResultWord, ...] = ("pass", "fail", "warn", "error", "skip")


def json_text(summary: Summary) -> str:
    """Return the indented JSON document. Halves of surrogate pairs, which a cluster's strings may
    have and UTF-8 cannot represent, become question marks.
    """
    text = json.dumps(_document(summary), ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "replace").decode()


def _document(summary: Summary) -> JSONObject:
    return {
        "cluster": summary.cluster,
        "clusterVersion": summary.cluster_version,
        "reportVersion": summary.api,
        "started": summary.started.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "seconds": round(summary.seconds, 3),
        "complete": summary.complete,
        "interrupted": summary.interrupted,
        "namespaces": [*summary.namespaces],
        "objects": summary.objects,
        "owned": summary.owned,
        "results": _counts(summary.results),
        "policies": [_row(each) for each in summary.policies],
        "byNamespace": [_row(each) for each in summary.by_namespace],
        "findings": [_fields(each) for each in summary.findings],
        "moreFindings": summary.more_findings,
        "reports": _fields(summary.reports),
        "problems": [*summary.problems],
        "moreProblems": summary.more_problems,
    }


def _row(value: PolicyResults | NamespaceResults) -> JSONObject:
    return {**_fields(value), "results": _counts(value.results)}


def _counts(counts: ResultCounts) -> JSONObject:
    return {each: counts[each] for each in _WORDS}


def _fields(
    value: PolicyResults | NamespaceResults | ReportedFinding | ReportWrites,
) -> JSONObject:
    """Return the fields by their JSON names: ``apiVersion`` for ``api_version``."""
    found = {}
    for name, each in asdict(value).items():
        first, *others = name.split("_")
        found[first + "".join(map(str.capitalize, others))] = each
    return found
