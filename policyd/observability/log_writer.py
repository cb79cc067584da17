"""The thread that writes the log, so that logging never blocks and never fails.

If a log collector stalls, a reader goes away or the disk is full, log lines are lost but requests
are still answered. Lost lines are counted, and once writing works again a line reports their
number. It needs a thread because standard error must stay blocking: other processes may share it.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

# Bytes of lines that may wait for the thread: about 10,000 denials.
MAX_WAITING = 4 << 20
# Bytes of one write.
MAX_WRITE = 256 * 1024
# Seconds between two writes: the lines of many requests need only one wake-up of the thread.
REST_SECONDS = 0.02
# Seconds of pause after a failed write.
AGAIN_SECONDS = 0.5
TOO_FAST = "lines arrived faster than they could be written"


class LogWriter:
    """A stream for Log. ``fd`` is None if there is no standard error: all lines are then lost."""

    def __init__(self, fd: int | None, max_waiting: int = MAX_WAITING) -> None:
        self._fd = fd
        self._max_waiting = max_waiting
        self._loss_line: Callable[[int, str], bytes] = lambda _, __: b""
        self.lost = 0
        self._reported = 0  # lost lines that the log has reported
        self._why = TOO_FAST
        self._torn = False  # the last write ended within a line
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # waiting or being written
        self._lock = threading.Lock()
        self._bell = (
            threading.Lock()
        )  # the thread acquires it to sleep; releasing it wakes the thread
        self._bell.acquire()
        self._asleep = False
        self._hurry = threading.Event()
        # Held during writes: other processes that write to the same file wait.
        self.turn: AbstractContextManager[object] = nullcontext()
        if fd is not None:
            threading.Thread(target=self._run, name="log", daemon=True).start()

    def report_losses(self, line: Callable[[int, str], bytes]) -> None:
        """Write ``line(count, reason)`` in place of lost lines, from the last error."""
        self._loss_line = line

    def write(self, line: bytes) -> int:
        """Queue a line, or count it as lost; it is written after the next ``flush``, or earlier."""
        with self._lock:
            if self._fd is None or self._bytes + len(line) > self._max_waiting:
                self.lost += 1
                self._why = TOO_FAST
            else:
                self._lines.append(line)
                self._bytes += len(line)
        return len(line)

    def flush(self) -> None:
        """Wake the thread if it sleeps, so that it writes all lines soon."""
        with self._lock:
            ring, self._asleep = self._asleep, False
        if ring:
            self._bell.release()

    def settle(self, seconds: float) -> bool:
        """Wait until all lines are written, for a limited time; return whether they are."""
        self._hurry.set()
        self.flush()
        end = time.monotonic() + seconds
        while self._bytes and time.monotonic() < end:
            time.sleep(0.002)
        self._hurry.clear()
        return not self._bytes

    def _run(self) -> None:
        while True:
            batch = self._take()
            if not batch:
                self._bell.acquire()
                continue
            try:
                failed = self._write(batch)
            except Exception as error:  # without this thread all later lines would be lost
                failed = True
                self._failed(f"a defect: {error!r}", batch, 0)
            with self._lock:
                self._bytes -= sum(map(len, batch))
            self._hurry.wait(AGAIN_SECONDS if failed else REST_SECONDS)

    def _take(self) -> list[bytes]:
        """The lines of the next write; if there are none, the thread is going to sleep."""
        batch: list[bytes] = []
        size = 0
        with self._lock:
            while self._lines and (not batch or size + len(self._lines[0]) <= MAX_WRITE):
                line = self._lines.popleft()
                size += len(line)
                batch.append(line)
            self._asleep = not batch
        return batch

    def _write(self, batch: list[bytes]) -> bool:
        """Write some lines; return whether that failed. Incomplete lines count as lost."""
        missing = self.lost - self._reported
        head = (b"\n" if self._torn else b"") + (
            self._loss_line(missing, self._why) if missing else b""
        )
        data = head + b"".join(batch)
        written = 0
        try:
            with self.turn:
                while written < len(data):
                    written += self._write_some(memoryview(data)[written:])
        except OSError as error:
            self._failed(error.strerror or str(error), batch, written - len(head))
            if written:
                self._torn = data[written - 1 : written] != b"\n"
            return True
        self._torn = False
        self._reported += missing
        return False

    def _write_some(self, data: memoryview) -> int:
        assert self._fd is not None
        while True:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:  # another process made it non-blocking
                select.select([], [self._fd], [], 1.0)

    def _failed(self, why: str, batch: list[bytes], written: int) -> None:
        self._why = why
        lost = len(batch)
        for line in batch:
            written -= len(line)
            if written < 0:
                break
            lost -= 1
        with self._lock:
            self.lost += lost


def standard_error() -> int | None:
    """The descriptor of standard error, or None if it is closed. Opens closed standard streams as
    /dev/null, so that no socket gets their numbers and receives log lines.
    """
    missing = [fd for fd in (0, 1, 2) if not _is_open(fd)]
    for _ in missing:
        os.open(os.devnull, os.O_RDWR)  # opens the lowest free number
    return None if 2 in missing else 2


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
