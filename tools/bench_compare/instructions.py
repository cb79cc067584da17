"""The instructions of a process, counted by ``perf`` or Valgrind: the same on a busy machine."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.errors import ConfigError

_REMEDY = (
    "install Valgrind (Debian, Ubuntu: apt-get install valgrind; Fedora: dnf install valgrind; "
    "Alpine: apk add valgrind), or run on a machine where `perf stat -e instructions:u true` counts"
)


@dataclass(frozen=True, slots=True)
class Counter:
    """A program that counts the instructions of a process. ``command`` is what its command line
    begins with; FILE in it becomes the file that it writes, for callgrind that of its profile.
    """

    name: str
    command: tuple[str, ...]

    def count(self, program: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Run a program, with more variables in its environment. Raises ConfigError if it fails or
        is not counted.
        """
        with tempfile.TemporaryDirectory(prefix="policyd-count-") as folder:
            file = Path(folder) / "count"
            command = [part.replace("FILE", str(file)) for part in self.command]
            done = subprocess.run(
                [*command, *program],
                env={**os.environ, **(environment or {}), "PYTHONHASHSEED": "0"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            found = _read(file) if done.returncode == 0 else None
        if found is None:
            errors = done.stderr.decode(errors="replace").strip()[-500:]
            raise ConfigError(f"{self.name} did not count: {errors}")
        return found


_PERF = Counter("perf", ("perf", "stat", "-x", ",", "-e", "instructions:u", "-o", "FILE", "--"))
CALLGRIND = Counter(
    "callgrind", ("valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=FILE")
)


def counter() -> Counter:
    """Return the counter of this machine: perf if the processor's counters can be read, else
    Valgrind. Raises ConfigError if there is neither.
    """
    if shutil.which("perf"):
        try:
            _PERF.count(["true"])
        except ConfigError:
            pass  # virtual machines and containers often hide the counters
        else:
            return _PERF
    if shutil.which("valgrind"):
        return CALLGRIND
    raise ConfigError(f"nothing here counts instructions\n  hint: {_REMEDY}")


def _read(file: Path) -> int | None:
    """Return the total in what perf or callgrind wrote; None if there is none."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        head, _, rest = line.partition(" ")
        if head in ("totals:", "summary:"):
            return int(rest.split()[0])
        value, _, more = line.partition(",")
        if "instructions" in more and value.isdigit():
            return int(value)
    return None
