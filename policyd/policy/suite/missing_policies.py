"""Find the files that a suite names under ``policies`` and that do not exist. Loads none."""

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from policyd.errors import Problem
from policyd.near_names import did_you_mean
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.source.fixtures import is_beside
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.loader import named_policies
from policyd.policy.source.tree import instead_of


def missing_policies(suite: Document, known: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each file or directory that is not there, with its place in the suite.
    ``known`` are the files of policies by their names, which users may write in place of files.
    """
    directory = Path(suite.file).parent
    for index, path in enumerate(named_policies(suite) or ()):
        name = suite.raw["policies"][index]
        there = _exists(path) if suite.beside is None else is_beside(suite, name)
        if not there:
            message = f"Not found: {quoted(name)}: no such file or directory"
            hint = nearest_file(suite, name)
            if name in known:
                hint = f"name the file of the policy: {os.path.relpath(known[name], directory)}"
            where = ("policies", index)
            yield suite.problem(FormProblem(where, message, hint, rule="suite"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except ValueError:  # a NUL
        return False
    except OSError:  # it is there, and the one who loads it reports why it cannot be read
        return True


def nearest_file(suite: Document, name: str) -> str:
    """Return the nearest name in the directory, or what names are relative to."""
    directory = Path(suite.file).parent
    if suite.beside is not None:
        return did_you_mean(name, suite.beside, f"names are relative to {directory}")
    return instead_of(name, directory) or f"names are relative to {directory}"
