"""``policyd test --update``: writes what was observed into the suites, as expectations, and shows
what it wrote. Runs no case.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from policyd.cli.shared.corrections import rewrite
from policyd.cli.shared.output import colored_diff, counted, diff_lines, styled
from policyd.cli.test.run import CaseRun, SuiteRun
from policyd.errors import ConfigError, Problem
from policyd.json_types import JSONObject
from policyd.policy.checks.suite import NO_EXPECTATION
from policyd.policy.source.files import is_packed, read_bytes
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.modelling import with_model
from policyd.policy.source.splitting import split
from policyd.policy.source.yaml_edit.chunks import edited_chunk, with_chunks
from policyd.policy.source.yaml_edit.edits import CannotEdit
from policyd.policy.suite.observed import corrected, observed
from policyd.policy.suite.rendering import STYLE
from policyd.policy.suite.runner import IDEMPOTENT

_DRAFT: JSONObject = {"allowed": True}  # stands for an expectation that is not written yet


# The suites that have cases without ``expect``, as they are in their files, by file and index.
Written = Mapping[tuple[str, int], JSONObject]


def drafted(sources: Sources) -> tuple[Sources, Written]:
    """Let the cases without ``expect`` run, if that is all that is wrong with their suite."""
    documents: list[Document] = []
    written: dict[tuple[str, int], JSONObject] = {}
    solved: set[Problem] = set()
    for each in sources.documents:
        if each.problems and all(one.rule == NO_EXPECTATION for one in each.problems):
            written[each.file, each.index] = each.raw
            solved.update(each.problems)
            raw = copy.deepcopy(each.raw)
            for test in _without_expectation(raw):
                test["expect"] = _DRAFT
            documents.append(with_model(replace(each, raw=raw, problems=())))
        else:
            documents.append(each)
    problems = tuple(each for each in sources.problems if each not in solved)
    return replace(sources, documents=tuple(documents), problems=problems), written


def _without_expectation(raw: JSONObject) -> Iterator[JSONObject]:
    for case in raw["cases"]:
        rows = case.get("table")
        if rows is None:
            yield from () if case.get("expect") else (case,)
        elif not case.get("expect"):
            yield from (row for row in rows if not row.get("expect"))


def update(suites: Sequence[SuiteRun], written: Written) -> None:
    """Write the expectations of cases that failed or have none, and print the differences.

    Raises ConfigError for a file that cannot be written.
    """
    files: dict[str, list[SuiteRun]] = {}
    for suite in suites:
        files.setdefault(suite.document.file, []).append(suite)
    edits = [_FileUpdate(file, runs, written) for file, runs in files.items()]
    needed = [each for each in edits if each.notes or each.count]
    for each in needed:
        each.write()
    if not needed:
        click.echo("every case is as expected: nothing to update")


class _FileUpdate:
    """The changes of one file. ``notes`` are what the author should know about them."""

    def __init__(self, file: str, suites: Sequence[SuiteRun], written: Written) -> None:
        self._file = file
        self._before = self._text = ""
        self.count = 0
        self.notes: list[str] = []
        # From the end: a change moves what follows it.
        for suite in sorted(suites, key=lambda each: each.document.index, reverse=True):
            raw = written.get((file, suite.document.index), suite.document.raw)
            for case in reversed(suite.cases):
                self._add(suite.document, raw, case)
        self.notes.reverse()

    def write(self) -> None:
        """Write the file, and print what changed."""
        if self.count:
            _write(self._file, self._text)
            before, after = self._before.splitlines(), self._text.splitlines()
            for line in colored_diff(diff_lines(before, after, self._file, self._file, context=2)):
                click.echo(line)
            click.echo(f"wrote {counted(self.count, 'expectation')} to {self._file}")
        for note in self.notes:
            click.echo(note)

    def _add(self, document: Document, raw: JSONObject, case: CaseRun) -> None:
        result = case.result
        test = _at(raw, case.case.path)
        # A row may have the expectation of its case.
        expect = test.get("expect") or _at(raw, case.case.path[:2]).get("expect")
        if expect and result.passed:
            return
        where = f"{result.file}:{result.line}: {result.suite}/{result.name}"
        if result.answer is None:
            self._note(where, f"not updated: {result.error}", "red")
            return
        if any(each.key == IDEMPOTENT for each in result.mismatches):
            advice = "the mutations change their own result, or the reverse: see idempotent"
            self._note(where, f"not updated: {advice}", "red")
            return
        new = observed(result.answer)
        if expect:
            new = corrected(expect, result.mismatches, result.answer)
        try:
            self._edit(document, case.case.path, new)
        except CannotEdit as error:
            self._note(where, f"not updated: {error}", "red")
            return
        self.count += 1
        if new.get("error"):
            errors = "; ".join(map(str, result.answer.errors))
            self._note(where, f"wrote error: true, because a policy errs: {errors}", "yellow")

    def _edit(self, document: Document, path: Sequence[str | int], expect: JSONObject) -> None:
        if not self._text:
            self._before = self._text = _read(self._file)
        found, _ = split(document.file, self._text.encode("utf-8"))
        chunk = found[document.index].origin.chunk
        after = copy.deepcopy(found[document.index].raw)
        _at(after, path)["expect"] = expect
        members = [
            (each, after if each.index == document.index else each.raw)
            for each in found
            if each.origin.chunk is chunk
        ]
        self._text = with_chunks(self._text, [(chunk, edited_chunk(chunk, members, STYLE))])

    def _note(self, where: str, text: str, colour: str) -> None:
        word = styled("warning", fg=colour)
        self.notes.append(f"{word}: {where}: {text}")


def _at(raw: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        raw = raw[part]
    return raw


def _read(file: str) -> str:
    if file == "-" or is_packed(file):
        raise CannotEdit("only plain files can be changed")
    return read_bytes(file).decode("utf-8")


def _write(file: str, text: str) -> None:
    try:
        rewrite(Path(file), text.encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from None
