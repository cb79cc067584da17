"""Checks an edit in a separate process, started for that edit: anyone may send an edit, and it must
not exhaust or break the server. Runs on one thread at a time.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import perf_counter_ns
from typing import IO, Any

from policyd.bounded_text import bounded
from policyd.cel.syntax.recursion import deep_recursion
from policyd.json_types import JSONObject
from policyd.policy.kinds.wanted_definitions import WantedDefinition
from policyd.server.edits.model import (
    READ_FIELDS,
    EditFindings,
    PolicyEdit,
    TooLate,
    line,
    written,
)
from policyd.server.signals import name_of

# A group without a limit has a number this large, or a word.
_NO_LIMIT = 2**60
_FILES = {
    "2": ("memory.max", "memory.current", "inactive_file"),
    "1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def left_in_pod(
    group: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return the free bytes of this process's group: its limit less its usage, not counting cached
    files; None if there is no limit.
    """
    for directory, version in _directories(group, mounted):
        limit, used, droppable = _FILES[version]
        try:
            most = (directory / limit).read_text().strip()
            if not most.isdecimal() or int(most) >= _NO_LIMIT:
                return None
            rows = (line.split() for line in (directory / "memory.stat").read_text().splitlines())
            files = next((int(row[1]) for row in rows if row[0] == droppable), 0)
            return int(most) - int((directory / used).read_text()) + files
        except (OSError, ValueError):
            continue
    return None


def _directories(group: Path, mounted: Path) -> Iterator[tuple[Path, str]]:
    """Yield where the files of the group may be: a container may see its group as the root."""
    try:
        rows = [line.split(":", 2) for line in group.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in rows:
        if "memory" in controllers.split(","):
            yield mounted / "memory" / path.lstrip("/"), "1"
            yield mounted / "memory", "1"
    for _, controllers, path in rows:
        if not controllers:
            yield mounted / path.lstrip("/"), "2"
            yield mounted, "2"


CHILD = "policyd.server.edits.child"
# Memory of the process, and for each byte of the policies in use: compiled policies take 25 times
# their size, and the set is compiled with and without the edit. The Pod of the manifests has room
# for it in addition to the reviews that a server accepts with its default settings.
MEMORY = 96 * 2**20
MEMORY_PER_BYTE = 50
# With less memory the process could not start.
LEAST_MEMORY = 40 * 2**20
# Bytes of one line that the process may write.
MAX_ANSWER = 2**20
# Unknown definitions of custom resources that all rules of an edit may name.
MAX_WANTED = 100
# Characters of a traceback.
MAX_TRACE = 8_000

# Returns the definitions that the policies in use have or an edit names, at most so many new ones.
FetchForEdit = Callable[[frozenset[WantedDefinition], int], Iterable[JSONObject] | None]


class NotStarted(Exception):
    """There is no process: the system has none, or no memory for one."""


class Broken(Exception):
    """The check itself failed; ``trace`` is the traceback."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of the checks of one server. ``turn`` excludes other workers that check edits;
    ``reserved`` are the bytes that reviews may need meanwhile; ``left`` returns the bytes that the
    Pod has left, None if it has no limit.
    """

    turn: AbstractContextManager[None]
    reserved: int = 0
    left: Callable[[], int | None] = left_in_pod

    def memory(self, size: int) -> int:
        """Return the bytes for the check of policies of this size; raises NotStarted."""
        wanted = MEMORY + MEMORY_PER_BYTE * size
        left = self.left()
        allowed = wanted if left is None else min(wanted, left - self.reserved)
        if allowed < LEAST_MEMORY:
            raise NotStarted("the Pod has too little memory left")
        return allowed


def check_apart(
    edit: PolicyEdit, deadline: int, fetch: FetchForEdit | None, limits: ProcessLimits
) -> EditFindings:
    """Return the findings about an edit. Raises TooLate after ``deadline`` (perf_counter_ns),
    NotStarted and Broken. ``fetch`` returns definitions.
    """
    with limits.turn:
        seconds = (deadline - perf_counter_ns()) / 1e9
        if seconds <= 0:
            raise TooLate
        with _Child(limits.memory(edit.in_use.size), seconds) as child:
            return child.check(edit, fetch)


class _Child:
    """A process, which is killed at the deadline or at the end."""

    def __init__(self, memory: int, seconds: float) -> None:
        self._memory = memory
        self._late = False
        command = [sys.executable, "-P", "-m", CHILD, str(memory), str(seconds), str(os.getpid())]
        path = os.pathsep.join(filter(None, sys.path))
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError as error:
            raise NotStarted(error.strerror or str(error)) from None
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        with suppress(OSError):  # bytes that were not sent yet
            self._process.communicate()

    def _end(self) -> None:
        self._late = True
        self._process.kill()

    def check(self, edit: PolicyEdit, fetch: FetchForEdit | None) -> EditFindings:
        """Return the result for an edit."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):  # it has exited, and its status is the reason
            for part in written(edit):
                stdin.write(part)
            stdin.flush()
        try:
            return self._exchange(stdin, stdout, fetch)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Broken("its answer is malformed") from None

    def _exchange(
        self, stdin: IO[bytes], stdout: IO[bytes], fetch: FetchForEdit | None
    ) -> EditFindings:
        """Answer the requests of the process until it returns the result."""
        while message := self._message(stdout):
            if "wanted" not in message:
                return _result(message, self._memory)
            wanted = frozenset(WantedDefinition(*each) for each in message["wanted"])
            found = None if fetch is None else fetch(wanted, MAX_WANTED)
            if found is None:
                raise Broken(f"it names more than {MAX_WANTED} unknown custom resources")
            with suppress(BrokenPipeError), deep_recursion():
                stdin.write(line([*found]))
                stdin.flush()
        raise self._death()

    def _message(self, stdout: IO[bytes]) -> dict[str, Any] | None:
        """Return the next line; None if the process has ended."""
        data = stdout.readline(MAX_ANSWER)
        if not data.endswith(b"\n"):
            if len(data) == MAX_ANSWER:
                raise Broken("its answer is too long")
            return None
        message: dict[str, Any] = json.loads(data)
        return message

    def _death(self) -> Exception:
        """Return why there is no result."""
        status = self._process.wait()
        if self._late or status == -signal.SIGXCPU:
            return TooLate()
        if status < 0:
            return Broken(f"its process was killed by {name_of(-status)}")
        return Broken(f"its process ended with status {status}")


def _result(message: dict[str, Any], memory: int) -> EditFindings:
    if "late" in message:
        raise TooLate
    if "failed" not in message:
        return _findings(message["found"])
    if message["failed"] == "MemoryError":
        raise Broken(f"it needs more than {memory >> 20} MiB of memory")
    raise Broken(f"it failed with {message['failed']}", bounded(message["trace"], MAX_TRACE))


def _findings(found: dict[str, Any]) -> EditFindings:
    """Return the result with its types restored."""
    result = EditFindings(**found)
    numbers, texts = (result.errors, result.elsewhere), (result.shown, result.places, result.advice)
    listed = all(isinstance(each, list) for each in (*texts, result.reads, *result.reads))
    strings = listed and all({*map(type, each)} <= {str} for each in (*texts, *result.reads))
    if {*map(type, numbers)} != {int} or not strings or {*map(len, result.reads)} - {READ_FIELDS}:
        raise ValueError(found)
    return result
