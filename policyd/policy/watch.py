"""Files that change: what they look like now, and a wait until they look different.

Knows nothing of policies or certificates. inotify says when to look; the look itself decides, so
that a swapped symlink, a lost event and a file system without inotify all come right.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from watchfiles import awatch

# Seconds between two looks when inotify is silent: a symlink in a parent directory may have moved.
LOOK_ANYWAY = 5.0
# Milliseconds of quiet that end a burst of changes (kubelet writes a ConfigMap in several steps).
QUIET = 50
LONGEST_BURST = 500

# (path, device, inode, modified, size) of each file.
Fingerprint = tuple[tuple[str, int, int, int, int], ...]


def fingerprint(paths: Sequence[Path]) -> Fingerprint:
    """What tells one state of the files from another, without reading them."""
    seen = []
    for path in paths:
        for file in sorted(_files(str(path))):
            try:
                stat = os.stat(file)  # noqa: PTH116 - thousands of files, every few seconds
            except OSError:
                continue  # gone, or a link to nothing: absent in this state
            seen.append((file, stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(seen)


async def changed(
    paths: Sequence[Path], stop: asyncio.Event, *, known: Fingerprint
) -> AsyncGenerator[Fingerprint, None]:
    """Each new state of the files, after ``known``; ends when ``stop`` is set."""
    folders = {folder for path in paths for folder in _watched(path) if folder.is_dir()}
    async for _ in _occasions(sorted(folders), stop):
        state = await asyncio.to_thread(fingerprint, paths)
        if state != known:
            known = state
            yield state


async def _occasions(folders: Sequence[Path], stop: asyncio.Event) -> AsyncIterator[object]:
    """Moments at which something may have changed."""
    try:
        async for burst in awatch(
            *folders,
            watch_filter=None,
            stop_event=stop,
            step=QUIET,
            debounce=LONGEST_BURST,
            rust_timeout=int(LOOK_ANYWAY * 1000),
            yield_on_timeout=True,
        ):
            yield burst
    except OSError:
        # A node whose inotify watches are all taken: looking now and then has to do.
        while not stop.is_set():
            yield None
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_ANYWAY)


def _files(path: str) -> Iterator[str]:
    """The files at and below ``path``; names that start with a dot are not ours to read."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    yield from _files(entry.path)
                else:
                    yield entry.path
    except NotADirectoryError:
        yield path
    except OSError:
        return  # gone, or closed to us: absent in this state


def _watched(path: Path) -> Iterator[Path]:
    """The folders whose events concern ``path``: itself, and that of a file or symlink."""
    if path.is_dir():
        yield path
    if path.is_symlink() or not path.is_dir():
        yield path.parent
