"""Watches files for changes: takes a fingerprint, and waits until it differs.

Knows nothing about policies or certificates. inotify only triggers a scan; the scan detects
changes. Scans also run at intervals, because inotify is unreliable: events are lost, its instances
and watches run out, network file systems have none, and a name that is not UTF-8 crashes its
library.
"""

import asyncio
import os
import stat
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import perf_counter

from watchfiles import watch

from policyd.controllers.waiting import until_any
from policyd.policy.source.tree import walk
from policyd.regular_files import open_regular

# Seconds between two scans without inotify events.
LOOK_ANYWAY = 5.0
# The largest share of time spent on scans: a huge tree is scanned less often.
SHARE = 0.02
LONGEST_PAUSE = 60.0
# Seconds until inotify is tried again after a failure.
INOTIFY_AGAIN = 60.0
# Milliseconds without events that end a burst (kubelet writes a ConfigMap in several steps).
QUIET = 50
LONGEST_BURST = 500
# Directories that inotify may watch; the kernel allows some thousands of watches per user.
MAX_DIRECTORIES = 2_000
# Scans of files that keep changing, so that one change is reported once.
MAX_TRIES = 3
# Bytes that one scan reads, of one file and in all. Sources have a few MiB; beyond this, only size
# and times are compared.
MAX_FILE_BYTES = 1 << 20
MAX_BYTES = 32 << 20

# (path, device, inode, modified, changed, size) of each file; a fault is a row with a size of -1.
Fingerprint = tuple[tuple[str, int, int, int, int, int], ...]


def fingerprint(paths: Sequence[Path]) -> Fingerprint:
    """Return the state of the files without reading them; never raises OSError.

    It includes the inode's change time (ctime), which cannot be set back and changes with the
    permissions.
    """
    seen: list[tuple[str, int, int, int, int, int]] = []
    for path in paths:
        tree = walk(str(path))
        there = (fault.path for fault in tree.faults if os.path.lexists(fault.path))
        seen += [(path, 0, 0, 0, 0, -1) for path in there]
        for file in tree.files:
            try:
                status = os.stat(file)  # noqa: PTH116 - thousands of files, every few seconds
            except OSError:
                continue  # deleted, or a broken link: absent in this state
            place = (file, status.st_dev, status.st_ino)
            if stat.S_ISREG(status.st_mode):
                seen.append((*place, status.st_mtime_ns, status.st_ctime_ns, status.st_size))
            else:  # the times of terminals and pipes change with every use
                seen.append((*place, 0, 0, stat.S_IFMT(status.st_mode)))
    return tuple(sorted(seen))


def contents(state: Fingerprint) -> bytes:
    """Return a hash of the contents of the files, up to the limits above."""
    digest = blake2b(digest_size=16)
    left = MAX_BYTES
    for path, *_, size in state:
        if size < 0 or size > MAX_FILE_BYTES or size > left:
            continue
        try:
            with open_regular(path) as file:
                data = file.read(size)
        except OSError as error:
            data = str(error.errno).encode()
        left -= len(data)
        digest.update(os.fsencode(path) + b"\0%d\0" % len(data))
        digest.update(data)
    return digest.digest()


async def changed(
    paths: Sequence[Path],
    stop: asyncio.Event,
    *,
    known: Fingerprint,
    looked: Callable[[], None] = lambda: None,
    due: Callable[[], bool] = lambda: False,
    degraded: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Fingerprint, None]:
    """Yield each new state of the files after ``known``; end when ``stop`` is set.

    ``looked`` is called after each scan. If ``due`` returns true, yield the state even without a
    change. ``degraded`` gets the reason why inotify fails, and "" when it works again.
    """
    wake = asyncio.Event()
    hints = _Hints(stop, wake, degraded)
    held = await asyncio.to_thread(contents, known)
    pause = LOOK_ANYWAY
    try:
        while not stop.is_set():
            hints.follow(await asyncio.to_thread(_directories, paths))
            await until_any(stop, wake, seconds=pause)
            if stop.is_set():
                return
            wake.clear()
            began = perf_counter()
            state, holds = await asyncio.to_thread(_look, paths)
            took = perf_counter() - began
            pause = max(LOOK_ANYWAY, min(took / SHARE, LONGEST_PAUSE))
            looked()
            if (state, holds) != (known, held) or due():
                known, held = state, holds
                yield state
    finally:
        await hints.close()


