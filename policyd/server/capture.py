"""``serve --capture``: reviews and their answers, kept in files for ``policyd replay``.

Written by a thread of its own, within bounds of memory and disk; a request never waits for it, and
what there is no room for is counted and left out. Values of Secrets and tokens are not written,
nor what policies say of them (``admission/confidential.py``).
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from policyd.admission.confidential import is_confidential, redacted, without_texts
from policyd.admission.review import API_VERSION, KIND, AdmissionRequest, AdmissionResponse, to_dict
from policyd.errors import ConfigError

CaptureOutcome = Literal["written", "dropped", "failed"]
SUFFIX = ".jsonl"
# Bytes of reviews that wait for the thread; about as much as one second of heavy load.
MAX_WAITING = 32 * 2**20
_FILES = 8  # that share the bytes allowed on disk; the oldest is removed for a new one


class _Item(NamedTuple):
    webhook: str
    request: AdmissionRequest
    response: AdmissionResponse
    size: int
    time: datetime


class Capture:
    """Files below ``folder`` that together have at most ``max_bytes`` (a review more, at times).

    ``told`` is called for each review with what became of it, and the error of the first of several
    failures; from the thread or from the caller of ``note``.
    """

    def __init__(
        self, folder: Path, max_bytes: int, told: Callable[[CaptureOutcome, Exception | None], None]
    ) -> None:
        self._folder = folder
        self._file_bytes = max(1, max_bytes // _FILES)
        self._told = told
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

    def record(
        self, webhook: str, request: AdmissionRequest, response: AdmissionResponse, size: int
    ) -> None:
        """Keep one review (``size``: its bytes on the wire); returns at once.

        One that cannot be evaluated is not kept: only the parts that matching needs were read.
        """
        if request.unreadable:
            self._told("failed", None)
            return
        item = _Item(webhook, request, response, size, datetime.now(UTC))
        with self._wanted:
            fits = self._bytes + size <= MAX_WAITING
            if fits:
                self._waiting.append(item)
                self._bytes += size
                self._wanted.notify()
        if not fits:
            self._told("dropped", None)

    def close(self, timeout: float) -> None:
        """Write what is waiting, for ``timeout`` seconds at most."""
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

    def _write(self, item: _Item) -> None:
        try:
            data = line(item.webhook, item.request, item.response, item.time)
            _append(self._room_for(len(data)), data)
        except (OSError, orjson.JSONEncodeError) as error:  # also of what is nested too deep for it
            self._told("failed", None if self._broken else error)
            self._broken = True
        else:
            self._told("written", None)
            self._broken = False

    def _room_for(self, size: int) -> int:
        """The file to write to: another one if this one is full or somebody removed it, with its
        folder perhaps.
        """
        if self._file is not None:
            status = os.fstat(self._file)
            if status.st_nlink and status.st_size + size <= self._file_bytes:
                return self._file
        return self._next_file()

    def _next_file(self) -> int:
        """Begin a file, and remove the oldest ones that there is no room for."""
        self._close()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = sorted(self._folder.glob(f"*{SUFFIX}"))
        for old in there[: max(0, len(there) - _FILES + 1)]:
            old.unlink(missing_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        path = self._folder / f"{stamp}-{os.getpid()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _append(file: int, data: bytes) -> None:
    """Write a whole line or nothing of it: half a line would be an error of replay."""
    before = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, before)
        raise


def line(
    webhook: str, request: AdmissionRequest, response: AdmissionResponse, time: datetime
) -> bytes:
    """One line of a capture: the AdmissionReview with its answer, and when and where it came."""
    answer = to_dict(response)["response"]
    raw, hidden = request.raw, is_confidential(request)
    if hidden:
        raw, answer = redacted(request), without_texts(answer)
    captured = {"webhook": webhook, "time": time.isoformat(), "redacted": hidden}
    whole = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "request": raw,
        "response": answer,
        "captured": captured,
    }
    return orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE)
