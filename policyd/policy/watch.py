"""Files that change: what they look like now, and a wait until they look different.

Knows nothing of policies or certificates. inotify says when to look; the look itself decides, so
that a swapped symlink, a lost event and a file system without inotify all come right.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from watchfiles import awatch

# Seconds between two looks when inotify is silent: a symlink in a parent directory may have moved.
LOOK_ANYWAY = 10.0
# Milliseconds of quiet that end a burst of changes (kubelet writes a ConfigMap in several steps).
QUIET = 50
LONGEST_BURST = 500

# (path, device, inode, modified, size) of each file.
Fingerprint = tuple[tuple[str, int, int, int, int], ...]


def fingerprint(paths: Sequence[Path]) -> Fingerprint:
    """What tells one state of the files from another, without reading them."""
    seen = []
    for path in paths:
        for file in sorted(_files(path)):
            try:
                stat = file.stat()
            except OSError:
                continue  # gone, or a link to nothing: absent in this state
            seen.append((str(file), stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(seen)


async def changed(
    paths: Sequence[Path], stop: asyncio.Event, *, known: Fingerprint
) -> AsyncIterator[Fingerprint]:
    """Each new state of the files, after ``known``; ends when ``stop`` is set."""
    folders = {folder for path in paths for folder in _watched(path) if folder.is_dir()}
    bursts = awatch(
        *sorted(folders),
        watch_filter=None,
        stop_event=stop,
        step=QUIET,
        debounce=LONGEST_BURST,
        rust_timeout=int(LOOK_ANYWAY * 1000),
        yield_on_timeout=True,
    )
    async for _ in bursts:
        state = await asyncio.to_thread(fingerprint, paths)
        if state != known:
            known = state
            yield state


def _files(path: Path) -> Iterator[Path]:
    """The files at and below ``path``; names that start with a dot are not ours to read."""
    try:
        entries = list(path.iterdir()) if path.is_dir() else []
    except OSError:
        entries = []
    if not path.is_dir():
        yield path
    for entry in entries:
        if not entry.name.startswith("."):
            yield from _files(entry)


def _watched(path: Path) -> Iterator[Path]:
    """The folders whose events concern ``path``: itself, and that of a file or symlink."""
    if path.is_dir():
        yield path
    if path.is_symlink() or not path.is_dir():
        yield path.parent
