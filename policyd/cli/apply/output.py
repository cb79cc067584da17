"""Output of checked objects: a table, JSON, and reports for CI. Evaluates no policy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from policyd.bounded_text import few, with_field
from policyd.cli.apply.checked import CheckedObject, ReportOptions, Tally
from policyd.cli.shared.output import (
    colored_diff,
    diff_lines,
    echo_json,
    fields_json,
    one_line,
    shortest,
    styled,
)
from policyd.cli.shared.reports import REPORTS, ReportEntry, ReportLevel, echo_report
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.offline.admitting import Violation
from policyd.policy.source.yaml_output import dump

Row = tuple[str, ...]
FORMATS = ("text", "json", *REPORTS)
_LEVELS: Mapping[str, ReportLevel] = {
    "deny": "error",
    "would_deny": "warning",
    "warn": "warning",
    "audit": "note",
}
_WORDS = {"deny": "denied", "would_deny": "would deny", "warn": "warning", "audit": "audit"}
_COLOURS = {
    "denied": "red",
    "error": "red",
    "would deny": "magenta",
    "would mutate": "magenta",
    "warning": "yellow",
    "ignored": "yellow",
    "audit": "cyan",
    "admitted": "green",
}
_HEADS: Row = ("RESULT", "RESOURCE", "PLACE", "POLICY", "MESSAGE")
_PLACE = _HEADS.index("PLACE")


def write(
    options: ReportOptions,
    checked: Sequence[CheckedObject],
    tally: Tally,
    problems: Sequence[Problem] = (),
) -> None:
    """Print the objects; as text, also the tally on standard error.

    ``problems`` are about files that could not be read; reports for CI include them.
    """
    form = options.form
    if form == "text":
        _text(checked, options)
        click.echo(tally.summary, err=True)
    elif form == "json":
        echo_json([_as_json(each, options) for each in checked], err=options.err)
    else:
        entries = [*_entries(checked), *map(_entry_of, problems)]
        echo_report(form, entries, options.rules, "policyd apply", err=options.err)


def _text(checked: Sequence[CheckedObject], options: ReportOptions) -> None:
    rows = [row for each in checked for row in _rows(each, options)]
    if rows:
        table = [_HEADS, *rows]
        if not any(row[_PLACE] for row in rows):
            table = [row[:_PLACE] + row[_PLACE + 1 :] for row in table]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        columns = terminal_width(err=options.err)
        for row in table:
            first, *others = map(str.ljust, row, widths[:-1])
            colour = _COLOURS.get(row[0])
            shown = styled(first, fg=colour) if colour else first
            click.echo(table_row((shown, *others), row[-1], columns), err=options.err)
    if options.diff:
        for each in checked:
            for line in colored_diff(_diff(each)):
                click.echo(line, err=options.err)


def _rows(checked: CheckedObject, options: ReportOptions) -> Iterator[Row]:
    label = checked.document.label
    for finding in checked.findings:
        message = one_line(with_field(finding.field, _message(finding)))
        where = _place(checked, finding.field)
        erred = finding.error and finding.outcome == "deny"
        yield (
            "error" if erred else _WORDS[finding.outcome],
            label,
            where,
            finding.policy or "-",
            message,
        )
    for held in checked.admission.held:
        message = f"{held.places} (not applied: {held.rollout})"
        yield ("would mutate", label, _place(checked), held.policy, message)
    for error in checked.admission.ignored:
        message = one_line(with_field(error.field, error.message))
        yield ("ignored", label, _place(checked, error.field), error.policy, message)
    if options.verbose and checked.admission.allowed:
        names = checked.admission.matched
        reason = f"checked by {few(names, 1)}" if names else "no policy matches it"
        yield ("admitted", label, _place(checked), "-", reason)


def _place(checked: CheckedObject, field: str = "") -> str:
    """Return ``FILE:LINE:COLUMN``, which terminals and editors open."""
    place = (shortest(checked.document.file), *checked.place(field))
    return ":".join(str(part) for part in place if part)


def _message(finding: Violation) -> str:
    if not finding.rollout:
        return finding.message
    return f"{finding.message} (not enforced: {finding.rollout})"


def _as_json(checked: CheckedObject, options: ReportOptions) -> JSONObject:
    document, admission = checked.document, checked.admission
    made: dict[str, Any] = {
        **({"file": document.file} if document.file else {}),
        **_line(checked),
        **fields_json(document, "api_version", "kind", "namespace", "name"),
        **fields_json(admission, "allowed", "message", "code"),
        "policies": admission.matched,
        "findings": [{**asdict(each), **_line(checked, each.field)} for each in checked.findings],
        "ignored": [{**each._asdict(), **_line(checked, each.field)} for each in admission.ignored],
        "wouldMutate": [each._asdict() for each in admission.held],
        **fields_json(admission, "warnings", "patch"),
    }
    if options.diff:
        made["diff"] = "".join(f"{line}\n" for line in _diff(checked))
    return made


def _line(checked: CheckedObject, field: str = "") -> JSONObject:
    line, column = checked.place(field)
    return {"line": line, "column": column} if line else {}


def _diff(checked: CheckedObject) -> Iterator[str]:
    """Return the lines of the changes of mutations; none if nothing changed."""
    if not checked.admission.patch:
        return iter(())
    document = checked.document
    name = f"{document.file}: {document.label}" if document.file else document.label
    before, after = dump(document.raw).splitlines(), dump(checked.result).splitlines()
    return diff_lines(before, after, name, f"{name} (mutated)")


def _entries(checked: Sequence[CheckedObject]) -> list[ReportEntry]:
    """Build an entry for each finding; an object without findings gets one of level none."""
    entries: list[ReportEntry] = []
    for each in checked:
        document, admission = each.document, each.admission
        found = [*map(_entry, each.findings)]
        found += [
            ReportEntry(
                error.policy,
                "note",
                f"error ignored by failurePolicy: {error.message}",
                field=error.field,
            )
            for error in admission.ignored
        ]
        found += [
            ReportEntry(held.policy, "note", f"would mutate: {held.places} ({held.rollout})")
            for held in admission.held
        ]
        found = found or [ReportEntry("", "none", "")]
        for entry in found:
            line, column = each.place(entry.field)
            entries.append(
                replace(
                    entry,
                    subject=document.label,
                    group=document.file or f"{document.api_version} {document.kind}",
                    file=document.file,
                    line=line,
                    column=column,
                    seconds=admission.seconds / len(found),
                )
            )
    return entries


def _entry(finding: Violation) -> ReportEntry:
    """Build the entry of a finding, without its place."""
    return ReportEntry(
        finding.policy or "policyd",
        _LEVELS[finding.outcome],
        f"{'would deny: ' if finding.rollout else ''}{_message(finding)}",
        part=f"[{finding.index}]",
        failed=finding.error and not finding.rollout,
        field=finding.field,
    )


def _entry_of(problem: Problem) -> ReportEntry:
    """Build the entry of a file that could not be read."""
    return ReportEntry(
        problem.rule,
        "error",
        f"{problem.message}\nhint: {problem.hint}" if problem.hint else problem.message,
        group=problem.file,
        file=problem.file,
        line=problem.line,
        column=problem.column,
        failed=True,
    )
