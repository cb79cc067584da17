"""Read the files that a suite names. Knows no cases."""

import zlib
from pathlib import Path

from policyd.errors import PolicySchemaError
from policyd.json_types import JSONObject
from policyd.policy.source.budget import FIXTURE, SourceBudget
from policyd.policy.source.files import read_bytes
from policyd.policy.source.fixtures import inside, read_beside
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.splitting import read_values, split
from policyd.policy.suite.missing_policies import nearest_file


class CaseError(Exception):
    """A case cannot be run; the message is the reason. ``line``: in the suite; 0: the case's."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def one_object(suite: Document, name: str) -> JSONObject:
    """Return the object of a file; raises CaseError unless it has exactly one."""
    found = objects(suite, name)
    if len(found) != 1:
        raise CaseError(
            f"{_shown(suite, name)}: expected one object, got {len(found)}: "
            "write a file and a case, or a row of a table, for each"
        )
    return found[0]


def objects(suite: Document, name: str) -> list[JSONObject]:
    """Return the objects of a file; raises CaseError, and OSError if it cannot be read."""
    shown = _shown(suite, name)
    try:
        data = _content(suite, name, shown)
        values, problems = read_values(shown, data, SourceBudget(FIXTURE))
    except FileNotFoundError as error:
        raise CaseError(f"{shown}: {error.strerror}: {nearest_file(suite, name)}") from None
    except (ValueError, EOFError, zlib.error) as error:  # the last two of a broken .gz
        raise CaseError(f"{shown}: {str(error).removeprefix(f'{name}: ')}") from None
    if problems:
        raise CaseError(f"{shown}: {PolicySchemaError(problems)}")
    if not all(isinstance(value, dict) for value in values):
        raise CaseError(f"{shown}: expected objects")
    return values


def documents(suite: Document, name: str) -> list[Document]:
    """Return the Kubernetes objects of a file with their places; raises as ``objects`` does."""
    shown = _shown(suite, name)
    return split(shown, _content(suite, name, shown), budget=SourceBudget(FIXTURE))[0]


def _content(suite: Document, name: str, shown: str) -> bytes:
    if suite.beside is not None:
        return read_beside(suite, name)
    real = inside(suite, name)
    if real.exists() and not real.is_file():
        raise CaseError(f"{shown}: not a regular file")
    return read_bytes(real)


def _shown(suite: Document, name: str) -> str:
    return str(Path(suite.file).parent / name)
