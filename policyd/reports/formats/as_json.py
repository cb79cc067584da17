"""The summary as JSON. docs/run/reports.md describes the keys, which stay as they are."""

import json
from dataclasses import asdict
from datetime import UTC

from policyd.json_types import JSONObject
from policyd.reports.summary import ReportedFinding, ResultCounts, Summary


def json_text(summary: Summary) -> str:
    """Return the JSON document, indented. Halves of surrogate pairs, which strings of a cluster may
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
        "policies": [
            {
                "name": each.name,
                "kind": each.kind,
                "category": each.category,
                "severity": each.severity,
                "rollout": each.rollout,
                "idle": each.idle,
                "results": _counts(each.results),
            }
            for each in summary.policies
        ],
        "byNamespace": [
            {
                "namespace": each.namespace,
                "objects": each.objects,
                "results": _counts(each.results),
            }
            for each in summary.by_namespace
        ],
        "findings": [_finding(each) for each in summary.findings],
        "moreFindings": summary.more_findings,
        "reports": {
            "written": summary.reports.written,
            "unchanged": summary.reports.unchanged,
            "deleted": summary.reports.deleted,
            "failed": summary.reports.failed,
            "dryRun": summary.reports.dry_run,
        },
        "problems": [*summary.problems],
        "moreProblems": summary.more_problems,
    }


def _counts(counts: ResultCounts) -> JSONObject:
    return {
        "pass": counts.passed,
        "fail": counts.fail,
        "warn": counts.warn,
        "error": counts.error,
        "skip": counts.skip,
    }


def _finding(finding: ReportedFinding) -> JSONObject:
    fields = asdict(finding)
    return {"apiVersion" if name == "api_version" else name: fields[name] for name in fields}