def _look(paths: Sequence[Path]) -> tuple[Fingerprint, bytes]:
    """Return the state of the files and a hash of their contents, consistent if they are stable."""
    for _ in range(MAX_TRIES):
        state = fingerprint(paths)
        holds = contents(state)
        if fingerprint(paths) == state:
            break
    return state, holds


_Directories = tuple[tuple[str, tuple[int, int]], ...]


def _directories(paths: Sequence[Path]) -> _Directories:
    """Return the directories whose events affect the paths, with their identity: a directory that
    was deleted and created again must be watched again.
    """
    found: dict[str, tuple[int, int]] = {}
    for path in map(str, paths):
        tree = walk(path)
        found.update(tree.directories)
        if not tree.directories or Path(path).is_symlink():
            parent = Path(path).parent
            with suppress(OSError):
                status = parent.stat()
                found[str(parent)] = (status.st_dev, status.st_ino)
    return tuple(sorted(found.items())[:MAX_DIRECTORIES])


class _Hints:
    """Wakes the watch on inotify events; restarts inotify when it ends.

    It has its own threads: listening occupies one as long as the server runs. The library's
    ``awatch`` would import a second library for its threads, which takes 0.3 MiB.
    """

    def __init__(
        self, stop: asyncio.Event, wake: asyncio.Event, degraded: Callable[[str], None]
    ) -> None:
        self._stop = stop
        self._wake = wake
        self._degraded = degraded
        self._problem = ""
        self._directories: _Directories = ()
        # Two, because a former listener may still be ending.
        self._threads = ThreadPoolExecutor(2, "inotify")
        self._listening: asyncio.Future[None] | None = None
        self._end = threading.Event()
        self._again = 0.0

    def follow(self, directories: _Directories) -> None:
        """Watch these directories from now on."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        running = self._listening is not None and not self._listening.done()
        if directories == self._directories and (running or now < self._again):
            return
        self._end.set()  # the former listener ends by itself within QUIET
        self._directories, self._end = directories, threading.Event()
        self._again = now + INOTIFY_AGAIN
        if directories:
            # Scan for changes made before it was listening.
            loop.call_later(2 * QUIET / 1000, self._wake.set)
            what = [path for path, _ in directories], self._end, loop
            self._listening = loop.run_in_executor(self._threads, self._listen, *what)

    async def close(self) -> None:
        """Stop listening."""
        self._end.set()
        self._threads.shutdown(wait=False)  # before this may be cancelled
        if self._listening is not None:
            await asyncio.wait([self._listening])

    def _listen(
        self, directories: list[str], end: threading.Event, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Listen for events; runs in a thread."""
        try:
            for burst in watch(
                *directories,
                watch_filter=None,
                stop_event=end,
                step=QUIET,
                debounce=LONGEST_BURST,
                rust_timeout=int(LOOK_ANYWAY * 1000),
                yield_on_timeout=True,
                raise_interrupt=False,
                recursive=False,
            ):
                loop.call_soon_threadsafe(self._heard, bool(burst))
        except BaseException as error:
            # After any error of inotify or its library, scans continue without it. A panic of the
            # library is not an Exception.
            problem = f"{type(error).__name__}: {error}"
            loop.call_soon_threadsafe(self._report, problem)

    def _heard(self, changed: bool) -> None:
        if changed:
            self._wake.set()
        self._report("")

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._degraded(problem)
