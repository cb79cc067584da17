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
# Characters of a word, a name and a message; for words and names the limits of Kubernetes.
_WORD = 63
_NAME = 253
_MESSAGE = 1_000
_CLUSTER = "(cluster-scoped)"

# A column head: its label, its class, and the name by which the script sorts it.
_Head = tuple[str, str, str]
# A row: its attributes, and its cells by the names of their heads.
_Cells = tuple[str, dict[str, str]]
_Row = TypeVar("_Row", PolicyResults, NamespaceResults)
_COUNTS: tuple[_Head, ...] = tuple((word.capitalize(), "count", word) for word in RESULTS)


def number(value: int) -> str:
    """Return a number with thousands separators: 12,345."""
    return f"{value:,}"


def policies(summary: Summary) -> Iterator[str]:
    """Yield the section of policies."""
    heads = (
        ("Policy", "", "policy"),
        ("Kind", "word kind", "kind"),
        ("Category", "category", "category"),
        ("Severity", "word", "severity"),
        ("Rollout", "rollout", "rollout"),
        *_COUNTS,
    )
    kept, more = _worst(summary.policies)
    idle = sum(each.idle for each in summary.policies)
    note = f"{_plural(idle, 'policy', 'policies')} without a resource to scan." if idle else ""
    if more:
        note += f" {_plural(more, 'more policy', 'more policies')} with fewer failures not shown."
    unused = _unused(kept, "category", "severity", "rollout")
    yield from _section("Policies", note, heads, map(_policy, kept), unused)


def namespaces(summary: Summary) -> Iterator[str]:
    """Yield the section of namespaces."""
    heads = (("Namespace", "", "namespace"), ("Objects", "count", "objects"), *_COUNTS)
    kept, more = _worst(summary.by_namespace)
    note = f"{_plural(more, 'more namespace')} with fewer failures not shown." if more else ""
    yield from _section("Namespaces", note, heads, map(_namespace, kept))


def findings(summary: Summary) -> Iterator[str]:
    """Yield the section of findings, with the filter form, which the script shows."""
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
            f"{_plural(summary.more_findings, 'more finding')} not shown: the reports in the "
            "cluster have all of them."
        )
    if not summary.findings:
        note = "None."
    unused = _unused(summary.findings, "severity")
    form = _filters(unused) if summary.findings else ""
    rows = map(_finding, summary.findings)
    yield from _section("Findings", note, heads, rows, unused, form=form)


def _unused(rows: Iterable[object], *names: str) -> frozenset[str]:
    """Return the fields without a value in any row: they get no column."""
    kept = [*rows]
    return frozenset(name for name in names if not any(getattr(row, name).strip() for row in kept))


def _section(
    title: str,
    note: str,
    heads: Sequence[_Head],
    rows: Iterable[_Cells],
    unused: frozenset[str] = frozenset(),
    *,
    form: str = "",
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
        shown = [each for each in heads if each[2] not in unused]
        cells = "".join(
            f'<th scope="col" class="{kind}" data-name="{key}">{label}</th>'
            for label, kind, key in shown
        )
        yield f"<thead><tr>{cells}</tr></thead>"
        yield "<tbody>"
        for attributes, by_name in body:
            yield f"<tr{attributes}>{''.join(by_name[key] for _, _, key in shown)}</tr>"
        yield "</tbody>"
        yield "</table>"
        yield "</div>"
    yield "</section>"


def _policy(policy: PolicyResults) -> _Cells:
    name = _name(policy.name)
    return "", {
        "policy": f'<th scope="row" data-policy="{name}">{name}</th>',
        "kind": f'<td class="word kind">{_word(policy.kind)}</td>',
        "category": f'<td class="category">{_word(policy.category)}</td>',
        "severity": _severity(policy.severity),
        "rollout": f'<td class="rollout">{_name(policy.rollout)}</td>',
        **(_NO_COUNTS if policy.idle else _counts(policy.results)),
    }


def _namespace(namespace: NamespaceResults) -> _Cells:
    name = _word(namespace.namespace)
    return "", {
        "namespace": f'<th scope="row" data-namespace="{name}">{name or _CLUSTER}</th>',
        "objects": _count(namespace.objects, ""),
        **_counts(namespace.results),
    }


def _finding(finding: ReportedFinding) -> _Cells:
    result, namespace = _word(finding.result), _word(finding.namespace)
    policy, severity = _name(finding.policy), _word(finding.severity)
    shown = result if finding.result in RESULTS else ""
    rule = f"<small>{_name(finding.rule)}</small>" if finding.rule else ""
    why = printable(reason(finding), _MESSAGE // 2)
    note = f"<small>{escape(why)}</small>" if why else ""
    attributes = (
        f' data-result="{result}" data-severity="{severity}" data-namespace="{namespace}" '
        f'data-policy="{policy}"'
    )
    return attributes, {
        "result": f'<td class="word" data-key="{rank(RESULTS, finding.result)}">'
        f'<span class="badge {shown}">{result}</span></td>',
        "namespace": f'<td class="name">{namespace or _CLUSTER}</td>',
        "object": f'<th scope="row">{_word(finding.kind)}/<wbr>{_name(finding.name)}'
        f"<small>{_name(finding.api_version)}</small></th>",
        "policy": f'<td class="name">{policy}{rule}</td>',
        "severity": _severity(finding.severity),
        "message": f'<td class="message">{escape(printable(finding.text, _MESSAGE))}{note}</td>',
    }


def _severity(severity: str) -> str:
    return f'<td class="word" data-key="{rank(SEVERITIES, severity)}">{_word(severity)}</td>'


def _counts(counts: ResultCounts) -> dict[str, str]:
    return {word: _count(counts[word], word) for word in RESULTS}


def _count(value: int, word: str) -> str:
    kind = word if value or not word else "none"
    return f'<td class="count {kind}" data-key="{value}">{number(value)}</td>'


_NO_COUNT = '<td class="count none" data-key="-1">–</td>'
_NO_COUNTS: dict[str, str] = dict.fromkeys(RESULTS, _NO_COUNT)


def _worst(rows: Sequence[_Row]) -> tuple[list[_Row], int]:
    """Return at most ``MOST_ROWS`` rows, the worst first, and how many were left out."""
    kept = sorted(rows, key=_badness)[:MOST_ROWS]
    return kept, len(rows) - len(kept)


def _badness(row: PolicyResults | NamespaceResults) -> tuple[int, ...]:
    """Return the key that sorts a row before better ones, and idle policies last."""
    found = [-row.results[word] for word in RESULTS if word != "pass"]
    return (*found, isinstance(row, PolicyResults) and row.idle)


def _name(text: str) -> str:
    return escape(printable(text, _NAME))


def _word(text: str) -> str:
    return escape(printable(text, _WORD))


def _plural(value: int, noun: str, several: str = "") -> str:
    return plural(value, noun, several, shown=number)


def _filters(unused: frozenset[str]) -> str:
    """Return the form that filters findings by their fields."""
    selects = (
        f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option></select>'
        "</label>"
        for name in ("result", "severity", "namespace", "policy")
        if name not in unused
    )
    return "\n".join(
        [
            '<form id="filters" role="search" aria-label="Filter findings" hidden>',
            '<label class="search">Search <input type="search" name="search" autocomplete="off">'
            "</label>",
            *selects,
            '<button type="reset">Reset</button>',
            '<output id="shown" aria-live="polite"></output>',
            "</form>",
        ]
    )
