"""The summary as tables for a terminal or a log."""

from collections.abc import Iterator, Sequence

from policyd.reports.formats.words import (
    facts,
    plural,
    printable,
    reason,
)
from policyd.reports.sample import FindingSample
from policyd.reports.summary import RESULTS, ResultCounts, Summary

# Listed findings; `kubectl get` and the other formats have more.
MOST_LISTED = 50
_CELL = 100  # characters of a cell, other than the last one of its row
_MESSAGE = 500  # characters of a message
_HEADS = tuple(word.upper() for word in RESULTS)
_FINDING_HEADS = ("RESULT", "NAMESPACE", "OBJECT", "POLICY", "RULE", "SEVERITY", "MESSAGE")
_NO_COUNTS = ("-",) * len(RESULTS)


def tables_text(summary: Summary) -> str:
    """Return the output of `policyd report`: facts, policies, namespaces and findings. Only counts
    the problems, which the command prints.
    """
    parts = [_facts(summary), _policies(summary)]
    if summary.by_namespace:
        parts.append(_namespaces(summary))
    if summary.findings:
        parts.append(_findings(summary))
    lines = [line for part in parts for line in (*part, "")]
    return "\n".join([*lines, *_end(summary)]) + "\n"


def _facts(summary: Summary) -> Iterator[str]:
    for name, value in facts(summary):
        yield f"{name + ':':<10} {printable(value, _MESSAGE)}"


def _policies(summary: Summary) -> Iterator[str]:
    rows = [
        (
            each.name,
            each.kind,
            each.category or "-",
            each.severity or "-",
            each.rollout or "-",
            *(_NO_COUNTS if each.idle else _counts(each.results)),
        )
        for each in summary.policies
    ]
    heads = ("POLICY", "KIND", "CATEGORY", "SEVERITY", "ROLLOUT", *_HEADS)
    return _table(heads, rows, len(RESULTS))


def _namespaces(summary: Summary) -> Iterator[str]:
    rows = [
        (each.namespace or "(cluster-scoped)", str(each.objects), *_counts(each.results))
        for each in summary.by_namespace
    ]
    return _table(("NAMESPACE", "OBJECTS", *_HEADS), rows, 1 + len(RESULTS))


def _findings(summary: Summary) -> Iterator[str]:
    listed = FindingSample(MOST_LISTED)
    for each in summary.findings:
        listed.add(each)
    rows = []
    for each in listed.findings:
        why = f" ({reason(each)})" if reason(each) else ""
        rows.append(
            (
                each.result,
                each.namespace or "-",
                f"{each.kind}/{each.name}",
                each.policy,
                each.rule or "-",
                each.severity or "-",
                f"{each.text}{why}",
            )
        )
    yield from _table(_FINDING_HEADS, rows, 0)
    more = len(summary.findings) - len(rows) + summary.more_findings
    if more:
        yield f"... and {plural(more, 'more finding')} (the reports have all of them)"


def _end(summary: Summary) -> Iterator[str]:
    idle = sum(each.idle for each in summary.policies)
    if idle:
        yield f"{plural(idle, 'policy', 'policies')} (-) without a resource to scan"
    if not summary.complete:
        problems = plural(len(summary.problems) + summary.more_problems, "problem")
        yield f"incomplete: {'interrupted' if summary.interrupted else problems}"
    found = summary.results
    results = ", ".join(f"{found[word]} {word}" for word in RESULTS)
    yield f"{plural(sum(found.values()), 'result')}: {results}"


def _counts(counts: ResultCounts) -> tuple[str, ...]:
    return tuple(str(counts[word]) for word in RESULTS)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> Iterator[str]:
    """Yield the lines of a table; its last ``numbers`` columns are right-aligned."""
    last = len(heads) - 1
    table = [heads]
    for row in rows:
        table.append(
            [printable(cell, _CELL if i < last else _MESSAGE) for i, cell in enumerate(row)]
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            f"{cell:>{width}}" if i > last - numbers else f"{cell:<{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
