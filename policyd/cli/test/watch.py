"""``policyd test --watch``: runs the affected suites again when files change, until it is
interrupted. Invalid files are reported and do not end it.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from os import path as os_path
from pathlib import Path

import click

from policyd.bounded_text import few
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.test.last_failed import note_failures
from policyd.cli.test.output import text
from policyd.cli.test.remarks import echo_remarks
from policyd.cli.test.run import NOT_RUN, RunOptions, SuiteResults, SuiteRun, run, suites_of
from policyd.errors import ConfigError, PolicydError, PolicyError
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.loader import fixture_names, load, named_policies, require
from policyd.server.policies.file_watch import Fingerprint, changed, fingerprint

_BROKEN = 2
_MOST_NAMES = 3  # changed files named; the others are counted


class SuiteWatcher:
    """Runs suites on every change; the exit status covers the last result of each suite."""

    def __init__(self, paths: Sequence[Path], options: RunOptions, verbose: bool) -> None:
        self._paths = tuple(paths)
        self._options = options
        self._verbose = verbose
        self._known: dict[tuple[str, int], SuiteRun] = {}  # the last run of each suite
        self._outside: tuple[Path, ...] = ()  # files named by suites, outside the paths
        self._inside: Fingerprint = ()
        self._beyond: Fingerprint = ()
        self._status = _BROKEN

    def run(self) -> int:
        """Run until Ctrl-C and return the exit status of the last run."""
        try:
            asyncio.run(self._watch())
        except KeyboardInterrupt:
            click.echo()
        return self._status

    async def _watch(self) -> None:
        self._inside = fingerprint(self._paths)
        self._run(None)
        while True:
            before = self._inside + self._beyond
            await self._change(before)
            self._inside, self._beyond = fingerprint(self._paths), fingerprint(self._outside)
            touched = differing(before, self._inside + self._beyond)
            if touched:
                self._run(touched)

    async def _change(self, known: Fingerprint) -> None:
        """Wait until the files differ from the files of the last run."""
        watched, stop = (*self._paths, *self._outside), asyncio.Event()
        listening = asyncio.create_task(_first(changed(watched, stop, known=known)))
        await asyncio.sleep(0)  # the task listens from here on; the check finds earlier changes
        try:
            if fingerprint(watched) == known:
                await listening
        finally:
            stop.set()
            await asyncio.wait([listening])

    def _run(self, touched: frozenset[str] | None) -> None:
        """Run and report the suites affected by a change of these files (None: all suites)."""
        if sys.stdout.isatty():
            click.clear()
        if touched is not None:
            click.echo(styled(f"-- {datetime.now():%H:%M:%S} {_names(touched)} --", dim=True))
        try:
            self._test(None if self._status == _BROKEN else touched)
        except PolicydError as error:
            self._status = _BROKEN
            echo_wrapped(f"Error: {error}")
            if isinstance(error, PolicyError):
                click.echo(NOT_RUN)
        click.echo(styled("watching for changes; press Ctrl-C to stop", dim=True))
        sys.stdout.flush()

    def _test(self, touched: frozenset[str] | None) -> None:
        options = self._options
        sources = require(load(self._paths, version=options.version))
        suites = suites_of(sources, self._paths, options)
        self._look_outside(suites)
        chosen = suites
        if touched is not None and not options.observes:
            chosen = tuple(each for each in suites if concerns(each, touched))
        results = run(sources, chosen, options)
        note_failures(results)
        self._known = {_key(s): self._known[_key(s)] for s in suites if _key(s) in self._known}
        self._known |= {_key(each.document): each for each in results.suites}
        self._report(results, sources, len(chosen))
        echo_remarks(results, sources)

    def _look_outside(self, suites: Sequence[Document]) -> None:
        """Watch the files that suites name outside the paths, from their current state on."""
        before = self._outside
        self._outside = tuple(outside(suites, self._paths))
        if self._outside != before:
            self._beyond = fingerprint(self._outside)

    def _report(self, results: SuiteResults, sources: Sources, ran: int) -> None:
        lines = list(text(results, self._verbose))
        if not ran and self._known:
            lines.append("no suite is affected by the change")
        elif not any(each.cases for each in self._known.values()) and self._known:
            raise ConfigError("--run matches no case")
        mine = {_key(each.document) for each in results.suites}
        for key, old in self._known.items():
            if old.failed and key not in mine:
                count = f"{old.failed} of {counted(len(old.cases), 'case')} failed"
                lines.append(f"{styled('FAIL', fg='red')}  {key[0]}  {count} before")
        everything = replace(results, suites=tuple(self._known.values()))
        self._status = 0 if everything.passed else 1
        echo_wrapped("\n".join(lines))


async def _first(states: AsyncGenerator[Fingerprint, None]) -> None:
    async with aclosing(states):
        async for _ in states:
            return


def differing(before: Fingerprint, after: Fingerprint) -> frozenset[str]:
    """Return the files added, removed or changed between two states."""
    return frozenset(entry[0] for entry in set(before).symmetric_difference(after))


def concerns(suite: Document, files: Iterable[str]) -> bool:
    """Whether one of the files is the suite, a fixture or a policy of the suite."""
    named = named_policies(suite)
    if named is None:
        return True
    return any(_is_within(file, [Path(suite.file), *_fixtures(suite), *named]) for file in files)


def outside(suites: Iterable[Document], paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that suites name outside the paths."""
    seen: set[Path] = set()
    for suite in suites:
        for each in (*(named_policies(suite) or ()), *_fixtures(suite)):
            if each not in seen and not _is_within(str(each), paths):
                seen.add(each)
                yield each


def _fixtures(suite: Document) -> Iterator[Path]:
    directory = Path(suite.file).parent
    return (directory / name for name in fixture_names(suite))


def _is_within(file: str, paths: Iterable[Path]) -> bool:
    """Whether a file is one of the paths or inside one, after resolving links."""
    real = Path(os_path.realpath(file))
    return any(real.is_relative_to(os_path.realpath(path)) for path in paths)


def _key(suite: SuiteRun | Document) -> tuple[str, int]:
    return (suite.file, suite.index) if isinstance(suite, Document) else _key(suite.document)


def _names(files: frozenset[str]) -> str:
    return f"changed: {few(sorted(files), _MOST_NAMES)}"
