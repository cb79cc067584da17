"""The tables of the HTML page: policies, namespaces and findings, each with a bounded size."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeVar

from policyd.policy.source.classification import SEVERITIES
from policyd.reports.formats.words import (
    plural,
    printable,
    rank,
    reason,
)
from policyd.reports.summary import (
    RESULTS,
    NamespaceResults,
    PolicyResults,
    ReportedFinding,
    ResultCounts,
    Summary,
)

# Rows of the tables of policies and namespaces: those with the worst results, if there are more.
MOST_ROWS = 500
# Characters of a word, a name and a message; Kubernetes allows as many of words and names.
_WORD = 63
_NAME = 253
_MESSAGE = 1_000
_CLUSTER = "(cluster-scoped)"

# A head: its label, its class, and the name by which the script sorts it.
_Head = tuple[str, str, str]
_Row = TypeVar("_Row", PolicyResults, NamespaceResults)
_COUNTS: tuple[_Head, ...] = tuple((word.capitalize(), "count", word) for word in RESULTS)


def number(value: int) -> str:
    """Return a number as people read it: 12,345."""
    return f"{value:,}"


def policies(summary: Summary) -> Iterator[str]:
    """Yield the section of policies."""
    heads = (
        ("Policy", "", "policy"),
        ("Kind", "word", "kind"),
        ("Category", "", "category"),
        ("Severity", "word", "severity"),
        ("Rollout", "", "rollout"),
        *_COUNTS,
    )
    kept, more = _worst(summary.policies)
    idle = sum(each.idle for each in summary.policies)
    note = f"{plural(idle, 'policy', 'policies')} without a resource to scan." if idle else ""
    if more:
        note += f" {plural(more, 'more policy', 'more policies')} with fewer failures not shown."
    yield from _section("Policies", note, heads, map(_policy, kept))


def namespaces(summary: Summary) -> Iterator[str]:
    """Yield the section of namespaces."""
    heads = (("Namespace", "", "namespace"), ("Objects", "count", "objects"), *_COUNTS)
    kept, more = _worst(summary.by_namespace)
    note = f"{plural(more, 'more namespace')} with fewer failures not shown." if more else ""
    yield from _section("Namespaces", note, heads, map(_namespace, kept))


def findings(summary: Summary) -> Iterator[str]:
    """Yield the section of findings, with the form of the script, which shows it."""
    heads = (
        ("Result", "word", "result"),
        ("Namespace", "", "namespace"),
        ("Object", "", "object"),
        ("Policy", "", "policy"),
        ("Severity", "word", "severity"),
        ("Message", "", "message"),
    )
    note = ""
    if summary.more_findings:
        note = (
            f"{plural(summary.more_findings, 'more finding')} not shown: the reports in the "
            "cluster have all of them."
        )
    if not summary.findings:
        note = "None."
    form = _FILTERS if summary.findings else ""
    rows = map(_finding, summary.findings)
    yield from _section("Findings", note, heads, rows, form=form)


def _section(
    title: str, note: str, heads: Sequence[_Head], rows: Iterable[str], *, form: str = ""
) -> Iterator[str]:
    name = title.lower()
    yield f'<section id="{name}" aria-labelledby="title-{name}">'
    yield f'<h2 id="title-{name}">{title}</h2>'
    if note:
        yield f'<p class="quiet">{note.strip()}</p>'
    body = [*rows]
    if body:
        if form:
            yield form
        yield f'<div class="scroll" role="region" aria-labelledby="title-{name}" tabindex="0">'
        yield f'<table id="table-{name}" aria-labelledby="title-{name}">'
        cells = "".join(
            f'<th scope="col" class="{kind}" data-name="{key}">{label}</th>'
            for label, kind, key in heads
        )
        yield f"<thead><tr>{cells}</tr></thead>"
        yield "<tbody>"
        yield from body
        yield "</tbody>"
        yield "</table>"
        yield "</div>"
    yield "</section>"


def _policy(policy: PolicyResults) -> str:
    name = _name(policy.name)
    counts = _NO_COUNTS if policy.idle else _counts(policy.results)
    return (
        f'<tr><th scope="row" data-policy="{name}">{name}</th>'
        f'<td class="word">{_word(policy.kind)}</td><td>{_word(policy.category)}</td>'
        f"{_severity(policy.severity)}<td>{_name(policy.rollout)}</td>{counts}</tr>"
    )


def _namespace(namespace: NamespaceResults) -> str:
    name = _word(namespace.namespace)
    return (
        f'<tr><th scope="row" data-namespace="{name}">{name or _CLUSTER}</th>'
        f"{_count(namespace.objects, '')}{_counts(namespace.results)}</tr>"
    )


def _finding(finding: ReportedFinding) -> str:
    result, namespace = _word(finding.result), _word(finding.namespace)
    policy, severity = _name(finding.policy), _word(finding.severity)
    shown = result if finding.result in RESULTS else ""
    rule = f"<small>{_name(finding.rule)}</small>" if finding.rule else ""
    why = printable(reason(finding), _MESSAGE // 2)
    note = f"<small>{escape(why)}</small>" if why else ""
    return (
        f'<tr data-result="{result}" data-severity="{severity}" data-namespace="{namespace}" '
        f'data-policy="{policy}">'
        f'<td class="word" data-key="{rank(RESULTS, finding.result)}">'
        f'<span class="badge {shown}">{result}</span></td>'
        f"<td>{namespace or _CLUSTER}</td>"
        f'<th scope="row">{_word(finding.kind)}/<wbr>{_name(finding.name)}'
        f"<small>{_name(finding.api_version)}</small></th>"
        f'<td class="name">{policy}{rule}</td>{_severity(finding.severity)}'
        f'<td class="message">{escape(printable(finding.message, _MESSAGE))}{note}</td></tr>'
    )


def _severity(severity: str) -> str:
    return f'<td class="word" data-key="{rank(SEVERITIES, severity)}">{_word(severity)}</td>'


def _counts(counts: ResultCounts) -> str:
    return "".join(_count(counts[word], word) for word in RESULTS)


def _count(value: int, word: str) -> str:
    kind = word if value or not word else "none"
    return f'<td class="count {kind}" data-key="{value}">{number(value)}</td>'


_NO_COUNTS = '<td class="count none" data-key="-1">–</td>' * len(RESULTS)


def _worst(rows: Sequence[_Row]) -> tuple[list[_Row], int]:
    """Return at most ``MOST_ROWS`` rows in their order, and how many were left out."""
    kept = sorted(rows, key=lambda row: (-row.results["fail"], -row.results["error"]))[:MOST_ROWS]
    chosen = {id(row) for row in kept}
    return [row for row in rows if id(row) in chosen], len(rows) - len(kept)


def _name(text: str) -> str:
    return escape(printable(text, _NAME))


def _word(text: str) -> str:
    return escape(printable(text, _WORD))


_FILTERS = """\
<form id="filters" role="search" aria-label="Filter findings" hidden>
<label class="search">Search <input type="search" name="search" autocomplete="off"></label>
<label>Result <select name="result"><option value="">all</option></select></label>
<label>Severity <select name="severity"><option value="">all</option></select></label>
<label>Namespace <select name="namespace"><option value="">all</option></select></label>
<label>Policy <select name="policy"><option value="">all</option></select></label>
<button type="reset">Reset</button>
<output id="shown" aria-live="polite"></output>
</form>"""
