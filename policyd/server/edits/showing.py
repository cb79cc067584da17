"""The problems that the answer to an edit shows. Anyone who can reach the review port may send an
edit, so the answer names only the submitted ConfigMap: no files of other sources, and no problems
in them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from policyd.bounded_text import bounded
from policyd.errors import Problem
from policyd.server.edits.model import EditFindings

# Characters of a denial; kubectl prints it unchanged. Problems that do not fit are counted.
MAX_MESSAGE = 6_000
# Warnings of one answer: the API server cuts each at 256 characters, and all at 4 KiB.
MAX_WARNINGS = 10
MAX_WARNING = 250
# Places in the log, and characters of each.
MAX_PLACES = 50
MAX_PLACE = 500
# A file of other sources in a message, with line and column.
_ANOTHER = "another source"
_PLACED = re.compile(rf"{_ANOTHER}(:[0-9]+)+")


def findings_of(
    problems: Iterable[Problem],
    name: str,
    others: Iterable[str],
    reads: Iterable[tuple[str, ...]] = (),
) -> EditFindings:
    """Return the findings to show for an edit of the ConfigMap ``name``. ``others`` are the names
    of all other files, ``reads`` the reads that the edit adds.
    """
    hidden = sorted(others, key=len, reverse=True)
    errors: list[Problem] = []
    advice: list[str] = []
    mine: list[Problem] = []
    for each in problems:
        own = _own(each, name)
        if each.severity == "error":
            errors.append(each)
            mine += [] if own is None else [own]
        elif own is not None and len(advice) <= MAX_WARNINGS:
            advice.append(bounded(_redacted(str(own), hidden), MAX_WARNING))
    return EditFindings(
        len(errors),
        len(errors) - len(mine),
        _shown(mine, hidden),
        [_place(each)[:MAX_PLACE] for each in errors[:MAX_PLACES]],
        advice,
        sorted(reads),
    )


def _own(problem: Problem, name: str) -> Problem | None:
    """Return the part of a problem that the author of a ConfigMap may see; None for nothing."""
    if not problem.file or problem.file == name or problem.file.startswith(f"{name}/"):
        return problem
    if f"{name}/" in problem.message:  # what was there first is now the second, by its name
        return replace(problem, file="", line=0, column=0, excerpt="", hint="")
    return None


def _shown(problems: Sequence[Problem], hidden: Sequence[str]) -> list[str]:
    """Return the problems as ``policyd lint`` prints them, up to a limit."""
    found: list[str] = []
    size = 0
    for each in problems:
        text = _redacted(str(each), hidden)
        size += len(text) + 2
        if found and size > MAX_MESSAGE:
            break
        found.append(bounded(text, MAX_MESSAGE))
    return found


def _redacted(text: str, hidden: Sequence[str]) -> str:
    for name in hidden:
        if name in text:
            text = text.replace(name, _ANOTHER)
    return _PLACED.sub(_ANOTHER, text)


def _place(problem: Problem) -> str:
    return ": ".join(each for each in (problem.place, problem.path, problem.rule) if each)
