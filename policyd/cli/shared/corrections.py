"""Correct source files, as ``policyd lint --fix`` does, or show the change. Finds no problems."""

import difflib
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from policyd.errors import Problem
from policyd.policy.lint.fixes.editing import Correction, corrected
from policyd.policy.source.files import SourceFile, is_packed
from policyd.policy.source.loaded_documents import Sources
from policyd.regular_files import replace_file

_BOM = b"\xef\xbb\xbf"
_ROUNDS = 10

Looked = tuple[Sources, list[Problem]]


def corrected_files(
    files: Sequence[SourceFile],
    looked: Looked,
    look: Callable[[Sequence[SourceFile]], Looked],
) -> tuple[Sequence[SourceFile], list[Correction], Looked]:
    """Return the files with all corrections, the corrections, and what ``look`` finds then.

    A correction may reveal another: a policy with errors gets no advice.
    """
    edits = list[Correction]()
    for _ in range(_ROUNDS):
        files, more = _correct(files, looked[1])
        if not more:
            break
        edits += more
        looked = look(files)
    return files, edits, looked


def write_changed(before: Sequence[SourceFile], after: Sequence[SourceFile]) -> None:
    """Write the files that differ; raises click.ClickException."""
    for old, new in zip(before, after, strict=True):
        if new.data != old.data:
            try:
                rewrite(Path(new.real), new.data)
            except OSError as error:
                raise click.ClickException(f"{new.name}: cannot be written: {error}") from None


def diff(before: SourceFile, after: SourceFile) -> str:
    """Return the change of a file as a unified diff, as ``patch`` accepts it; empty without one."""
    name = before.name.lstrip("/")
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def edit_text(edit: Correction) -> str:
    """Format an edit for the terminal."""
    problem = edit.problem
    place = f"{problem.file}:{problem.line}:{problem.column}"
    new = edit.string.edit(edit.string.new).text
    return f"{place}: fixed: {edit.string.old} is now {new or 'empty'} [{problem.rule}]"


def _correct(
    files: Sequence[SourceFile], problems: Iterable[Problem]
) -> tuple[list[SourceFile], list[Correction]]:
    """Return the files with the certain corrections of the problems, and the edits made."""
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        if problem.fix is not None:
            by_file.setdefault(problem.file, []).append(problem)
    result, edits = [], list[Correction]()
    for file in files:
        listed = by_file.get(file.name, [])
        if listed and not is_packed(file.name):
            mark = _BOM if file.data.startswith(_BOM) else b""
            found = corrected(file.name, file.data.removeprefix(_BOM).decode(), listed)
            edits += found.edits
            result.append(replace(file, data=mark + found.text.encode()))
        else:
            result.append(file)
    return result, edits


def rewrite(file: Path, content: bytes) -> None:
    """Replace the file behind a path, which keeps its mode; raises OSError. A link stays a link."""
    target = file.resolve()
    replace_file(target, content, mode=stat.S_IMODE(target.stat().st_mode))


def _lines(file: SourceFile) -> list[str]:
    """Split at line feeds only, as ``patch`` does."""
    *whole, last = file.data.decode("utf-8", "replace").split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
