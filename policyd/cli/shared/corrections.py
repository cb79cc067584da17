"""Correct files in place, as ``policyd lint --fix`` does, or print what would change. Finds no
problems.
"""

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.errors import Problem
from policyd.policy.lint.fixes.editing import Corrected, Edit, corrected
from policyd.policy.source.files import read_bytes

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class CorrectedFile:
    """A file, its text, and its text with corrections."""

    name: str
    before: str
    result: Corrected

    def write(self) -> None:
        """Replace the file as a whole, with its mode; a link stays a link."""
        target = Path(os.path.realpath(self.name))
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=".", delete=False
        ) as file:
            file.write(self.result.text)
        try:
            shutil.copymode(target, file.name)
            Path(file.name).replace(target)
        except OSError:
            Path(file.name).unlink()
            raise

    def diff(self) -> str:
        """Return the change as a unified diff, as ``patch`` accepts it."""
        name = self.name.lstrip("/")
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.result.text), f"a/{name}", f"b/{name}"
        )
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )


def corrections(problems: Iterable[Problem]) -> list[CorrectedFile]:
    """Return the files that have problems with a certain correction, by name; writes nothing.

    Raises click.ClickException for a file that cannot be read again.
    """
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        if problem.fix is not None and not problem.file.endswith(".gz"):
            by_file.setdefault(problem.file, []).append(problem)
    found = []
    for name, listed in sorted(by_file.items()):
        try:
            before = read_bytes(name).decode()
        except (OSError, ValueError) as error:
            raise click.ClickException(f"{name}: cannot be read: {error}") from None
        mark = _BOM if before.startswith(_BOM) else ""
        result = corrected(name, before.removeprefix(_BOM), listed)
        if result.edits:
            text = Corrected(mark + result.text, result.edits)
            found.append(CorrectedFile(name, before, text))
    return found


def edit_text(edit: Edit) -> str:
    """Format an edit for the terminal."""
    problem = edit.problem
    place = f"{problem.file}:{problem.line}:{problem.column}"
    return f"{place}: fixed: {edit.old} is now {edit.new} [{problem.rule}]"


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as ``patch`` does."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
