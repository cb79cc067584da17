"""``python -m tests.server.pauses FILE ARGUMENTS…``: policyd with these arguments, which writes what
its garbage collections took to FILE: the generation and nanoseconds of CPU time of each. No tests
here.
"""

import gc
import sys
from pathlib import Path
from time import thread_time_ns
from typing import Any

from policyd.cli import main


class Pauses:
    """Notes each collection. What it writes takes time after a collection, not within it."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("w", buffering=1)
        self._began = 0

    def note(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the collector when it begins and when it ends."""
        if phase == "start":
            self._began = thread_time_ns()
        else:
            self._stream.write(f"{info['generation']} {thread_time_ns() - self._began}\n")


if __name__ == "__main__":
    gc.callbacks.append(Pauses(Path(sys.argv[1])).note)
    main(sys.argv[2:])
