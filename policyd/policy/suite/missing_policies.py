"""Find the files that a suite names under ``policies`` and that do not exist. Loads none."""

import difflib
from collections.abc import Iterator
from pathlib import Path

from policyd.errors import Problem
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.source.documents import Document
from policyd.policy.source.loader import named_policies


def missing_policies(suite: Document) -> Iterator[Problem]:
    """Yield a problem for each file or folder that is not there, with its place in the suite."""
    for index, path in enumerate(named_policies(suite) or ()):
        if not _exists(path):
            name = suite.raw["policies"][index]
            message = f"Not found: {quoted(name)}: no such file or directory"
            where = ("policies", index)
            yield suite.problem(FormProblem(where, message, _hint(suite, path), rule="suite"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except ValueError:  # a NUL
        return False
    except OSError:  # it is there, and the one who loads it reports why it cannot be read
        return True


def _hint(suite: Document, path: Path) -> str:
    """Return the nearest name in the folder, or what names are relative to."""
    try:
        names = sorted(each.name for each in path.parent.iterdir())
    except (OSError, ValueError):
        names = []
    near = difflib.get_close_matches(path.name, names, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"names are relative to {Path(suite.file).parent}"
