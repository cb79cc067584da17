"""A summary as text or JSON."""

import sys
from collections.abc import Iterator
from pathlib import Path

import orjson

from policyd.reports.summary import ResultCounts, Summary

FORMATS = ("text", "json")


def write(summary: Summary, form: str, path: Path | None) -> None:
    """Write the summary to a file, or to standard output."""
    if form == "json":
        text = orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode() + "\n"
    else:
        text = "".join(f"{line}\n" for line in _lines(summary))
    if path is None:
        sys.stdout.write(text)
    else:
        path.write_text(text)


def _lines(summary: Summary) -> Iterator[str]:
    for each in summary.policies:
        yield f"{each.kind} {each.name}: {_counts(each.results)}"
    reports = summary.reports
    would = "would be " if reports.dry_run else ""
    yield f"{summary.objects} objects: {_counts(summary.results)}"
    yield (
        f"reports ({summary.api}): {reports.written} {would}written, {reports.unchanged} "
        f"unchanged, {reports.deleted} {would}deleted, {reports.failed} failed"
    )


def _counts(counts: ResultCounts) -> str:
    return (
        f"{counts.passed} pass, {counts.fail} fail, {counts.warn} warn, {counts.error} error, "
        f"{counts.skip} skip"
    )
