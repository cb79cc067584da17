"""``serve --capture``: record requests and their responses in files for ``policyd replay``.

A separate thread writes the files, within limits of memory and disk. A request never waits for it;
records that do not fit are counted and dropped. Values of Secrets and tokens are not written, and
neither are policy messages that may quote them (``admission/confidential.py``).
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from policyd.admission.confidential import is_confidential, redacted, without_texts
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.review import (
    API_VERSION,
    KIND,
    AdmissionRequest,
    AdmissionResponse,
    to_dict,
)
from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.recording import RecordingErrors, unfailing
from policyd.policy.source.json_text.encoding import json_bytes

CaptureOutcome = Literal["written", "dropped", "failed"]
SUFFIX = ".jsonl"
# Bytes of requests that may wait for the thread: about one second of heavy load.
MAX_WAITING = 32 * 2**20
# Files of each writing process. Together they use the bytes allowed on disk; a new file replaces
# the oldest.
_FILES = 8


class _Item(NamedTuple):
    webhook: str
    request: AdmissionRequest
    response: AdmissionResponse
    reads: SeenReads | None
    size: int
    time: datetime


def capturing(
    directory: Path, settings: Settings, recorder: PrometheusRecorder, log: Log
) -> "Capture":
    """Return the recorder of requests in a directory."""

    def done(outcome: CaptureOutcome, error: Exception | None) -> None:
        recorder.captured(outcome)
        if error is not None:
            log.write("error", "capture", f"cannot record requests: {error}")

    return Capture(directory, settings.capture_max_bytes, done, log.errors, settings.workers)


class Capture:
    """Files in ``directory`` that together hold at most ``max_bytes`` (at times one record more).

    ``on_outcome`` is called once for each request with the outcome, and with the error if it is the
    first of several failures in a row. It may be called by the thread or by the caller of
    ``record``. ``errors`` counts other failures; none ends the thread or fails a request.
    ``writers`` is the number of processes that share the directory and its limit.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: int,
        on_outcome: Callable[[CaptureOutcome, Exception | None], None],
        errors: RecordingErrors,
        writers: int = 1,
    ) -> None:
        self._directory = directory
        self._files = _FILES * writers
        # A file in use by another process may have the oldest name, but a recent write time.
        self._age = (lambda path: (0, path)) if writers == 1 else _written
        self._file_bytes = max(1, max_bytes // self._files)
        self._on_outcome = on_outcome
        self.errors = errors
        self._waiting: deque[_Item] = deque()
        self._bytes = 0
        self._wanted = threading.Condition()
        self._closing = False
        self._broken = False
        self._file: int | None = None
        try:
            self._next_file()
        except OSError as error:
            raise ConfigError(f"--capture {error.filename}: {error.strerror}") from None
        self._thread = threading.Thread(target=self._run, name="capture", daemon=True)
        self._thread.start()

    @unfailing("capture")
    def record(
        self,
        webhook: str,
        request: AdmissionRequest,
        response: AdmissionResponse,
        size: int,
        reads: SeenReads | None = None,
    ) -> None:
        """Record one request and its response; returns at once. ``size`` is its size on the wire,
        ``reads`` the other objects that policies saw.

        Requests that cannot be evaluated are not recorded: policyd reads only the parts of them
        that matching needs.
        """
        if request.unreadable:
            self._on_outcome("failed", None)
            return
        item = _Item(webhook, request, response, reads, size, datetime.now(UTC))
        with self._wanted:
            fits = self._bytes + size <= MAX_WAITING
            if fits:
                self._waiting.append(item)
                self._bytes += size
                self._wanted.notify()
        if not fits:
            self._on_outcome("dropped", None)

    def close(self, timeout: float) -> None:
        """Write the waiting records, for at most ``timeout`` seconds."""
        with self._wanted:
            self._closing = True
            self._wanted.notify()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._wanted:
                while not self._waiting and not self._closing:
                    self._wanted.wait()
                if not self._waiting:
                    break
                item = self._waiting.popleft()
                self._bytes -= item.size
            self._write(item)
        self._close()

    @unfailing("capture")
    def _write(self, item: _Item) -> None:
        try:
            data = line(item.webhook, item.request, item.response, item.time, item.reads)
            _append(self._room_for(len(data)), data)
        except OSError as error:
            self._on_outcome("failed", None if self._broken else error)
            self._broken = True
        except Exception:
            self._on_outcome("failed", None)
            raise
        else:
            self._on_outcome("written", None)
            self._broken = False

    def _room_for(self, size: int) -> int:
        """Return the file to write to: a new one if the current file is full or was deleted,
        perhaps together with its directory.
        """
        if self._file is not None:
            status = os.fstat(self._file)
            if status.st_nlink and status.st_size + size <= self._file_bytes:
                return self._file
        return self._next_file()

    def _next_file(self) -> int:
        """Start a new file, and delete the oldest ones that exceed the limit."""
        self._close()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = sorted(self._directory.glob(f"*{SUFFIX}"), key=self._age)
        for old in there[: max(0, len(there) - self._files + 1)]:
            old.unlink(missing_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        path = self._directory / f"{stamp}-{os.getpid()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _written(path: Path) -> tuple[int, Path]:
    """The time of the last write to a file, and its path; a deleted file sorts as the oldest."""
    try:
        return path.stat().st_mtime_ns, path
    except FileNotFoundError:
        return 0, path


def _append(file: int, data: bytes) -> None:
    """Write a whole line or nothing: replay would report half a line as an error."""
    before = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, before)
        raise


def line(
    webhook: str,
    request: AdmissionRequest,
    response: AdmissionResponse,
    time: datetime,
    reads: SeenReads | None = None,
) -> bytes:
    """One line of a capture: the AdmissionReview with its response, its webhook, its time, and the
    other objects that policies saw.
    """
    answer = to_dict(response)["response"]
    raw, hidden = request.raw, is_confidential(request)
    if hidden:
        raw, answer = redacted(request), without_texts(answer)
    captured = {"webhook": webhook, "time": time.isoformat(), "redacted": hidden}
    if reads is not None and reads.seen:
        captured["reads"] = reads.as_json(confidential=hidden)
    whole = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "request": raw,
        "response": answer,
        "captured": captured,
    }
    return json_bytes(whole) + b"\n"
