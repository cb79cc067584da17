"""The summary as one HTML page: a single file that opens from disk and loads nothing.

Every string of the cluster is escaped, and the page's Content-Security-Policy allows only its own
style and script. The script sorts and filters; without it the page shows the same.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC
from html import escape
from importlib.resources import files

from policyd.reports.formats.page_tables import findings, namespaces, number, policies
from policyd.reports.formats.words import (
    facts,
    plural,
    printable,
    scope,
    started,
)
from policyd.reports.summary import RESULTS, Summary

_MEANINGS = {
    "fail": "violations",
    "error": "not evaluated",
    "warn": "warnings",
    "skip": "exempt",
    "pass": "no finding",
}
_FACT = 1_000  # characters of a fact or problem
_BAR = 1_000  # units of the width of the bar


def html_page(summary: Summary) -> str:
    """Return the page."""
    style, script = _resource("page.css"), _resource("page.js")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            *_head(summary, style, script),
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            '<a class="jump" href="#findings">Skip to the findings</a>',
            *_header(summary),
            "<main>",
            *_totals(summary),
            *_notices(summary),
            *policies(summary),
            *namespaces(summary),
            *findings(summary),
            "</main>",
            *_footer(summary),
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _resource(name: str) -> str:
    return files("policyd.reports.formats").joinpath(name).read_text("utf-8")


def _head(summary: Summary, style: str, script: str) -> Iterator[str]:
    allowed = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(allowed)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="generator" content="policyd report">'
    yield '<link rel="icon" href="data:,">'
    yield f"<title>Policy report, {_text(summary.cluster)}, {started(summary)}</title>"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _header(summary: Summary) -> Iterator[str]:
    moment = summary.started.astimezone(UTC).isoformat(timespec="seconds")
    yield "<header>"
    yield "<h1>Policy report</h1>"
    yield (
        f'<p>{_text(summary.cluster)}, {_text(scope(summary))}, <time datetime="{escape(moment)}">'
        f"{started(summary)}</time></p>"
    )
    yield "</header>"


def _totals(summary: Summary) -> Iterator[str]:
    counts, total = summary.results, sum(summary.results.values())
    yield '<section aria-label="Totals">'
    yield '<ul class="totals">'
    for word in RESULTS:
        yield (
            f'<li class="{word}"><span>{word.capitalize()}</span> '
            f"<strong>{number(counts[word])}</strong> "
            f'<span class="quiet">{_MEANINGS[word]}</span></li>'
        )
    yield "</ul>"
    if total:
        box = f'viewBox="0 0 {_BAR} 1" preserveAspectRatio="none"'
        yield f'<svg class="bar" {box} aria-hidden="true">'
        at = 0.0
        for word in RESULTS:
            width = counts[word] * _BAR / total
            yield f'<rect class="{word}" x="{at:.2f}" width="{width:.2f}" height="1"/>'
            at += width
        yield "</svg>"
    yield (
        f"<p>{plural(total, 'result', shown=number)} of "
        f"{plural(summary.objects, 'object', shown=number)}: "
        "each counts one object and one policy that matches it, with its worst finding.</p>"
    )
    yield "</section>"


def _notices(summary: Summary) -> Iterator[str]:
    if summary.interrupted:
        yield '<p class="notice">The run was interrupted: not all objects were checked.</p>'
    if summary.reports.dry_run:
        yield '<p class="notice">Dry run: no report was written or deleted.</p>'
    problems = [*summary.problems]
    if summary.more_problems:
        problems.append(f"and {plural(summary.more_problems, 'more problem', shown=number)}")
    if problems:
        yield '<section class="notice" aria-label="Problems">'
        yield "<p>Incomplete: something could not be read, written or deleted.</p>"
        yield f"<ul>{''.join(_items(problems))}</ul>"
        yield "</section>"


def _items(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield f"<li>{_text(text)}</li>"


def _footer(summary: Summary) -> Iterator[str]:
    yield "<footer>"
    yield "<h2>This run</h2>"
    yield "<dl>"
    for name, value in facts(summary, shown=number):
        yield f"<dt>{name}</dt><dd>{_text(value)}</dd>"
    yield "</dl>"
    yield "<p>Written by policyd report. This page loads nothing and sends nothing.</p>"
    yield "</footer>"


def _text(text: str) -> str:
    return escape(printable(text, _FACT))
