"""The process that checks one edit: ``python -m policyd.server.edits.child BYTES SECONDS PARENT``.

It reads the edit from standard input and writes lines of JSON to standard output. It has no other
descriptors, no connections and no threads, and its memory and processor time are limited: whatever
an edit does to it, the server goes on.
"""

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from math import ceil
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from policyd._core.system.libc import die_with
from policyd.cel.syntax.recursion import deep_recursion
from policyd.json_types import JSONObject
from policyd.policy.kinds.wanted_definitions import WantedDefinition
from policyd.server.edits.checking import check
from policyd.server.edits.model import TooLate, line, read

# Address space besides the data: libraries, stacks, and the allocator's reserves.
ADDRESSES = 512 * 2**20
DESCRIPTORS = 64
# If the Pod runs out of memory, the kernel kills this process first.
_FIRST = "1000"
# Requests come first: on a single processor this process gets a quarter of the time.
NICE = 5
MOST_FRAMES = 30
_NO_MEMORY = line({"failed": "MemoryError", "trace": ""})


def confine(memory: int, seconds: float) -> None:
    """Limit the resources of this process permanently."""
    most = {
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_AS: memory + ADDRESSES,
        resource.RLIMIT_CPU: ceil(seconds) + 1,
        resource.RLIMIT_NOFILE: DESCRIPTORS,
        resource.RLIMIT_CORE: 0,
    }
    for name, limit in most.items():
        _, hard = resource.getrlimit(name)
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(name, (allowed, allowed))
    with suppress(OSError):  # not on every system
        Path("/proc/self/oom_score_adj").write_text(_FIRST)
    with suppress(OSError):
        os.nice(NICE)


def answer(stream: BinaryIO, out: BinaryIO, seconds: float) -> None:
    """Check the edit in ``stream``, for at most ``seconds``, and write the result."""
    deadline = monotonic() + seconds

    def breathe() -> None:
        if monotonic() >= deadline:
            raise TooLate

    def say(**message: object) -> None:
        out.write(line(message))
        out.flush()

    def fetch(wanted: Iterable[WantedDefinition]) -> Iterable[JSONObject]:
        if not wanted:
            return ()
        say(wanted=sorted(map(list, wanted)))
        with deep_recursion():
            found: list[JSONObject] = json.loads(stream.readline())
        return found

    try:
        edit = read(stream)
        found = check(edit, fetch if edit.definitions else None, breathe)
    except TooLate:
        say(late=True)
    except MemoryError:
        out.write(_NO_MEMORY)  # created while there was memory
        out.flush()
    except Exception as error:
        # No messages, which may quote the edit.
        frames = traceback.format_tb(error.__traceback__, limit=-MOST_FRAMES)
        say(failed=type(error).__name__, trace="".join(frames))
    else:
        say(found=asdict(found))


def main() -> None:
    """Check one edit."""
    die_with(int(sys.argv[3]), signal.SIGKILL)
    memory, seconds = int(sys.argv[1]), float(sys.argv[2])
    confine(memory, seconds)
    answer(sys.stdin.buffer, sys.stdout.buffer, seconds)


if __name__ == "__main__":
    main()
