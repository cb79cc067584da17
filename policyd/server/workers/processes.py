"""Starts processes of the supervisor, which end with their parent."""

import fcntl
import os
import select
import signal
import time
from collections import deque

from policyd._core.system.libc import die_with
from policyd.server import signals

# Lines of the supervisor's log that may wait for a reader.
MOST_WAITING = 1000
# Seconds between two attempts to write them.
PAUSE_SECONDS = 0.005


def fork() -> int:
    """Call ``os.fork``. Signals reach the child only after it has its own handlers, and the kernel
    kills it when the parent dies. The caller has one thread and no event loop.
    """
    parent = os.getpid()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in signals.ENDING:
                signal.signal(number, signals.end)
            signals.ignore()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # If the kernel cannot do that, the child exits when the socket to the parent closes.
            die_with(parent, signal.SIGKILL)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return pid


class WriteLock:
    """Excludes other processes that lock the same file; a process's death releases the lock."""

    def __init__(self, file: int) -> None:
        self._file = file

    def __enter__(self) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN)


class DirectStream:
    """The log of the supervisor, which may not have the thread of a LogWriter: a process with
    threads cannot fork safely. Lines that would block wait for the next ``flush``.
    """

    def __init__(self, fd: int | None, lock: int) -> None:
        self._fd = fd
        self._lock = lock
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)

    def write(self, line: bytes, /) -> None:
        """Queue a line; beyond a limit it replaces the oldest."""
        self._waiting.append(line)

    def flush(self) -> None:
        """Write lines as long as standard error does not block."""
        while self._waiting and self._fd is not None and self._try(self._fd, self._waiting[0]):
            self._waiting.popleft()

    def _try(self, fd: int, line: bytes) -> bool:
        """Write a line unless a worker is writing or the reader is slow; return whether it did."""
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            if not select.select([], [fd], [], 0)[1]:
                return False
            os.write(fd, line)
        except OSError:
            return True  # standard error is gone, or the disk is full: the line is lost
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
        return True

    def settle(self, seconds: float) -> None:
        """Write waiting lines, for a limited time."""
        end = time.monotonic() + seconds
        while self._waiting and time.monotonic() < end:
            self.flush()
            time.sleep(PAUSE_SECONDS if self._waiting else 0.0)
