"""Output of checked objects: a table, JSON, and reports for CI. Evaluates no policy."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import jsonpatch

from policyd.cli.shared.output import counted, echo_json, styled
from policyd.cli.shared.reports import Entry, Level, github, junit, sarif
from policyd.json_types import JSONObject
from policyd.offline.judging import Judgement, Said
from policyd.policy.source.documents import Document
from policyd.policy.source.yaml_output import dump

Row = tuple[str, str, str, str]
Descriptions = Mapping[str, str]
_LEVELS: Mapping[str, Level] = {"deny": "error", "warn": "warning", "audit": "note"}
_WORDS = {"deny": "denied", "warn": "warning", "audit": "audit"}
_COLOURS = {"denied": "red", "warning": "yellow", "audit": "cyan", "admitted": "green"}
_HEADS: Row = ("RESULT", "RESOURCE", "POLICY", "MESSAGE")


@dataclass(frozen=True, slots=True)
class Judged:
    """An object and the result of its check; an object of a cluster has no file."""

    document: Document
    judgement: Judgement
    seconds: float = 0.0

    @property
    def result(self) -> JSONObject:
        """The manifest with the changes of mutations; its keys keep their order."""
        if not self.judgement.patch:
            return self.document.raw
        operations: Any = self.judgement.patch
        before = self.document.raw
        if "metadata" not in before:
            before = {**before, "metadata": {}}
        changed: JSONObject = jsonpatch.apply_patch(before, operations)
        return changed

    @property
    def said(self) -> tuple[Said, ...]:
        """The findings of the policies, plus the denial if none of them caused it."""
        judgement = self.judgement
        if judgement.allowed or any(each.outcome == "deny" for each in judgement.said):
            return judgement.said
        return (*judgement.said, Said("", "", "", "deny", judgement.message, True))


@dataclass(frozen=True, slots=True)
class Style:
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

    def add(self, judged: Judged) -> None:
        """Count one object."""
        self.objects += 1
        self.denied += not judged.judgement.allowed
        self.mutated += bool(judged.judgement.patch)
        self.warnings += sum(said.outcome == "warn" for said in judged.said)

    @property
    def summary(self) -> str:
        """The counts on one line."""
        parts = [f"{self.objects - self.denied} admitted", f"{self.denied} denied"]
        parts += [f"{self.mutated} {self.changed}"] if self.mutated else []
        parts += [counted(self.warnings, "warning")] if self.warnings else []
        return f"{counted(self.objects, 'object')}: {', '.join(parts)}"


def write(
    form: str, judged: Sequence[Judged], about: Descriptions, style: Style, tally: Tally
) -> None:
    """Print the objects in one of ``FORMATS``; with text, also the tally on standard error."""
    FORMATS[form](judged, about, style)
    if form == "text":
        click.echo(tally.summary, err=True)


def _text(judged: Sequence[Judged], about: Descriptions, style: Style) -> None:
    rows = [row for each in judged for row in _rows(each, style)]
    if rows:
        widths = [max(len(row[column]) for row in (_HEADS, *rows)) for column in range(3)]
        click.echo(_line(_HEADS, widths).rstrip())
        for row in rows:
            click.echo(_line(row, widths).rstrip())
    if style.diff:
        for each in judged:
            click.echo("".join(_diff(each)), nl=False)


def _rows(judged: Judged, style: Style) -> Iterator[Row]:
    label = judged.document.label
    for said in judged.said:
        message = " ".join(said.message.split())
        yield (_WORDS[said.outcome], label, said.policy or "-", message)
    if style.verbose and judged.judgement.allowed:
        names = judged.judgement.matched
        told = "no policy matches it"
        if names:
            told = f"checked by {names[0]}" + (
                f" and {len(names) - 1} more" if len(names) > 1 else ""
            )
        yield ("admitted", label, "-", told)


def _line(row: Row, widths: Sequence[int]) -> str:
    cells = [f"{text:<{width}}" for text, width in zip(row, widths, strict=False)]
    colour = _COLOURS.get(row[0])
    first = styled(cells[0], fg=colour) if colour else cells[0]
    return "  ".join((first, *cells[1:], row[3]))


def _diff(judged: Judged) -> Iterator[str]:
    """Yield the changes of mutations as a unified diff."""
    if not judged.judgement.patch:
        return
    document = judged.document
    name = f"{document.file}: {document.label}" if document.file else document.label
    lines = difflib.unified_diff(
        dump(judged.document.raw).splitlines(keepends=True),
        dump(judged.result).splitlines(keepends=True),
        name,
        f"{name} (mutated)",
    )
    for line in lines:
        text = line.rstrip("\n")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        yield (styled(text, fg=colour) if colour else text) + "\n"


def _json(judged: Sequence[Judged], about: Descriptions, style: Style) -> None:
    echo_json([_as_json(each) for each in judged])


def _as_json(judged: Judged) -> dict[str, Any]:
    document, judgement = judged.document, judged.judgement
    place = {"file": document.file, "line": document.place()[0]} if document.file else {}
    return {
        **place,
        "apiVersion": document.api_version,
        "kind": document.kind,
        "namespace": document.namespace,
        "name": document.name,
        "allowed": judgement.allowed,
        "message": judgement.message,
        "code": judgement.code,
        "policies": judgement.matched,
        "findings": judged.said,
        "warnings": judgement.warnings,
        "patch": judgement.patch,
    }


def _entries(judged: Sequence[Judged]) -> list[Entry]:
    """Build an entry for each finding; an object without findings gets one of level none."""
    entries = []
    for each in judged:
        document = each.document
        line, column = document.place() if document.file else (0, 0)
        told = [
            (said.policy or "policyd", _LEVELS[said.outcome], said.message) for said in each.said
        ]
        share = each.seconds / max(1, len(told))
        for rule, level, message in told or [("", "none", "")]:
            entries.append(
                Entry(
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


def _junit(judged: Sequence[Judged], about: Descriptions, style: Style) -> None:
    click.echo(junit(_entries(judged), "policyd apply"))


def _sarif(judged: Sequence[Judged], about: Descriptions, style: Style) -> None:
    echo_json(sarif(_entries(judged), about))


def _github(judged: Sequence[Judged], about: Descriptions, style: Style) -> None:
    text = github(_entries(judged))
    if text:
        click.echo(text)


FORMATS: Mapping[str, Callable[[Sequence[Judged], Descriptions, Style], None]] = {
    "text": _text,
    "json": _json,
    "junit": _junit,
    "sarif": _sarif,
    "github": _github,
}
