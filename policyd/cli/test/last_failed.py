"""Which cases failed when they ran last, for ``policyd test --last-failed``: one small file for
each suite file, in the cache directory of the user. Runs nothing.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from policyd.cli.test.run import SuiteResults, SuiteRun
from policyd.policy.model.suite import PolicyTest
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.runner import selected
from policyd.regular_files import replace_file


def failed_before(suites: Iterable[Document]) -> dict[str, frozenset[str]]:
    """Return the cases (SUITE/CASE) that failed when they ran last, by suite file."""
    return {file: _read(file) for file in {each.file for each in suites}}


def note_failures(results: SuiteResults) -> None:
    """Remember which cases failed for --last-failed; a warning if they cannot be written."""
    try:
        suites = [each for each in results.suites if isinstance(each.document.model, PolicyTest)]
        _remember(suites)
    except (OSError, RuntimeError) as error:
        click.echo(f"warning: the failed cases are not remembered: {error}", err=True)


def _remember(suites: Sequence[SuiteRun]) -> None:
    """Write which cases failed; cases that did not run keep what they have."""
    for file in {each.document.file for each in suites}:
        runs = [each for each in suites if each.document.file == file]
        cases = [case.result for each in runs for case in each.cases]
        before = _read(file)
        known = {
            f"{each.document.name}/{case.name}" for each in runs for case in selected(each.document)
        }
        passed = {f"{each.suite}/{each.name}" for each in cases if each.passed}
        failed = {f"{each.suite}/{each.name}" for each in cases if not each.passed}
        after = frozenset((before & known) - passed | failed)
        if after != before:
            _write(file, after)


def _read(file: str) -> frozenset[str]:
    """Return the names in the file of a suite; none if it is absent or not as policyd writes it,
    as after a crash: it is only a cache.
    """
    try:
        found = json.loads(_path(file).read_bytes())
        return frozenset(map(str, found["failed"]))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return frozenset()


def _write(file: str, names: frozenset[str]) -> None:
    path = _path(file)
    if not names:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"suite": os.path.realpath(file), "failed": sorted(names)}, indent=1)
    replace_file(path, f"{text}\n".encode())


def _path(file: str) -> Path:
    """Return the path for a suite; raises RuntimeError without a home directory."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()[:32]
    return Path(home) / "policyd" / "last-failed" / f"{digest}.json"
