"""Output of checked objects: a table, JSON, and reports for CI. Evaluates no policy."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import jsonpatch

from policyd.cli.shared.output import counted, echo_json, styled
from policyd.cli.shared.reports import ReportEntry, ReportLevel, github, junit
from policyd.cli.shared.sarif import ReportRule, echo_sarif
from policyd.json_types import JSONObject
from policyd.offline.admitting import Admission, Violation
from policyd.policy.source.documents import Document
from policyd.policy.source.yaml_output import dump

Row = tuple[str, str, str, str]
Descriptions = Mapping[str, str]
_LEVELS: Mapping[str, ReportLevel] = {"deny": "error", "warn": "warning", "audit": "note"}
_WORDS = {"deny": "denied", "warn": "warning", "audit": "audit"}
_COLOURS = {"denied": "red", "warning": "yellow", "audit": "cyan", "admitted": "green"}
_HEADS: Row = ("RESULT", "RESOURCE", "POLICY", "MESSAGE")


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """An object and the result of its check; an object of a cluster has no file."""

    document: Document
    admission: Admission
    seconds: float = 0.0

    @property
    def result(self) -> JSONObject:
        """The manifest with the changes of mutations; its keys keep their order."""
        if not self.admission.patch:
            return self.document.raw
        operations: Any = self.admission.patch
        before = self.document.raw
        if "metadata" not in before:
            before = {**before, "metadata": {}}
        changed: JSONObject = jsonpatch.apply_patch(before, operations)
        return changed

    @property
    def findings(self) -> tuple[Violation, ...]:
        """The findings of the policies, plus the denial if none of them caused it."""
        admission = self.admission
        if admission.allowed or any(each.outcome == "deny" for each in admission.violations):
            return admission.violations
        return (*admission.violations, Violation("", "", "", "deny", admission.message, True))


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What the text shows in addition to denials, warnings and audits."""

    diff: bool = False
    verbose: bool = False


@dataclass(slots=True)
class Tally:
    """Counts of objects and results. ``changed`` is the word for objects with a patch."""

    changed: str = "mutated"
    objects: int = 0
    denied: int = 0
    mutated: int = 0
    warnings: int = 0

    def add(self, checked: CheckedObject) -> None:
        """Count one object."""
        self.objects += 1
        self.denied += not checked.admission.allowed
        self.mutated += bool(checked.admission.patch)
        self.warnings += sum(finding.outcome == "warn" for finding in checked.findings)

    @property
    def summary(self) -> str:
        """The counts on one line."""
        parts = [f"{self.objects - self.denied} admitted", f"{self.denied} denied"]
        parts += [f"{self.mutated} {self.changed}"] if self.mutated else []
        parts += [counted(self.warnings, "warning")] if self.warnings else []
        return f"{counted(self.objects, 'object')}: {', '.join(parts)}"


def write(
    form: str,
    checked: Sequence[CheckedObject],
    about: Descriptions,
    style: TextOptions,
    tally: Tally,
) -> None:
    """Print the objects in one of ``FORMATS``; with text, also the tally on standard error."""
    FORMATS[form](checked, about, style)
    if form == "text":
        click.echo(tally.summary, err=True)


def _text(checked: Sequence[CheckedObject], about: Descriptions, style: TextOptions) -> None:
    rows = [row for each in checked for row in _rows(each, style)]
    if rows:
        widths = [max(len(row[column]) for row in (_HEADS, *rows)) for column in range(3)]
        click.echo(_line(_HEADS, widths).rstrip())
        for row in rows:
            click.echo(_line(row, widths).rstrip())
    if style.diff:
        for each in checked:
            click.echo("".join(_diff(each)), nl=False)


def _rows(checked: CheckedObject, style: TextOptions) -> Iterator[Row]:
    label = checked.document.label
    for finding in checked.findings:
        message = " ".join(finding.message.split())
        yield (_WORDS[finding.outcome], label, finding.policy or "-", message)
    if style.verbose and checked.admission.allowed:
        names = checked.admission.matched
        reason = "no policy matches it"
        if names:
            reason = f"checked by {names[0]}" + (
                f" and {len(names) - 1} more" if len(names) > 1 else ""
            )
        yield ("admitted", label, "-", reason)


def _line(row: Row, widths: Sequence[int]) -> str:
    cells = [f"{text:<{width}}" for text, width in zip(row, widths, strict=False)]
    colour = _COLOURS.get(row[0])
    first = styled(cells[0], fg=colour) if colour else cells[0]
    return "  ".join((first, *cells[1:], row[3]))


def _diff(checked: CheckedObject) -> Iterator[str]:
    """Yield the changes of mutations as a unified diff."""
    if not checked.admission.patch:
        return
    document = checked.document
    name = f"{document.file}: {document.label}" if document.file else document.label
    lines = difflib.unified_diff(
        dump(checked.document.raw).splitlines(keepends=True),
        dump(checked.result).splitlines(keepends=True),
        name,
        f"{name} (mutated)",
    )
    for line in lines:
        text = line.rstrip("\n")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        yield (styled(text, fg=colour) if colour else text) + "\n"


def _json(checked: Sequence[CheckedObject], about: Descriptions, style: TextOptions) -> None:
    echo_json([_as_json(each) for each in checked])


def _as_json(checked: CheckedObject) -> dict[str, Any]:
    document, admission = checked.document, checked.admission
    place = {"file": document.file, "line": document.place()[0]} if document.file else {}
    return {
        **place,
        "apiVersion": document.api_version,
        "kind": document.kind,
        "namespace": document.namespace,
        "name": document.name,
        "allowed": admission.allowed,
        "message": admission.message,
        "code": admission.code,
        "policies": admission.matched,
        "findings": checked.findings,
        "warnings": admission.warnings,
        "patch": admission.patch,
    }


def _entries(checked: Sequence[CheckedObject]) -> list[ReportEntry]:
    """Build an entry for each finding; an object without findings gets one of level none."""
    entries = []
    for each in checked:
        document = each.document
        line, column = document.place() if document.file else (0, 0)
        found = [
            (finding.policy or "policyd", _LEVELS[finding.outcome], finding.message)
            for finding in each.findings
        ]
        share = each.seconds / max(1, len(found))
        for rule, level, message in found or [("", "none", "")]:
            entries.append(
                ReportEntry(
                    rule,
                    level,
                    message,
                    subject=document.label,
                    group=document.file or f"{document.api_version} {document.kind}",
                    file=document.file,
                    line=line,
                    column=column,
                    seconds=share,
                )
            )
    return entries


def _junit(checked: Sequence[CheckedObject], about: Descriptions, style: TextOptions) -> None:
    click.echo(junit(_entries(checked), "policyd apply"))


def _sarif(checked: Sequence[CheckedObject], about: Descriptions, style: TextOptions) -> None:
    rules = {name: ReportRule(text or name) for name, text in about.items()}
    echo_sarif(_entries(checked), rules)


def _github(checked: Sequence[CheckedObject], about: Descriptions, style: TextOptions) -> None:
    text = github(_entries(checked))
    if text:
        click.echo(text)


FORMATS: Mapping[str, Callable[[Sequence[CheckedObject], Descriptions, TextOptions], None]] = {
    "text": _text,
    "json": _json,
    "junit": _junit,
    "sarif": _sarif,
    "github": _github,
}
