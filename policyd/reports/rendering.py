"""Writes the summary of a run as a table, as JSON or as an HTML page. Computes nothing."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from policyd.errors import ConfigError
from policyd.regular_files import replace_file
from policyd.reports.formats.as_json import json_text
from policyd.reports.formats.page import html_page
from policyd.reports.formats.tables import tables_text
from policyd.reports.summary import Summary

_WRITERS: Mapping[str, Callable[[Summary], str]] = {
    "text": tables_text,
    "json": json_text,
    "html": html_page,
}
FORMATS = tuple(_WRITERS)


def write(summary: Summary, form: str, path: Path | None) -> None:
    """Write the summary in one of ``FORMATS`` to standard output or to a file. Replaces a file in
    one step, but writes to a pipe or device, such as /dev/stdout. Raises ConfigError if that fails.
    """
    text = _WRITERS[form](summary)
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        _write_file(path, text.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from None


def require_writable(path: Path) -> None:
    """Raise ConfigError if this file is not writable, before a run that may take an hour."""
    directory = Path(os.path.realpath(path)).parent
    if path.exists() and not path.is_file():
        return
    if not directory.is_dir():
        raise ConfigError(f"cannot write {path}: there is no directory {directory}")
    if not os.access(directory, os.W_OK):
        raise ConfigError(f"cannot write {path}: the directory {directory} is not writable")


def _write_file(path: Path, content: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    # The target of a link is replaced, not the link.
    replace_file(Path(os.path.realpath(path)), content, mode=0o644)
