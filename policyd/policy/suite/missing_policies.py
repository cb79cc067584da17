"""Find the files that a suite names under ``policies`` and that do not exist. Loads none."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from policyd.errors import Problem
from policyd.near_names import did_you_mean
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.source.fixtures import is_beside
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.loader import named_policies


def missing_policies(suite: Document) -> Iterator[Problem]:
    """Yield a problem for each file or directory that is not there, with its place in the suite."""
    for index, path in enumerate(named_policies(suite) or ()):
        name = suite.raw["policies"][index]
        there = _exists(path) if suite.beside is None else is_beside(suite, name)
        if not there:
            message = f"Not found: {quoted(name)}: no such file or directory"
            where = ("policies", index)
            yield suite.problem(
                FormProblem(where, message, nearest_file(suite, path), rule="suite")
            )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except ValueError:  # a NUL
        return False
    except OSError:  # it is there, and the one who loads it reports why it cannot be read
        return True


def nearest_file(suite: Document, path: Path) -> str:
    """Return the nearest name in the directory, or what names are relative to."""
    names = sorted(suite.beside or ())
    if suite.beside is None:
        with suppress(OSError, ValueError):
            names = sorted(each.name for each in path.parent.iterdir())
    return did_you_mean(path.name, names, f"names are relative to {Path(suite.file).parent}")
